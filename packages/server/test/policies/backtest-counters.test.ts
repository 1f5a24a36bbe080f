import { expect, test, vi } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

vi.setConfig({ testTimeout: 60_000 });

const database = await testDatabase();
const { url } = await serviceNode(database);

const always = { from: "2020-01-01T00:00:00Z", to: "2100-01-01T00:00:00Z" };
const spent = {
  match: { actions: ["payment.*"] },
  counters: [{ name: "spent", key: ["agent.id"], value: "params.amount", window: "24h" }],
};
const policyOf = (name: string, spec: object) => ({
  ...{ apiVersion: "countersign/v1", kind: "Policy", metadata: { name, title: name } },
  spec,
});
const limit = (most: number) => policyOf("limit", { ...spent, when: `count.spent.sum > ${most}.0`, effect: "block" });
const large = policyOf("large", {
  ...{ when: "params.amount > 300.0", effect: "escalate" },
  escalation: { reviewers: ["role:reviewer"] },
});

async function organization(policies: readonly object[]) {
  const org = await reviewedOrganization(database.db, url, { packs: [] });
  for (const policy of policies) {
    const created = await call(url, "POST", "/v1/policies", { key: org.admin, body: { policy } });
    const path = `/v1/policies/${created.json.policy.policy_id}/activate`;
    const { status } = await call(url, "POST", path, { key: org.admin, body: { mode: "live" } });
    expect(status).toBe(200);
  }
  return org;
}

async function pay(org: Reviewed, amount: number, agent = "bot") {
  const action = { type: "payment.transfer", verb: "pay" };
  const body = { intent: { agent: { id: agent }, action, payload: { content: { amount } } }, claim: "required" };
  const { json } = await call(url, "POST", "/v1/intents", { key: org.agent, body });
  return json.decision as { intent_id: string; verdict: string; escalation_id: string; timestamp: string };
}

async function backtest(org: Reviewed, input: object, key = org.admin) {
  const { status, json } = await call(url, "POST", "/v1/learning/backtest", {
    key,
    body: { window: always, ...input },
  });
  expect(status, JSON.stringify(json)).toBe(200);
  return json.backtest;
}

/** Payments with every later event that changes what counts. Returns amounts and verdicts in their order. */
async function recordPast(org: Reviewed) {
  const paid: { amount: number; decision: Awaited<ReturnType<typeof pay>> }[] = [];
  const next = async (amount: number) => {
    const decision = await pay(org, amount);
    paid.push({ amount, decision });
    return decision;
  };
  const rule = async ({ escalation_id }: { escalation_id: string }, outcome: string) => {
    const path = `/v1/escalations/${escalation_id}/decision`;
    const { status } = await call(url, "POST", path, { key: org.reviewer, body: { outcome } });
    expect(status).toBe(200);
  };
  const report = async ({ intent_id }: { intent_id: string }, key: string, status: string) => {
    const path = `/v1/intents/${intent_id}/observations`;
    expect((await call(url, "POST", path, { key, body: { status } })).status).toBe(201);
  };
  await next(200);
  await rule(await next(400), "block");
  const approved = await next(500);
  await rule(approved, "approve");
  await next(250);
  const failed = await next(40);
  await report(failed, org.agent, "failed");
  await next(20);
  await report(failed, org.operator, "failed");
  await next(20);
  const path = `/v1/escalations/${approved.escalation_id}/revoke`;
  const revoked = await call(url, "POST", path, { key: org.operator, body: { reason: "error" } });
  expect(revoked.status).toBe(200);
  await next(280);
  await next(251);
  await next(250);
  return paid;
}

const past = [
  [200, "approve"],
  [400, "escalate"],
  [500, "escalate"],
  [250, "approve"],
  [40, "approve"],
  [20, "block"],
  [20, "approve"],
  [280, "approve"],
  [251, "block"],
  [250, "approve"],
];

test("recorded decisions are reproduced, and an equal candidate decides the same", async () => {
  const org = await organization([limit(1000), large]);
  const paid = await recordPast(org);
  expect(paid.map(({ amount, decision }) => [amount, decision.verdict])).toEqual(past);
  const recorded = await backtest(org, {});
  expect(recorded).toMatchObject({ evaluated: paid.length, reproduced: 1, flips_total: 0 });
  const same = await backtest(org, { candidate: { policies: [limit(1000)] } });
  expect(same).toMatchObject({ evaluated: paid.length, flips_total: 0, flips: [] });
});

