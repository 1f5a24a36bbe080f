/** What is rare in an organization's history is found without reading all of it. Source: migrations 0017 and 0021. */
import { beforeAll, expect, test } from "vitest";
import type { Query } from "../ports.ts";
import { testDatabase } from "../testing/database.ts";
import { type Plan, planOf } from "../testing/plan.ts";
import { readTrailPage } from "./audit.ts";
import { listEscalations } from "./escalations.ts";
import { firstIdAt } from "./first-id-at.ts";
import { listIntents } from "./intents.ts";

const { db } = await testDatabase();
const org_id = "org_00000000000000000000000001";
const many = 5_000;

beforeAll(async () => {
  await db.query(
    `insert into audit (org_id, seq, audit_id, type, actor, at, data, hash)
     select $1, n, 'aud_' || n, case n when 1 then 'user_removed' when 2 then 'delivery_failed' else 'decided' end,
       case when n in (3, 4) then 'usr_1' when n % 2 = 0 then 'key_1' else 'system' end, now(), '{}', '' from generate_series(1, $2::integer) as n`,
    [org_id, many],
  );
  await db.query(
    `insert into intents (org_id, intent_id, decision_id, membrane_id, agent_id, mode, verdict, status, fingerprint, intent, facts,
       decision, created_at)
     select $1, 'int_' || lpad(n::text, 26, '0'), 'dec', 'mem', 'agent', case n when 1 then 'shadow' else 'live' end, 'approve', 'final',
       '', '{}', '{}', '{}', now() from generate_series(1, $2::integer) as n`,
    [org_id, many],
  );
  await db.query(
    `insert into escalations (org_id, escalation_id, intent_id, decision_id, agent_id, mode, status, record, created_at, expires_at)
     select $1, 'esc_' || lpad(n::text, 26, '0'), 'int', 'dec', 'agent', 'live', 'decided',
       json_build_object('n', n, 'reviewers', json_build_array(json_build_object('type', 'user', 'id', case n when 1 then 'usr_1' else 'usr_2' end))),
       now(), now() from generate_series(1, $2::integer) as n`,
    [org_id, many],
  );
  await db.query("analyze audit, intents, escalations");
});

/** The most rows that a step of the statement gave or left out. */
async function rowsRead(list: (query: Query) => Promise<unknown>): Promise<number> {
  const most = (plan: Plan): number =>
    Math.max(plan["Actual Rows"], plan["Rows Removed by Filter"] ?? 0, ...(plan.Plans ?? []).map(most));
  return most(await planOf(db, org_id, list));
}

test.each(["user_removed", "delivery_failed", "key_created"] as const)("audit rows of type %s", async (type) => {
  expect(await rowsRead((query) => readTrailPage(query, org_id, { type }, null, 51))).toBeLessThan(10);
});

test("audit rows of one person, or of nobody", async () => {
  for (const [actor, seqs] of [
    ["usr_1", [4, 3]],
    ["usr_2", []],
    ["open_mode", []],
  ] as const) {
    const list = (query: Query) => readTrailPage(query, org_id, { actor }, null, 51);
    expect(await rowsRead(list), actor).toBeLessThan(10);
    expect((await db.tenant(org_id, list)).rows.map(({ seq }) => seq)).toEqual(seqs);
    const decided = (query: Query) => readTrailPage(query, org_id, { actor, type: "decided" }, 4, 51);
    expect(await rowsRead(decided), actor).toBeLessThan(10);
    expect((await db.tenant(org_id, decided)).rows.map(({ seq }) => seq)).toEqual(seqs.slice(1));
  }
  for (const actor of ["system", "key_1"]) {
    const list = (query: Query) => readTrailPage(query, org_id, { actor }, null, 51);
    expect((await db.tenant(org_id, list)).rows, actor).toHaveLength(51);
  }
});

test("intents that were decided in shadow, or in test mode", async () => {
  for (const mode of ["shadow", "test"] as const)
    expect(await rowsRead((query) => listIntents(query, org_id, { mode }, null, 51)), mode).toBeLessThan(10);
});

test("a key's own intents, where all that others submitted was before it was made", async () => {
  const made_ms = Date.UTC(2026, 0, 1);
  const lineage_id = firstIdAt("api_key", made_ms).padEnd(30, "Z");
  // By the clocks of two nodes the intent may be older than the key that submitted it.
  const intent_id = firstIdAt("intent", made_ms - 60_000).padEnd(30, "0");
  await db.query(
    `insert into intents (org_id, intent_id, decision_id, membrane_id, agent_id, lineage_id, mode, verdict, status, fingerprint, intent,
       facts, decision, created_at) values ($1, $2, 'dec', 'mem', 'agent', $3, 'live', 'approve', 'final', '', '{}', '{}', '{}', now())`,
    [org_id, intent_id, lineage_id],
  );
  const list = (query: Query) => listIntents(query, org_id, { lineage_id }, null, 51);
  expect(await rowsRead(list)).toBeLessThan(10);
  expect((await db.tenant(org_id, list)).rows.map((row) => row.intent_id)).toEqual([intent_id]);
  const earlier = (query: Query) => listIntents(query, org_id, { lineage_id, from: "2025-01-01T00:00:00Z" }, null, 51);
  expect(await rowsRead(earlier)).toBeLessThan(10);
  const later = (query: Query) => listIntents(query, org_id, { lineage_id, from: "2026-02-01T00:00:00Z" }, null, 51);
  expect((await db.tenant(org_id, later)).rows).toEqual([]);
});

test("one person's reviews: the records of others are not taken apart", async () => {
  /** How often a step of the statement was carried out, of the one that was most often. */
  const most = (plan: Plan): number => Math.max(plan["Actual Loops"], ...(plan.Plans ?? []).map(most));
  for (const [reviewer, found] of [
    ["usr_1", [1]],
    ["user:usr_1", [1]],
    ["role:usr_1", []],
    ["nobody", []],
  ] as const) {
    const list = (query: Query) => listEscalations(query, org_id, { reviewers: [reviewer] }, null, 51);
    expect(most(await planOf(db, org_id, list)), reviewer).toBeLessThan(10);
    expect((await db.tenant(org_id, list)).rows, reviewer).toMatchObject(found.map((n) => ({ n })));
  }
});
