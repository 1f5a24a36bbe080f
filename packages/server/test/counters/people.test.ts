/** How actions count that people decide, and in which sum. Source: docs/how-to/limits.md. */
import { beforeAll, expect, test } from "vitest";
import type { Clock } from "../../src/ports.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { limitedOrganization, payment, shownSpent, spentByAgent } from "../../src/testing/people/limits.ts";
import type { Reviewed } from "../../src/testing/people/review.ts";

const database = await testDatabase();
let url: string;
beforeAll(async () => {
  ({ url } = await serviceNode(database));
});

const post = (path: string, key: string, body: object) => call(url, "POST", path, { key, body });

/** Payments above 1,000 in all are blocked. People are asked for each one above 100. */
const limited = () =>
  limitedOrganization(database.db, url, {
    limit: { ...spentByAgent, when: "count.spent.sum > 1000.0", effect: "block", override: "reviewer" },
    ask: {
      match: spentByAgent.match,
      when: "params.amount > 100.0",
      effect: "escalate",
      escalation: { reviewers: ["role:reviewer"], grants: { times_max: 5, hours_max: 24 } },
    },
  });

async function submit(org: Reviewed, amount: number, more: object = {}) {
  const { status, text, json } = await post("/v1/intents", org.agent, { ...payment(amount), ...more });
  expect(status, text).toBe(201);
  return json.decision;
}

async function rule(org: Reviewed, { escalation_id }: { escalation_id: string }, ruling: object): Promise<void> {
  const { status, text } = await post(`/v1/escalations/${escalation_id}/decision`, org.reviewer, ruling);
  expect(status, text).toBe(200);
}

async function verdictOf(org: Reviewed, amount: number): Promise<string> {
  return (await submit(org, amount)).verdict;
}

async function spend(org: Reviewed, times: number): Promise<void> {
  for (let n = 0; n < times; n += 1) expect(await verdictOf(org, 100)).toBe("approve");
}

async function countedIntents({ org }: Reviewed): Promise<readonly string[]> {
  const rows = await database.db.query<{ intent_id: string }>(
    "select intent_id from counter_entries where org_id = $1 and state <> 'released' order by at",
    [org.org_id],
  );
  return rows.map(({ intent_id }) => intent_id);
}

test("an action approved by an override counts, above the limit", async () => {
  const org = await limited();
  await spend(org, 9);
  await submit(org, 60);
  const blocked = await submit(org, 50);
  expect(blocked.verdict).toBe("block");
  const overridden = await post(`/v1/intents/${blocked.intent_id}/override`, org.operator, { reason: "seen" });
  expect(overridden.status, overridden.text).toBe(201);
  expect(await shownSpent(url, org)).toMatchObject({ n: 10, sum: 960 });
  expect((await submit(org, 50)).human_override_id).toMatch(/^ovr_/);
  expect(await shownSpent(url, org)).toMatchObject({ n: 11, sum: 1_010 });
  expect(await verdictOf(org, 0.000001)).toBe("block");
});

test("an action approved by a grant counts, and a grant does not lift the limit", async () => {
  const org = await limited();
  const held = await submit(org, 400);
  const granted = await post("/v1/grants", org.reviewer, {
    intent_id: held.intent_id,
    scope: { agent_id: "invoice-bot", verb: "pay", at_most: [{ path: "/amount", value: 400 }] },
    times: 5,
    until: new Date(Date.now() + 3_600_000).toISOString(),
    reason: "the usual supplier",
  });
  expect(granted.status, granted.text).toBe(201);
  const { grant_id } = granted.json.grant;
  expect(await submit(org, 400)).toMatchObject({ verdict: "approve", grant_id });
  expect(await shownSpent(url, org)).toEqual({ n: 2, sum: 800, waiting_sum: 400 });
  expect(await verdictOf(org, 201)).toBe("block");
  expect(await submit(org, 200)).toMatchObject({ verdict: "approve", grant_id });
  expect(await verdictOf(org, 0.000001)).toBe("block");
});

test("an action that joins the review of an equal one adds nothing, and counts in its place when it is claimed", async () => {
  const org = await limited();
  const first = await submit(org, 400, { claim: "required" });
  const second = await submit(org, 400, { claim: "required" });
  expect([first.verdict, second.escalation_id]).toEqual(["escalate", first.escalation_id]);
  expect(await shownSpent(url, org)).toEqual({ n: 1, sum: 400, waiting_sum: 400 });
  await rule(org, first, { outcome: "approve" });
  expect(await shownSpent(url, org)).toEqual({ n: 1, sum: 400, waiting_sum: 0 });
  expect(await countedIntents(org)).toEqual([first.intent_id]);
  const claimed = await post(`/v1/intents/${second.intent_id}/claim`, org.agent, { nonce: "n" });
  expect(claimed.status, claimed.text).toBe(200);
  expect(await countedIntents(org)).toEqual([second.intent_id]);
  expect(await verdictOf(org, 601)).toBe("block");
});

