import { expect, test } from "vitest";
import { testDatabase } from "./database.ts";

test("gives a fresh database on every call, cloned from one that was migrated once", async () => {
  const [first, second] = [await testDatabase(), await testDatabase()];
  await first.db.query("insert into usage_periods values ('org_a', '2026-11', 1)");
  expect(await second.db.query("select * from usage_periods")).toEqual([]);
  // A clone takes 40 to 120 ms; migrating takes ten times as long.
  const migrated = "select version, applied_at from schema_migrations order by version";
  expect(await second.db.query(migrated)).toEqual(await first.db.query(migrated));
});
