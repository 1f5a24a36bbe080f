/** What the overview reads of decisions, which may be some hundred KB each. */
import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { type LedgerDecision, ledgerRows } from "../../testing/database/ledger-rows.ts";
import { firstIdAt } from "../rows/first-id-at.ts";
import { countDecisions, type OverviewWindow, readQueue, readReasons, topAgents } from "./overview.ts";

const { db } = await testDatabase();
const org_id = "org_00000000000000000000000001";
const decisions = 120;
const from = "2026-11-18T12:00:00.000000Z";
const window: OverviewWindow = {
  from,
  to: "2026-11-18T13:00:00.000000Z",
  bucket_seconds: 3_600,
  membrane_id: null,
  mode: null,
};

beforeAll(async () => {
  const reason = { policy_id: "pol", policy: "long", effect: "block" };
  const rows = Array.from({ length: decisions }, (_, n) => ({
    intent_id: `${firstIdAt("intent", Date.parse(from)).padEnd(24, "0")}${String(n + 1).padStart(6, "0")}`,
    verdict: "block" as const,
    at: from,
    // Hex digits at random: they take as much room in the table as here.
    data: {
      ...{ decision_id: "dec", verdict: "block", risk_score: 0.25 },
      reasons: [{ ...reason, message: randomBytes(192_000).toString("hex") }],
    },
  }));
  await ledgerRows(db, org_id, rows);
});

test("every decision is counted, and the risk read of as many large ones as can be read soon", async () => {
  const counted = await db.tenant(org_id, (query) => countDecisions(query, org_id, window));
  expect(counted.reduce((sum, { count }) => sum + count, 0)).toBe(decisions);
  expect(counted.map(({ bin }) => bin)).toEqual(expect.arrayContaining([2, null]));
});

test("policies are counted in as many of the newest held decisions as can be read soon", async () => {
  const policies = await db.tenant(org_id, (query) =>
    readReasons(query, org_id, window).then(({ policies }) => policies),
  );
  expect(policies).toMatchObject([{ policy: "long", effect: "block" }]);
  expect(policies[0]?.count).toBeGreaterThan(10);
  expect(policies[0]?.count).toBeLessThan(decisions);
});

let numbers = 0;

/** A small decision of the organization. */
async function decided(
  organization: string,
  at: string,
  {
    risk_score = 0.5,
    policy = "p",
    effect = "block",
    reasons = [{ policy_id: "pol", policy, effect }] as readonly object[],
    ...wanted
  }: LedgerDecision & { risk_score?: number; policy?: string; effect?: string; reasons?: readonly object[] } = {},
): Promise<void> {
  const intent_id = `${firstIdAt("intent", Date.parse(at)).slice(0, 24)}${String(++numbers).padStart(6, "0")}`;
  const told = { intent_id, at, verdict: "block", agent_id: "a", data: { risk_score, reasons } } as const;
  await ledgerRows(db, organization, [{ ...told, ...wanted }]);
}

const [first, last] = ["2026-11-18T12:00:00.000000Z", "2026-11-18T12:59:59.999999Z"];

test("of small decisions the risk is read however many large ones came after them", async () => {
  numbers = -1; // Before those from the start.
  await decided(org_id, from, { risk_score: 0.9 });
  const counted = await db.tenant(org_id, (query) => countDecisions(query, org_id, window));
  expect(counted).toContainEqual({ bucket: 0, mode: "live", verdict: "block", bin: 9, count: 1 });
});

test("a window holds its beginning and not its end, and what is asked for of one organization", async () => {
  const [own, other] = ["org_00000000000000000000000002", "org_00000000000000000000000003"];
  for (const at of [first, last, "2026-11-18T11:59:59.999999Z", "2026-11-18T13:00:00.000000Z"]) await decided(own, at);
  await decided(own, "2026-11-18T12:30:00.000000Z", { mode: "shadow", membrane_id: "mem_2" });
  await decided(other, first);
  const count = (wanted: Partial<OverviewWindow> = {}) =>
    db.system((query) => countDecisions(query, own, { ...window, bucket_seconds: 1_800, ...wanted }));
  const about = { verdict: "block", bin: 5, count: 1 };
  expect(await count({ mode: "live" })).toEqual([
    { bucket: 0, mode: "live", ...about },
    { bucket: 1, mode: "live", ...about },
  ]);
  expect(await count({ membrane_id: "mem_2" })).toEqual([{ bucket: 1, mode: "shadow", ...about }]);
  expect((await count()).map(({ bucket }) => bucket)).toEqual([0, 1, 1]);
});

test("the risk is told in steps of a tenth, the highest with the last of them", async () => {
  const own = "org_00000000000000000000000004";
  // The last but two is what sums of tenths come to.
  const scores = [0, 0.1, 0.29, 0.3, 0.7, 0.7999999999999999, 0.99, 1];
  for (const risk_score of scores) await decided(own, first, { risk_score });
  const counted = await db.system((query) => countDecisions(query, own, window));
  expect(counted.map(({ bin, count }) => [bin, count]).sort()).toEqual([
    ...[
      [0, 1],
      [1, 1],
      [2, 1],
      [3, 1],
      [7, 1],
      [8, 1],
      [9, 2],
    ],
  ]);
});

