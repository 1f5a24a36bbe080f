import { expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { type Plan, planOf } from "../../testing/database/plan.ts";
import { testPeople } from "../../testing/people/person.ts";
import { readMade } from "./made.ts";

const { db } = await testDatabase();

/** Returns the rows of all steps, times their loops. */
function rowsOf({ Plans = [], ...plan }: Plan): number {
  return Plans.reduce((sum, each) => sum + rowsOf(each), plan["Actual Rows"] * plan["Actual Loops"]);
}

test("what a person created is read without comparing each key of the organization with each key of the person", async () => {
  const [{ org_id, user_id }, colleague, stranger] = await testPeople(db);
  const addKeys = (of: string, created_by: string, count: number) =>
    db.query(
      `insert into api_keys (org_id, key_id, key_sha256, lineage_id, environment, scope, role, created_by, created_at, expires_at, lifetime_seconds, person)
       select $1, $2 || n, sha256(($1 || $2 || n)::bytea), $2 || n, 'live', 'org', 'operator', $3, now(), now() + interval '1 day', 86400, $3
       from generate_series(1, $4::integer) n`,
      [of, `key_${created_by}_`, created_by, count],
    );
  await addKeys(org_id, user_id, 1_000);
  await addKeys(org_id, `key_${user_id}_7`, 2);
  await addKeys(org_id, colleague.user_id, 500);
  await addKeys(stranger.org_id, user_id, 3);
  const made = await db.tenant(org_id, (query) => readMade(query, org_id, user_id));
  expect(made).toHaveLength(1_002);
  const plan = await planOf(db, org_id, (query) => readMade(query, org_id, user_id));
  expect(rowsOf(plan)).toBeLessThan(30_000);
});
