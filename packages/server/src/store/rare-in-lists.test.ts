/** What is rare in an organization's history is found without reading all of it. Source: migration 0017. */
import { beforeAll, expect, test } from "vitest";
import type { Query } from "../ports.ts";
import { testDatabase } from "../testing/database.ts";
import { readTrailPage } from "./audit.ts";
import { listIntents } from "./intents.ts";

const { db } = await testDatabase();
const org_id = "org_00000000000000000000000001";
const many = 5_000;

beforeAll(async () => {
  await db.query(
    `insert into audit (org_id, seq, audit_id, type, actor, at, data, hash)
     select $1, n, 'aud_' || n, case n when 1 then 'user_removed' when 2 then 'delivery_failed' else 'decided' end, 'system', now(), '{}', ''
     from generate_series(1, $2::integer) as n`,
    [org_id, many],
  );
  await db.query(
    `insert into intents (org_id, intent_id, decision_id, membrane_id, agent_id, mode, verdict, status, fingerprint, intent, facts,
       decision, created_at)
     select $1, 'int_' || lpad(n::text, 26, '0'), 'dec', 'mem', 'agent', case n when 1 then 'shadow' else 'live' end, 'approve', 'final',
       '', '{}', '{}', '{}', now() from generate_series(1, $2::integer) as n`,
    [org_id, many],
  );
  await db.query("analyze audit, intents");
});

interface Plan {
  readonly "Rows Removed by Filter"?: number;
  readonly "Actual Rows": number;
  readonly Plans?: readonly Plan[];
}

/** The most rows that a step of the statement gave or left out. */
async function rowsRead(list: (query: Query) => Promise<unknown>): Promise<number> {
  const most = (plan: Plan): number =>
    Math.max(plan["Actual Rows"], plan["Rows Removed by Filter"] ?? 0, ...(plan.Plans ?? []).map(most));
  let read = -1;
  await db.tenant(org_id, async (query) => {
    await list(async (text, params) => {
      const [row] = await query<{ "QUERY PLAN": [{ Plan: Plan }] }>(
        `explain (analyze, timing off, format json) ${text}`,
        params,
      );
      if (row !== undefined) read = most(row["QUERY PLAN"][0].Plan);
      return query(text, params);
    });
  });
  return read;
}

test.each(["user_removed", "delivery_failed", "key_created"] as const)("audit rows of type %s", async (type) => {
  expect(await rowsRead((query) => readTrailPage(query, org_id, { type }, null, 51))).toBeLessThan(10);
});

test("intents that were decided in shadow, or in test mode", async () => {
  for (const mode of ["shadow", "test"] as const)
    expect(await rowsRead((query) => listIntents(query, org_id, { mode }, null, 51)), mode).toBeLessThan(10);
});
