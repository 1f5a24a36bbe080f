/** Kept backtests, the readiness of a version, and what a check knows of recorded traffic. Source: docs/decisions/0062. */
import { type Backtest, limits } from "@countersign/contract";
import { beforeAll, expect, test, vi } from "vitest";
import { createClock } from "../../src/edge/clock.ts";
import { createIds } from "../../src/edge/ids.ts";
import { keepBacktest } from "../../src/operations/backtests/keep-backtest.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const day_ms = 86_400_000;
const week = () => ({
  from: new Date(Date.now() - 7 * day_ms).toISOString(),
  to: new Date(Date.now() + 1_000).toISOString(),
});

const refund = (amount_usd: number) => ({
  intent: {
    agent: { id: "agent-1" },
    action: { type: "other.refund", verb: "refund" },
    payload: { content: { amount_usd } },
  },
});
const policy = (name: string, spec: object = {}) => ({
  apiVersion: "countersign/v1",
  kind: "Policy",
  metadata: { name },
  spec: { match: { actions: ["other.refund"] }, when: "params.amount_usd > 500.0", effect: "escalate", ...spec },
});

let org: Reviewed & { readonly auditor: string };
let policy_id = "";
const held: string[] = [];

async function ask(key: string, method: string, path: string, body?: unknown) {
  return call(url, method, `/v1${path}`, { key, ...(body === undefined ? {} : { body }) });
}
async function ok(key: string, method: string, path: string, body?: unknown) {
  const { status, json, text } = await ask(key, method, path, body);
  if (status >= 400) throw new Error(text);
  return json;
}
const records = async (type: string) =>
  (await ok(org.admin, "GET", `/audit?type=${type}`)).audit.map(({ data }: { data: object }) => data);

beforeAll(async () => {
  const made = await reviewedOrganization(database.db, url);
  org = { ...made, auditor: (await made.org.key({ role: "auditor" })).api_key };
  await ok(org.admin, "PATCH", `/membranes/${org.membrane_id}`, { packs: [] });
  ({ policy_id } = (await ok(org.admin, "POST", "/policies", { policy: policy("large-refunds") })).policy);
  await ok(org.admin, "POST", `/policies/${policy_id}/activate`, { mode: "live" });
  for (let n = 0; n < 30; n += 1) {
    const { intent_id, decision } = await ok(org.agent, "POST", "/intents", refund(n < 24 ? n : 600 + n));
    if (decision.verdict === "escalate") held.push(intent_id);
    if (n === 29)
      await ok(org.reviewer, "POST", `/escalations/${decision.escalation_id}/decision`, { outcome: "approve" });
  }
});

test("a kept backtest has an address, groups its flips with their amounts, and says how it agrees with reviewers", async () => {
  const candidate = { without: ["large-refunds"], thresholds: { escalate_at: 0.99 } };
  const { backtest } = await ok(org.reviewer, "POST", "/learning/backtest", { candidate, window: week(), keep: true });
  const groups = [
    {
      ...{ policies: ["large-refunds"], from: "escalate", to: "approve", count: 6 },
      ...{ amount_usd: 624 + 625 + 626 + 627 + 628 + 629, examples: [...held].reverse().slice(0, 5) },
    },
  ];
  expect(backtest).toMatchObject({ flips_total: 6, flip_groups: groups });
  expect(backtest.agrees_with_reviewers).toMatchObject({ rulings: 1, agreed: 1, share: 1, high: 1 });
  expect(backtest.agrees_with_reviewers.low).toBeCloseTo(0.2065, 3);
  expect(backtest.verdicts).toMatchObject({
    days_seen: expect.any(Number),
    recorded: { approve: 24, escalate: 6 },
    candidate: { approve: 30 },
  });

  const { backtest_id } = backtest;
  const { backtest: kept } = await ok(org.auditor, "GET", `/backtests/${backtest_id}`);
  expect(kept).toMatchObject({ backtest_id, input: { candidate }, result: backtest });
  expect(Date.parse(kept.expires_at) - Date.parse(kept.created_at)).toBe(limits.backtest_kept_days * day_ms);
  const { backtests } = await ok(org.auditor, "GET", "/backtests");
  expect(backtests[0]).toMatchObject({
    ...{ backtest_id, flips_total: 6, evaluated: 30, membrane_id: null },
    candidate: { policies: [], packs: null, thresholds: { escalate_at: 0.99 }, without: ["large-refunds"] },
  });
  expect(await records("backtest_kept")).toEqual([{ backtest_id, policies: [] }]);
});