test("the ten busiest agents and policies are told, those that are as busy by name", async () => {
  const own = "org_00000000000000000000000005";
  const names = Array.from("lkjihgfedcba");
  for (const name of names) await decided(own, first, { agent_id: name, policy: name });
  for (const verdict of ["approve", "escalate", "escalate"] as const)
    await decided(own, last, { agent_id: "c", policy: "c", verdict });
  await decided(own, first, { agent_id: "b", policy: "b" });
  const agents = await db.system((query) => topAgents(query, own, window));
  expect(agents.map(({ agent_id, count, held }) => [agent_id, count, held])).toEqual([
    ["c", 4, 3],
    ["b", 2, 2],
    ...Array.from("adefghij", (name) => [name, 1, 1]),
  ]);
  const policies = await db.system((query) => readReasons(query, own, window).then(({ policies }) => policies));
  expect(policies.map(({ policy, count }) => [policy, count])).toEqual([
    ["c", 3],
    ["b", 2],
    ...Array.from("adefghij", (name) => [name, 1]),
  ]);
});

test("of policies those are told that stop or change something, each thing for itself, and none of a plain approval", async () => {
  const own = "org_00000000000000000000000008";
  const told = { policy: "a" };
  await decided(own, first, { ...told, verdict: "approve", effect: "none" });
  await decided(own, first, { ...told, verdict: "block", effect: "none" });
  for (const effect of ["approve_modified", "escalate", "escalate"] as const)
    await decided(own, first, { ...told, verdict: effect, effect });
  const policies = await db.system((query) => readReasons(query, own, window).then(({ policies }) => policies));
  expect(policies.map(({ effect, count }) => [effect, count])).toEqual([
    ["escalate", 2],
    ["approve_modified", 1],
  ]);
});

describe("missing facts", () => {
  const own = "org_00000000000000000000000009";
  let at_ms = Date.parse(from);
  const reason = (policy: string, facts: Record<string, string>, effect = "escalate") => ({
    ...{ policy_id: `pol_${policy}`, policy, effect },
    unknown_facts: Object.entries(facts).map(([path, why]) => ({ path, reason: why })),
  });
  const decide = (...reasons: object[]) => {
    at_ms += 1;
    return decided(own, new Date(at_ms).toISOString(), { verdict: "escalate", reasons });
  };

  test("are counted by decision, with the rules that asked for them, the most frequent first", async () => {
    await decide(
      reason("a", { "facts.security.x": "missing", "params.amount": "missing" }),
      reason("b", { "facts.security.x": "null" }),
    );
    await decide(reason("a", { "facts.security.x": "stale", "facts.security.y": "source_timeout" }));
    // Of a wrong type, out of budget, of a rule without effect: nothing to supply.
    await decide(
      reason("c", { "facts.security.z": "type", "": "cost" }),
      reason("d", { "facts.security.z": "missing" }, "none"),
    );
    const { facts, missing, read } = await db.system((query) => readReasons(query, own, window));
    expect([read, missing]).toEqual([3, 2]);
    const rule = (policy: string) => ({ policy_id: `pol_${policy}`, policy });
    expect(facts).toEqual([
      { path: "facts.security.x", decisions: 2, rules: [rule("a"), rule("b")] },
      { path: "facts.security.y", decisions: 1, rules: [rule("a")] },
    ]);
  });
});

test("the queue has what waits for people now, and which has waited for longest and which times out first", async () => {
  const [own, other] = ["org_00000000000000000000000006", "org_00000000000000000000000007"];
  expect(await db.system((query) => readQueue(query, own))).toEqual({
    pending: 0,
    oldest_at: null,
    next_expires_at: null,
  });
  const escalation = (organization: string, n: number, status: string, mode: string, at: string, expires_at: string) =>
    db.query(
      `insert into escalations (org_id, escalation_id, intent_id, decision_id, agent_id, status, mode, record, created_at, expires_at, demands)
       values ($1, $2, $2, $2, 'a', $3, $4, '{}', $5::timestamptz, $6::timestamptz, '[]')`,
      [organization, `esc_${n}`, status, mode, at, expires_at],
    );
  const [late, later, latest] = [
    "2026-11-18T14:00:00.000000Z",
    "2026-11-18T15:00:00.000000Z",
    "2026-11-18T16:00:00.000000Z",
  ];
  await escalation(own, 1, "pending", "live", last, latest);
  await escalation(own, 2, "pending", "live", late, later);
  await escalation(own, 3, "pending", "test", first, late);
  await escalation(own, 4, "decided", "live", first, late);
  await escalation(other, 5, "pending", "live", first, late);
  expect(await db.system((query) => readQueue(query, own))).toEqual({
    pending: 2,
    oldest_at: last,
    next_expires_at: later,
  });
});