/** Returns the intents that a limit blocks, if each approved amount of an agent counts. */
function blockedBy(
  paid: readonly (Awaited<ReturnType<typeof pay>> & { amount: number; agent: string })[],
  most: number,
) {
  const sums = new Map<string, number>();
  return paid.filter(({ agent, amount }) => {
    const sum = (sums.get(agent) ?? 0) + amount;
    if (sum <= most) sums.set(agent, sum);
    return sum > most;
  });
}

async function payAll(org: Reviewed, amounts: readonly number[], agents: readonly string[]) {
  const paid = [];
  for (const [at, amount] of amounts.entries()) {
    const agent = agents[at % agents.length] as string;
    paid.push({ ...(await pay(org, amount, agent)), amount, agent });
  }
  return paid;
}

const ids = (all: readonly { readonly intent_id: string }[]) => all.map(({ intent_id }) => intent_id).sort();
const amounts = Array.from({ length: 60 }, (_, at) => ((at * 37) % 23) + 1);

test("a candidate blocks exactly what a naive simulation blocks", async () => {
  const org = await organization([]);
  const paid = await payAll(org, amounts, ["a", "b", "c"]);
  for (const most of [50, 100]) {
    const { flips, evaluated } = await backtest(org, { candidate: { policies: [limit(most)] } });
    expect(evaluated).toBe(60);
    expect(ids(flips)).toEqual(ids(blockedBy(paid, most)));
    expect(flips[0].intent_id).toBe(ids(flips).at(-1));
  }
});

test("counts begin with the window before the backtest, and with all agents and membranes", async () => {
  const org = await organization([]);
  const paid = await payAll(org, amounts, ["a", "b"]);
  const shared = { ...spent, counters: [{ ...spent.counters[0], key: ["action.type"] }] };
  const own = { candidate: { policies: [limit(200)] } };
  const all = {
    candidate: { policies: [policyOf("all", { ...shared, when: "count.spent.sum > 500.0", effect: "block" })] },
  };
  const blocked = blockedBy(paid, 200);
  const later = paid.slice(30);
  const from = { from: later[0]?.timestamp, to: always.to };

  // All before were approved, so they count although the candidate would have blocked some.
  const after = paid.slice(0, 30).map(({ agent, amount }) => ({ agent, amount }));
  const before = (agent: string) => after.reduce((sum, each) => sum + (each.agent === agent ? each.amount : 0), 0);
  const sums = new Map(["a", "b"].map((agent) => [agent, before(agent)]));
  const expected = later.filter(({ agent, amount }) => {
    const sum = (sums.get(agent) as number) + amount;
    if (sum <= 200) sums.set(agent, sum);
    return sum > 200;
  });
  expect(ids((await backtest(org, { ...own, window: from })).flips)).toEqual(ids(expected));
  const newest = await backtest(org, { ...own, limit: 30 });
  expect([newest.evaluated, ids(newest.flips)]).toEqual([30, ids(expected)]);
  expect(ids(blocked).length).toBeGreaterThan(0);

  let sum = 0;
  const over = paid.filter(({ amount }) => {
    if (sum + amount <= 500) sum += amount;
    else return true;
    return false;
  });
  const of_a = await backtest(org, { ...all, agent_id: "a" });
  expect([of_a.evaluated, ids(of_a.flips)]).toEqual([30, ids(over.filter(({ agent }) => agent === "a"))]);
});

test("a caller that sees its own actions only cannot find what others add up to", async () => {
  const org = await organization([]);
  await payAll(org, [300, 200], ["a"]);
  const probe = policyOf("probe", { ...spent, when: "count.spent.sum > 400.0", effect: "block", on_unknown: "skip" });
  const candidate = { policies: [probe] };
  expect(await backtest(org, { candidate })).toMatchObject({ evaluated: 2, flips_total: 1 });
  expect(await backtest(org, { candidate }, org.agent)).toMatchObject({ evaluated: 2, flips_total: 0 });
});
