/** What the overview reads of decisions, which may be some hundred KB each. */
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../testing/database.ts";
import { firstIdAt } from "./first-id-at.ts";
import { countDecisions, type OverviewWindow, topPolicies } from "./overview.ts";

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
  const head = JSON.stringify({ decision_id: "dec", verdict: "block", risk_score: 0.25 }).slice(0, -1);
  // Hex digits at random: they take as much room in the table as here.
  await db.query(
    `insert into intents (org_id, intent_id, decision_id, membrane_id, agent_id, mode, verdict, status, fingerprint, intent, facts,
       decision, created_at)
     select $1, $2 || lpad(n::text, 6, '0'), 'dec', 'mem', 'agent', 'live', 'block', 'final', '', '{}', '{}',
       ($3 || ',"reasons":[{"policy_id":"pol","policy":"long","effect":"block","message":"' || words || '"}]}')::json, $4
     from generate_series(1, $5::integer) as n,
       lateral (select string_agg(md5(n || ' ' || m), '') as words from generate_series(1, 12000) as m) w`,
    [org_id, firstIdAt("intent", Date.parse(from)).padEnd(24, "0"), head, from, decisions],
  );
});

test("every decision is counted, and the risk read of as many large ones as can be read soon", async () => {
  const counted = await db.tenant(org_id, (query) => countDecisions(query, org_id, window));
  expect(counted.reduce((sum, { count }) => sum + count, 0)).toBe(decisions);
  expect(counted.map(({ bin }) => bin)).toEqual(expect.arrayContaining([2, null]));
});

test("policies are counted in as many of the newest held decisions as can be read soon", async () => {
  const policies = await db.tenant(org_id, (query) => topPolicies(query, org_id, window));
  expect(policies).toMatchObject([{ policy: "long", effect: "block" }]);
  expect(policies[0]?.count).toBeGreaterThan(10);
  expect(policies[0]?.count).toBeLessThan(decisions);
});
