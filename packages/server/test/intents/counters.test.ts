import { expect, test } from "vitest";
import { agingPages, deleteOld } from "../../src/operations/upkeep/delete-old.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);

async function call(method: string, path: string, key: string, body?: object) {
  const headers = { "X-API-Key": key, "Content-Type": "application/json" };
  const answer = await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const text = await answer.text();
  return { status: answer.status, json: text === "" ? null : JSON.parse(text) };
}

async function limited(spec: Record<string, unknown>) {
  const org = await reviewedOrganization(database.db, url, { packs: [] });
  const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "limit", title: "Limit" }, spec };
  const created = await call("POST", "/v1/policies", org.admin, { policy });
  expect(created.status, JSON.stringify(created.json)).toBe(201);
  const { policy_id } = created.json.policy;
  expect((await call("POST", `/v1/policies/${policy_id}/activate`, org.admin, { mode: "live" })).status).toBe(200);
  return org;
}

const spent = {
  match: { actions: ["payment.*"] },
  counters: [{ name: "spent", key: ["agent.id"], value: "params.amount", window: "24h" }],
};
const intent = (amount: unknown, agent = "invoice-bot") => ({
  intent: { agent: { id: agent }, action: { type: "payment.transfer", verb: "pay" }, payload: { content: { amount } } },
});

test("approvals add up, and a block adds nothing", async () => {
  const org = await limited({ ...spent, when: "count.spent.sum > 1000.0", effect: "block" });
  const verdicts = [];
  for (const amount of [900, 200, 100, 0.01])
    verdicts.push((await call("POST", "/v1/intents", org.agent, intent(amount))).json.decision.verdict);
  expect(verdicts).toEqual(["approve", "block", "approve", "block"]);
});

test("64 at once stay below the limit", async () => {
  const org = await limited({ ...spent, when: "count.spent.sum > 1000.0", effect: "block" });
  const answers = await Promise.all(
    Array.from({ length: 100 }, () =>
      call("POST", "/v1/intents/batch", org.agent, { intents: [intent(7), intent(7)] }),
    ),
  );
  const verdicts = answers.flatMap(({ json }) =>
    (json.results ?? []).map((each: { decision?: { verdict: string } }) => each.decision?.verdict),
  );
  expect(verdicts.filter((verdict) => verdict === "approve")).toHaveLength(142);
  expect(verdicts.filter((verdict) => verdict === "block")).toHaveLength(58);
});

const second = await serviceNode(database);
const third = await serviceNode(database);
const fourth = await serviceNode(database);

test("four nodes together stay below the limit, and reach it", async () => {
  const org = await limited({ ...spent, when: "count.spent.sum > 1000.0", effect: "block" });
  const nodes = [url, second.url, third.url, fourth.url];
  const submit = async (n: number) => {
    const headers = { "X-API-Key": org.agent, "Content-Type": "application/json" };
    const items = [intent(7), intent(7), intent(7), intent(7)];
    const body = JSON.stringify({ intents: items });
    const answer = await fetch(`${nodes[n % 4]}/v1/intents/batch`, { method: "POST", headers, body });
    return (await answer.json()) as { results: { decision?: { verdict: string }; error?: { code: string } }[] };
  };
  const answers = await Promise.all(Array.from({ length: 64 }, (_, n) => submit(n)));
  const all = answers.flatMap(({ results }) => results);
  expect(all.filter(({ error }) => error !== undefined)).toEqual([]);
  expect(all.filter(({ decision }) => decision?.verdict === "approve")).toHaveLength(142);
});

const held = {
  ...spent,
  when: "count.spent.sum > 100.0",
  effect: "escalate",
  escalation: { reviewers: ["role:reviewer"] },
};
const submitted = async (key: string, amount: number) => (await call("POST", "/v1/intents", key, intent(amount))).json;

