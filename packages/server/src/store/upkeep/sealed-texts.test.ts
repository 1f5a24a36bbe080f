import { expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { mostRows, planOf } from "../../testing/database/plan.ts";
import { readSealedTexts, replaceStored } from "./sealed-texts.ts";

const { db, analyze } = await testDatabase();
const system = { tenant: ((_, work) => db.system(work)) as typeof db.tenant };

test("sealed texts are replaced with the key index of their table, for any number of rows", async () => {
  await db.query(
    `insert into person_tokens (token_sha256, kind, subject, expires_at)
     select sha256(n::text::bytea), 'sso', case when n <= 20 then '{"sealed":"old.text"}' else '{"sealed":"new.text"}' end::json, now()
     from generate_series(1, 60000) as n`,
  );
  await analyze("person_tokens");
  const read = () =>
    db.system((query) => readSealedTexts(query, "begun_logins", { prefix: "new.", after: null, limit: 200 }));
  const changes = (await read()).map(({ key, stored }) => ({ key, stored, replaced: '{"sealed":"new.text"}' }));
  expect(changes).toHaveLength(20);
  const plan = await planOf(system, "org_1", (query) => replaceStored(query, "begun_logins", changes));
  expect(mostRows(plan)).toBeLessThan(30);
  expect(await read()).toEqual([]);
});
