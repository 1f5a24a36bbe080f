import { expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);
const other = await serviceNode(database);

const spent = { name: "spent", key: ["agent.id"], value: "params.amount", window: "24h" };
const limit = { match: { verbs: ["pay"] }, counters: [spent], when: "count.spent.sum > 1000.0", effect: "block" };

async function activate(org: Reviewed, name: string, spec: object) {
  const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name, title: name }, spec };
  const created = await call(url, "POST", "/v1/policies", { key: org.admin, body: { policy } });
  expect(created.status, created.text).toBe(201);
  const path = `/v1/policies/${created.json.policy.policy_id}/activate`;
  expect((await call(url, "POST", path, { key: org.admin, body: { mode: "live" } })).status).toBe(200);
}

async function limited(spec: object = limit): Promise<Reviewed> {
  const org = await reviewedOrganization(database.db, url, { packs: [] });
  await activate(org, "limit", spec);
  return org;
}

async function pay(org: Reviewed, amount: number, node = url) {
  const content = { amount };
  const action = { type: "payment.transfer", verb: "pay" };
  const intent = { agent: { id: "invoice-bot" }, action, payload: { content } };
  return (await call(node, "POST", "/v1/intents", { key: org.agent, body: { intent } })).json.decision;
}

const adjust = (key: string, body: object, name = "spent") =>
  call(url, "POST", `/v1/counters/${name}/adjustments`, {
    key,
    body: { key: ["invoice-bot"], reason: "because", ...body },
  });

const listed = async (org: Reviewed) =>
  (await call(url, "GET", "/v1/counters", { key: org.reviewer })).json.counters as Record<string, unknown>[];

/** Returns the data of the only record of this type. */
async function audited({ operator }: Reviewed, type: string) {
  const { audit } = (await call(url, "GET", `/v1/audit?type=${type}`, { key: operator })).json;
  expect(audit).toHaveLength(1);
  return audit[0].data;
}

test("a grant gives a key more on every node, until it leaves the window", async () => {
  const org = await limited();
  expect((await pay(org, 900)).verdict).toBe("approve");
  expect((await pay(org, 200, other.url)).verdict).toBe("block");
  const granted = await adjust(org.operator, { kind: "grant", amount: 100.5, key: ["Invoice-Bot"] });
  expect([granted.status, granted.json.adjusted]).toEqual([200, true]);
  expect(granted.json.counter).toMatchObject({ n: 1, sum: 799.5, granted_n: 0, granted_sum: 100.5, requested: null });
  expect((await pay(org, 200.51, other.url)).verdict).toBe("block");
  expect((await pay(org, 200.5, other.url)).verdict).toBe("approve");
  expect(await audited(org, "counter_adjusted")).toMatchObject({
    ...{ name: "spent", pipeline_mode: "live", key: ["invoice-bot"], kind: "grant", amount: 100.5, actions: null },
    ...{ reason: "because", n_before: 1, sum_before: 900 },
  });

  const { org_id } = org.org;
  const age =
    "update counter_entries set at = at - interval '24 hours', changed = true where org_id = $1 and state = 'granted'";
  await database.db.query(age, [org_id]);
  expect(await listed(org)).toMatchObject([{ n: 2, sum: 1100.5, granted_sum: 0 }]);
  expect((await pay(org, 0.01)).verdict).toBe("block");
});

test("a grant may begin a key, and is never the latest action", async () => {
  const org = await limited();
  expect((await pay(org, 1200)).verdict).toBe("block");
  const granted = await adjust(org.operator, { kind: "grant", amount: 200 });
  expect(granted.json.counter).toMatchObject({ agent_id: null, n: 0, sum: -200, last_at: null });
  expect((await pay(org, 1200)).verdict).toBe("approve");
  expect(await listed(org)).toMatchObject([{ n: 1, sum: 1000 }]);
});

test("a grant of actions counts in the number, and in the sum of a counter without a value", async () => {
  const { value: _, ...counter } = spent;
  const org = await limited({ ...limit, counters: [counter], when: "count.spent.n > 1 || count.spent.sum > 1.0" });
  expect((await pay(org, 1)).verdict).toBe("approve");
  expect((await pay(org, 1)).verdict).toBe("block");
  expect((await adjust(org.operator, { kind: "grant", amount: 1 })).json.error.details[0].path).toBe("/amount");
  expect((await adjust(org.operator, { kind: "grant", actions: 2 })).json.counter).toMatchObject({
    n: -1,
    granted_n: 2,
  });
  const verdicts = [];
  for (let n = 0; n < 3; n += 1) verdicts.push((await pay(org, 1)).verdict);
  expect(verdicts).toEqual(["approve", "approve", "block"]);
});

