/** Migration 0014: events that an older version dispatched and kept. */
import { expect, onTestFinished, test } from "vitest";
import { openDb } from "../../src/store/database/db.ts";
import { migrate, readMigrations } from "../../src/store/database/migrate.ts";
import { emptyDatabase } from "../../src/testing/database/database.ts";
import { silentLog } from "../../src/testing/nodes/silent-log.ts";

test("the migration deletes what was dispatched, so that nobody is told again, and keeps what was not", async () => {
  const connection = await emptyDatabase();
  const migrations = await readMigrations();
  await migrate(connection, silentLog, migrations.slice(0, 13));
  const db = openDb(connection, silentLog);
  onTestFinished(() => db.close());
  for (const org_id of ["org_a", "org_b"])
    await db.query(
      `insert into events (org_id, event_id, event_type, body, created_at, dispatched_at)
       values ($1, 'evt_1', 'decision.blocked', '{}', now(), now()), ($1, 'evt_2', 'decision.blocked', '{}', now(), null)`,
      [org_id],
    );
  await migrate(connection, silentLog);
  expect(await db.query("select org_id, event_id from events order by 1")).toEqual([
    { org_id: "org_a", event_id: "evt_2" },
    { org_id: "org_b", event_id: "evt_2" },
  ]);
  // A program that would mark events refuses to run here.
  await expect(migrate(connection, silentLog, migrations.slice(0, 13))).rejects.toThrow(/newer/);
});
