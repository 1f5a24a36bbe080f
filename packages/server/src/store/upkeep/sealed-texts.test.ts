/** Where sealed texts are written anew. Source: decision 0019. */
import { expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { mostRows, planOf } from "../../testing/database/plan.ts";
import { readSealedTexts, replaceStored } from "./sealed-texts.ts";

const { db, analyze } = await testDatabase();
const system = { tenant: ((_, work) => db.system(work)) as typeof db.tenant };

test("sealed texts are written anew along the key of their table, however many it holds", async () => {
  await db.query(
    `insert into idempotency_keys (org_id, operation, idempotency_key, request_sha256, response, created_at)
     select 'org_1', case when n <= 20 then 'createApiKey key_1' else 'submit_intent key_1' end, 'key ' || n, '',
       '{"sealed":"old.text"}', now() from generate_series(1, 60000) as n`,
  );
  await analyze("idempotency_keys");
  const read = () =>
    db.system((query) => readSealedTexts(query, "created_keys", { prefix: "new.", after: null, limit: 200 }));
  const changes = (await read()).map(({ key, stored }) => ({ key, stored, replaced: '{"sealed":"new.text"}' }));
  expect(changes).toHaveLength(20);
  const plan = await planOf(system, "org_1", (query) => replaceStored(query, "created_keys", changes));
  expect(mostRows(plan)).toBeLessThan(30);
  expect(await read()).toEqual([]);
});