test("a key that only submits cannot keep a backtest, and nobody else's organization reads one", async () => {
  expect((await ask(org.agent, "POST", "/learning/backtest", { window: week(), keep: true })).status).toBe(403);
  const other = await reviewedOrganization(database.db, url);
  const [{ backtest_id }] = (await ok(org.admin, "GET", "/backtests")).backtests;
  expect((await ask(other.admin, "GET", `/backtests/${backtest_id}`)).status).toBe(404);
  expect((await ok(other.admin, "GET", "/backtests")).backtests).toEqual([]);
});

test("an organization keeps a bounded number of backtests: a further one takes the place of the oldest", async () => {
  const { org: other } = await reviewedOrganization(database.db, url);
  const clock = createClock();
  const ids = createIds(clock);
  const caller = { org_id: other.org_id, session_id: null, key_id: null, actor: "key_1" } as never;
  const input = { window: week() };
  const runtime = { db: database.db, clock, ids };
  const made: string[] = [];
  for (let n = 0; n < limits.backtests_kept_max + 2; n += 1) {
    const backtest_id = ids.next("backtest");
    const result = { backtest_id, flips: [], agrees_with_reviewers: {} } as unknown as Backtest;
    await keepBacktest(runtime as never, caller, { input, candidate: null, result, asked_us: clock.now_us() });
    made.push(backtest_id);
  }
  const rows = await database.db.query<{ id: string }>(
    "select backtest_id as id from backtests where org_id = $1 order by 1",
    [other.org_id],
  );
  expect(rows.map(({ id }) => id)).toEqual(made.slice(2).sort());
});

test("a version without a backtest is not ready; its own backtest of a week is the evidence, which activation audits", async () => {
  const changed = policy("large-refunds", { when: "params.amount_usd > 20.0 || params.kind == 'gift'" });
  await ok(org.admin, "PUT", `/policies/${policy_id}`, { policy: changed });
  const readiness = async (query = "") =>
    (await ok(org.auditor, "GET", `/policies/${policy_id}/readiness${query}`)).readiness;
  expect(await readiness()).toMatchObject({
    ...{ version: 2, verdict: "not_yet", figures: null },
    not_ready: [{ code: "no_backtest" }],
  });

  const run = (more: object) =>
    ok(org.admin, "POST", "/learning/backtest", {
      candidate: { policies: [changed] },
      window: week(),
      keep: true,
      ...more,
    });
  // Narrower than what the version would decide: no evidence.
  await run({ agent_id: "agent-1" });
  expect((await readiness()).figures).toBeNull();

  const { backtest } = await run({});
  const found = await readiness("?version=2");
  expect(found.figures).toMatchObject({
    ...{ backtest_id: backtest.backtest_id, decisions: 30, days: expect.any(Number), flips: 24 },
    recorded: { holds: { count: 6 }, passes: { count: 24 } },
    holds: { count: 30 },
    missing_facts: { fired: 30, unknown: 21, facts: [{ path: "params.kind" }] },
  });
  const codes = ["too_few_decisions", "missing_facts"];
  expect(found.not_ready.map(({ code }: { code: string }) => code)).toEqual(codes);
  expect((await readiness("?version=1")).figures).toBeNull();
  expect((await ask(org.auditor, "GET", `/policies/${policy_id}/readiness?version=9`)).status).toBe(404);

  const activate = (mode: string) => ok(org.admin, "POST", `/policies/${policy_id}/activate`, { mode });
  const live = await activate("live");
  expect(live.not_ready.map(({ code }: { code: string }) => code)).toEqual(codes);
  expect((await activate("shadow")).not_ready).toEqual([]);
  const [shadow, audited] = await records("policy_activated");
  expect(shadow).toMatchObject({ mode: "shadow", not_ready: [] });
  expect(audited.not_ready.map(({ code }: { code: string }) => code)).toEqual(codes);
});

test("rules are listed with how often they fired in 7 days", async () => {
  const { fired } = await ok(org.auditor, "GET", "/policies/fired");
  expect(fired.complete).toBe(true);
  expect(fired.rules).toEqual([{ policy_id, policy: "large-refunds", effect: "escalate", count: 6, missing_facts: 0 }]);
});

test("a check warns of a parameter that no recorded action has, at its place, and names the likely one", async () => {
  const warnings = async (spec: object) =>
    (await ok(org.admin, "POST", "/policies/check", { policy: policy("typo", spec) })).warnings;
  expect(await warnings({ when: "params.amount_usd > 1.0 && params.amout_usd < 9.0" })).toMatchObject([
    {
      ...{ path: "/spec/when", code: "unknown_parameter", help: "Did you mean amount_usd?" },
      message: "Unknown parameter params.amout_usd: 0 of 30 recorded actions that this policy matches have it.",
    },
  ]);
  expect(await warnings({ when: "has(params.gift) && params.gift" })).toEqual([]);
  // Of another tool there is no traffic.
  expect(await warnings({ match: { actions: ["other.mail"] }, when: "params.subject == ''" })).toEqual([]);
});
