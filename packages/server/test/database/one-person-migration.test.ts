import { expect, test } from "vitest";
import { openClient } from "../../src/store/database/connection.ts";
import { migrate, readMigrations } from "../../src/store/database/migrate.ts";
import { emptyDatabase } from "../../src/testing/database/database.ts";
import { silentLog } from "../../src/testing/nodes/silent-log.ts";

test("each key gets the root of its makers as its person, and organizations with two persons are not in solo mode", async () => {
  const database = await emptyDatabase();
  await migrate(database, silentLog, (await readMigrations()).slice(0, 2));
  const client = await openClient(database, "test");
  await client.query("set app.org = '*'");
  for (const org_id of ["org_a", "org_b", "org_c"])
    await client.query(
      "insert into organizations (org_id, name, description, plan_id, created_at) values ($1, '', '', 'unlimited', now())",
      [org_id],
    );
  const keys = [
    ["org_a", "key_quick", "key_quick", "quickstart", null],
    ["org_a", "key_quick2", "key_quick", "quickstart", null],
    ["org_a", "key_made", "key_made", null, "key_quick2"],
    ["org_a", "key_grandchild", "key_grandchild", null, "key_made"],
    ["org_b", "key_cli", "key_cli", "me", null],
    ["org_b", "key_of_cli", "key_of_cli", null, "key_cli"],
    ["org_b", "key_of_user", "key_of_user", null, "usr_1"],
    ["org_c", "key_alone", "key_alone", null, "usr_2"],
  ];
  for (const key of keys)
    await client.query(
      `insert into api_keys (org_id, key_id, key_sha256, lineage_id, name, created_by, environment, scope, role, created_at, expires_at, lifetime_seconds)
       values ($1, $2, '', $3, $4, $5, 'live', 'org', 'admin', now(), now(), 1)`,
      key,
    );
  await client.query("insert into removed_addresses values ('org_c', 'bob@example.com', now())");
  await migrate(database, silentLog, (await readMigrations()).slice(0, 3));
  const persons = await client.query("select key_id, person from api_keys order by org_id, key_id");
  expect(Object.fromEntries(persons.rows.map(({ key_id, person }) => [key_id, person]))).toEqual({
    ...{ key_quick: "key_quick", key_quick2: "key_quick", key_made: "key_quick", key_grandchild: "key_quick" },
    ...{ key_cli: "command_line", key_of_cli: "command_line", key_of_user: "usr_1", key_alone: "usr_2" },
  });
  const solo = await client.query("select org_id from organizations where solo_ended_at is null");
  expect(solo.rows).toEqual([{ org_id: "org_a" }]);
  await client.end();
});