test("a reset frees what is settled, and what waits for people stays reserved", async () => {
  const org = await limited();
  await activate(org, "held", { match: { verbs: ["pay"] }, when: "params.amount == 300.0", effect: "escalate" });
  const settled = await pay(org, 500);
  expect((await pay(org, 300)).verdict).toBe("escalate");
  expect((await adjust(org.operator, { kind: "grant", amount: 100 })).status).toBe(200);
  expect((await pay(org, 301, other.url)).verdict).toBe("block");
  const reset = await adjust(org.operator, { kind: "reset" });
  expect(reset.json.counter).toMatchObject({ n: 1, sum: 300, waiting_n: 1, waiting_sum: 300, granted_sum: 0 });
  expect((await pay(org, 701, other.url)).verdict).toBe("block");
  expect((await pay(org, 700, other.url)).verdict).toBe("approve");

  for (const status of ["failed", "executed"]) {
    const path = `/v1/intents/${settled.intent_id}/observations`;
    expect((await call(url, "POST", path, { key: org.admin, body: { status } })).status).toBe(201);
  }
  expect(await listed(org)).toMatchObject([{ n: 2, sum: 1000 }]);
});

test("two people must agree if any policy in force says so", async () => {
  const org = await limited({ ...limit, counters: [{ ...spent, adjust: "two_person" }] });
  await activate(org, "other", { ...limit, when: "count.spent.sum > 5000.0" });
  expect((await pay(org, 1200)).verdict).toBe("block");
  const grant = { kind: "grant", amount: 200 };
  const asked = await adjust(org.operator, grant);
  expect([asked.status, asked.json.adjusted]).toEqual([202, false]);
  expect((await pay(org, 1200)).verdict).toBe("block");
  expect(await listed(org)).toMatchObject([
    { key: ["invoice-bot"], n: 0, sum: 0, requested: { kind: "grant", amount: 200, actions: null } },
  ]);
  const again = await adjust(org.operator, grant);
  expect([again.status, again.json.error.code]).toEqual([409, "state_conflict"]);

  const changed = await adjust(org.admin, { kind: "grant", amount: 201 });
  expect(changed.status).toBe(202);
  const second = await adjust(org.operator, { kind: "grant", amount: 201 });
  expect([second.status, second.json.counter.requested]).toEqual([200, null]);
  expect((await pay(org, 1201)).verdict).toBe("approve");
  const { requested } = changed.json.counter;
  expect(await audited(org, "counter_adjusted")).toMatchObject({ amount: 201, requested_by: requested.by });
});

test("a request ends after 24 hours", async () => {
  const org = await limited({ ...limit, counters: [{ ...spent, adjust: "two_person" }] });
  expect((await pay(org, 900)).verdict).toBe("approve");
  expect((await adjust(org.operator, { kind: "reset" })).status).toBe(202);
  const age = `update counters set requested = jsonb_set(requested::jsonb, '{at}', to_jsonb((requested ->> 'at')::timestamptz - interval '24 hours'))
    where org_id = $1`;
  await database.db.query(age, [org.org.org_id]);
  expect(await listed(org)).toMatchObject([{ requested: null }]);
  expect(await audited(org, "counter_adjustment_requested")).toMatchObject({ kind: "reset", sum_before: 900 });
  expect((await adjust(org.admin, { kind: "reset" })).status).toBe(202);
  expect((await pay(org, 200)).verdict).toBe("block");
});

test("a repetition with the same Idempotency-Key grants once", async () => {
  const org = await limited();
  const body = { key: ["invoice-bot"], kind: "grant", amount: 200, reason: "because" };
  const send = () =>
    call(url, "POST", "/v1/counters/spent/adjustments", {
      key: org.operator,
      body,
      headers: { "Idempotency-Key": "one" },
    });
  const answers = [await send(), await send()];
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(await listed(org)).toMatchObject([{ granted_sum: 200 }]);
});

test("agents, reviewers and frozen keys adjust nothing", async () => {
  const org = await limited();
  const { api_key, key_id } = await org.org.key({ role: "operator" });
  const freeze = { key: org.admin, body: { mode: "block", reason: "because" } };
  expect((await call(url, "POST", `/v1/api-keys/${key_id}/freeze`, freeze)).status).toBe(200);
  for (const key of [org.agent, org.reviewer, api_key])
    expect((await adjust(key, { kind: "grant", amount: 1 })).status).toBe(403);
  expect(await listed(org)).toEqual([]);
});

test.each([
  [404, "", { kind: "grant", amount: 1 }, "unknown"],
  [404, "/key", { kind: "reset" }],
  [404, "/membrane_id", { kind: "grant", amount: 1, membrane_id: "mem_1" }],
  [400, "/key", { kind: "grant", amount: 1, key: ["invoice-bot", "more"] }],
  [400, "/key", { kind: "grant", amount: 1, key: ["x".repeat(1_025)] }],
  [400, "/amount", { kind: "grant" }],
  [400, "/amount", { kind: "grant", amount: 0.1234567 }],
  [400, "/amount", { kind: "reset", amount: 1 }],
  [400, "/actions", { kind: "reset", actions: 1 }],
])("answers %i at %s", async (status, path, body, name = "spent") => {
  const answer = await adjust((await refusing).operator, body, name);
  expect([answer.status, answer.json.error.details[0].path]).toEqual([status, path]);
});
const refusing = limited();
