/** Searches for old rows must not read kept rows. */
import { expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { mostRows, planOf } from "../../testing/database/plan.ts";
import { deleteOldIntakes } from "./old-rows.ts";

const { db, analyze } = await testDatabase();

test("expired intakes are found without reading used and new ones", async () => {
  await db.query(
    `insert into onboarding_intakes (intake_id, org_id, request, response, created_at)
     select 'ink_' || lpad(n::text, 26, '0'), case when n % 2 = 0 then 'org_1' end, '{}', '{}', now() - interval '30 days 10 minutes 30 seconds' + n * interval '1 minute'
     from generate_series(1, 10000) as n`,
  );
  await analyze("onboarding_intakes");
  const system = { tenant: ((_, work) => db.system(work)) as typeof db.tenant };
  const plan = await planOf(system, "", (query) => deleteOldIntakes(query, 30, 500));
  expect(mostRows(plan)).toBeLessThan(10);
  expect(await db.query("select count(*)::integer as n from onboarding_intakes")).toEqual([{ n: 9_995 }]);
});