test("what waits for people counts, until a review blocks or cancels it", async () => {
  const org = await limited({ ...held, when: "count.spent.sum > 500.0", effect: "block" });
  const created = await call("POST", "/v1/policies", org.admin, {
    policy: {
      apiVersion: "countersign/v1",
      kind: "Policy",
      metadata: { name: "held" },
      spec: { when: "params.amount > 100.0", effect: "escalate" },
    },
  });
  await call("POST", `/v1/policies/${created.json.policy_id ?? created.json.policy.policy_id}/activate`, org.admin, {
    mode: "live",
  });
  const waiting = await submitted(org.agent, 400);
  expect(waiting.decision.verdict).toBe("escalate");
  expect((await submitted(org.agent, 101)).decision.verdict).toBe("block");
  const { escalation_id } = waiting.decision;
  const ruled = await call("POST", `/v1/escalations/${escalation_id}/decision`, org.reviewer, { outcome: "block" });
  expect(ruled.status).toBe(200);
  const again = await submitted(org.agent, 450);
  expect(again.decision.verdict).toBe("escalate");
  expect((await call("POST", `/v1/escalations/${again.decision.escalation_id}/cancel`, org.admin, {})).status).toBe(
    200,
  );
  const third = await submitted(org.agent, 460);
  expect(third.decision.verdict).toBe("escalate");
  const approved = await call("POST", `/v1/escalations/${third.decision.escalation_id}/decision`, org.reviewer, {
    outcome: "approve",
  });
  expect(approved.status, JSON.stringify(approved.json)).toBe(200);
  expect((await submitted(org.agent, 41)).decision.verdict).toBe("block");
  expect((await submitted(org.agent, 40)).decision.verdict).toBe("approve");
});

test("only a trusted report of a failure releases", async () => {
  const org = await limited({ ...spent, when: "count.spent.sum > 100.0", effect: "block" });
  const { intent_id } = await submitted(org.agent, 90);
  const report = (key: string, status: string) =>
    call("POST", `/v1/intents/${intent_id}/observations`, key, { status });
  expect((await report(org.agent, "failed")).status).toBe(201);
  expect((await submitted(org.agent, 20)).decision.verdict).toBe("block");
  expect((await report(org.admin, "failed")).status).toBe(201);
  expect((await submitted(org.agent, 20)).decision.verdict).toBe("approve");
  expect((await report(org.admin, "executed")).status).toBe(201);
  expect((await submitted(org.agent, 1)).decision.verdict).toBe("block");
});

test("a cap approves what is left", async () => {
  const left = "1000.0 - (count.spent.sum - params.amount)";
  const org = await limited({
    ...spent,
    when: "count.spent.sum > 1000.0",
    effect: "block",
    modify_when: `${left} > 0.0`,
    modify: [{ op: "cap", path: "/amount", value: left }],
  });
  expect((await submitted(org.agent, 660)).decision.verdict).toBe("approve");
  const capped = await submitted(org.agent, 900);
  expect([capped.decision.verdict, capped.decision.modified_content]).toEqual(["approve_modified", { amount: 340 }]);
  expect((await submitted(org.agent, 0.01)).decision.verdict).toBe("block");
});

test("a sequence: no mail after a secret was read", async () => {
  const org = await limited({
    match: { verbs: ["send_mail"] },
    after: [{ name: "secrets", match: { verbs: ["read_secret"] }, key: ["agent.id"], within: "10m" }],
    when: "has(after.secrets)",
    effect: "block",
    message: "A secret was read by {{after.secrets.id}}.",
  });
  const act = async (verb: string) =>
    (await call("POST", "/v1/intents", org.agent, { intent: { agent: { id: "invoice-bot" }, action: { verb } } })).json;
  expect((await act("send_mail")).decision.verdict).toBe("approve");
  const { intent_id } = await act("read_secret");
  const blocked = await act("send_mail");
  expect(blocked.decision.verdict).toBe("block");
  expect(blocked.decision.reasons[0].message).toContain(intent_id);
});

test("ended entries and keys are deleted, and a node that knew the key reads it again", async () => {
  const org = await limited({ ...spent, when: "count.spent.sum > 100.0", effect: "block" });
  expect((await submitted(org.agent, 90)).decision.verdict).toBe("approve");
  const { org_id } = org.org;
  const head = async () =>
    (await database.db.query("select counter_keys, counter_changes from org_heads where org_id = $1", [org_id]))[0];
  expect(await head()).toEqual({ counter_keys: 1, counter_changes: 1 });
  await database.db.query("update counter_entries set ends_at = now() - interval '61 minutes' where org_id = $1", [
    org_id,
  ]);
  await database.db.query("update counters set ends_at = now() - interval '61 minutes' where org_id = $1", [org_id]);
  const deleted: string[] = [];
  await deleteOld(
    { db: database.db },
    {
      ...agingPages,
      deliveries_kept_days: 30,
      stopped: () => false,
      deleted: (what, rows) => deleted.push(`${what} ${rows}`),
    },
  );
  expect(deleted).toEqual(expect.arrayContaining(["counter_entry 1", "counter_key 1"]));
  expect(await head()).toEqual({ counter_keys: 0, counter_changes: 1 });
  expect((await submitted(org.agent, 5)).decision.verdict).toBe("approve");
  expect(await head()).toEqual({ counter_keys: 1, counter_changes: 2 });
});