test("a limit that one action fits into does not block an equal one, which joins its review or takes over its approval", async () => {
  const org = await limited();
  const submitAgain = () => submit(org, 600, { claim: "required" });
  const first = await submitAgain();
  const joined = await submitAgain();
  expect(joined).toMatchObject({ verdict: "escalate", escalation_id: first.escalation_id });
  await rule(org, first, { outcome: "approve" });
  let holder = first.intent_id;
  for (let n = 0; n < 2; n += 1) {
    const next = await submitAgain();
    expect(next).toMatchObject({ verdict: "approve", resumed_from: holder });
    holder = next.intent_id;
    expect(await countedIntents(org)).toEqual([holder]);
  }
  expect((await post(`/v1/intents/${holder}/claim`, org.agent, { nonce: "n" })).status).toBe(200);
  expect((await submitAgain()).verdict).toBe("block");
  expect(await shownSpent(url, org)).toEqual({ n: 1, sum: 600, waiting_sum: 0 });
});

test("an action approved with changes counts with its approved amount", async () => {
  const org = await limited();
  const held = await submit(org, 900);
  expect(await verdictOf(org, 101)).toBe("block");
  const modifications = [{ path: "/amount", op: "replace", value: 250 }];
  await rule(org, held, { outcome: "approve_modified", modifications });
  expect(await shownSpent(url, org)).toEqual({ n: 1, sum: 250, waiting_sum: 0 });
  expect(await verdictOf(org, 751)).toBe("block");
  expect(await verdictOf(org, 750)).toBe("escalate");
});

test("an approval that was revoked counts no longer", async () => {
  const org = await limited();
  const held = await submit(org, 900, { claim: "required" });
  await rule(org, held, { outcome: "approve" });
  expect(await verdictOf(org, 101)).toBe("block");
  const revoked = await post(`/v1/escalations/${held.escalation_id}/revoke`, org.operator, {});
  expect(revoked.status, revoked.text).toBe(200);
  expect(await shownSpent(url, org)).toEqual({ n: 0, sum: 0, waiting_sum: 0 });
  expect(await verdictOf(org, 1_000)).toBe("escalate");
});

test("an action of a sub-agent counts for its parent, too", async () => {
  const org = await limited();
  const register = (agent: string, body: object) => call(url, "PUT", `/v1/agents/${agent}`, { key: org.admin, body });
  await register("planner", {});
  await register("worker", { parent_id: "planner" });
  const submitAs = async (agent: string, amount: number) =>
    (await post("/v1/intents", org.agent, payment(amount, agent))).json.decision.verdict;
  for (let n = 0; n < 6; n += 1) expect(await submitAs("worker", 100)).toBe("approve");
  for (let n = 0; n < 4; n += 1) expect(await submitAs("planner", 100)).toBe("approve");
  expect(await shownSpent(url, org, "worker")).toMatchObject({ n: 6, sum: 600 });
  expect(await shownSpent(url, org, "planner")).toMatchObject({ n: 10, sum: 1_000 });
  expect([await submitAs("planner", 1), await submitAs("worker", 1)]).toEqual(["block", "block"]);
});

test("shadow and test mode have sums of their own", async () => {
  const org = await limited();
  const { api_key } = await org.org.key({ role: "agent", environment: "test" });
  const modes = [
    ["live", "/v1/intents", org.agent],
    ["shadow", "/v1/intents?mode=shadow", org.agent],
    ["test", "/v1/intents", api_key],
  ] as const;
  for (const [mode, path, key] of modes) {
    expect(await shownSpent(url, org, "invoice-bot", mode)).toBeNull();
    for (const verdict of [...Array.from({ length: 10 }, () => "approve"), "block"])
      expect((await post(path, key, payment(100))).json.decision, mode).toMatchObject({ verdict, pipeline_mode: mode });
  }
  for (const [mode] of modes)
    expect(await shownSpent(url, org, "invoice-bot", mode), mode).toEqual({ n: 10, sum: 1_000, waiting_sum: 0 });
});

test("a calendar day in Berlin begins at midnight there, and a day on which the clocks change has 25 hours", async () => {
  let now = "2026-10-24T21:59:59.999999Z";
  const clock: Clock = { now_us: () => Date.parse(now) * 1_000 + Number(now.slice(-4, -1)) };
  const node = await serviceNode(database, { clock });
  const counters = [{ ...spentByAgent.counters[0], window: { calendar: "day", zone: "Europe/Berlin" } }];
  const spec = { ...spentByAgent, counters, when: "count.spent.sum > 100.0", effect: "block" };
  const org = await limitedOrganization(database.db, node.url, { limit: spec });
  const verdicts = async () => {
    const submitted = [];
    for (const amount of [100, 0.000001]) {
      const { json } = await call(node.url, "POST", "/v1/intents", { key: org.agent, body: payment(amount) });
      submitted.push(json.decision.verdict);
    }
    return submitted;
  };
  expect(await verdicts()).toEqual(["approve", "block"]);
  now = "2026-10-24T22:00:00.000000Z";
  expect(await verdicts()).toEqual(["approve", "block"]);
  now = "2026-10-25T22:59:59.999999Z";
  expect(await verdicts()).toEqual(["block", "block"]);
  now = "2026-10-25T23:00:00.000000Z";
  expect(await verdicts()).toEqual(["approve", "block"]);
});
