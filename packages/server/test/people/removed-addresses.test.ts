/** Who was removed before there was a table of it. Source: migration 0013, decision 0017. */
import { expect, onTestFinished, test } from "vitest";
import { openDb } from "../../src/store/database/db.ts";
import { migrate, readMigrations } from "../../src/store/database/migrate.ts";
import { emptyDatabase } from "../../src/testing/database/database.ts";
import { silentLog } from "../../src/testing/nodes/silent-log.ts";

test("the migration takes them from the audit trail, but for those who are people of the organization again", async () => {
  const connection = await emptyDatabase();
  await migrate(connection, silentLog, (await readMigrations()).slice(0, 12));
  const db = openDb(connection, silentLog);
  onTestFinished(() => db.close());
  const removed = async (org_id: string, seq: number, email: string, type = "user_removed") => {
    const data = JSON.stringify({ user_id: `usr_${seq}`, email });
    const at = `2026-11-0${seq} 00:00:00+00`;
    await db.query("insert into audit values ($1, $2::bigint, $3, null, $4, 'key_1', $5::timestamptz, $6::json, 'x')", [
      org_id,
      seq,
      `aud_${seq}`,
      type,
      at,
      data,
    ]);
  };
  await removed("org_a", 1, "Ada@Example.com");
  await removed("org_a", 2, "ada@example.com");
  await removed("org_a", 3, "back@example.com");
  await removed("org_a", 4, "elsewhere@example.com");
  await removed("org_a", 5, "joined@example.com", "user_joined");
  await removed("org_b", 6, "ada@example.com");
  await db.query(
    "insert into person_index values ('back@example.com', 'org_a', 'usr_9'), ('elsewhere@example.com', 'org_b', 'usr_8')",
  );
  await migrate(connection, silentLog);
  expect(await db.query("select org_id, email, removed_at from removed_addresses order by 1, 2")).toEqual([
    { org_id: "org_a", email: "ada@example.com", removed_at: "2026-11-02T00:00:00.000000Z" },
    { org_id: "org_a", email: "elsewhere@example.com", removed_at: "2026-11-04T00:00:00.000000Z" },
    { org_id: "org_b", email: "ada@example.com", removed_at: "2026-11-06T00:00:00.000000Z" },
  ]);
});

test("a session of one organization sees and writes its own only", async () => {
  const connection = await emptyDatabase();
  await migrate(connection, silentLog);
  const db = openDb(connection, silentLog);
  onTestFinished(() => db.close());
  await db.query(
    "insert into removed_addresses values ('org_a', 'a@example.com', now()), ('org_b', 'b@example.com', now())",
  );
  expect(await db.tenant("org_a", (query) => query("select email from removed_addresses"))).toEqual([
    { email: "a@example.com" },
  ]);
  const foreign = "insert into removed_addresses values ('org_b', 'c@example.com', now())";
  await expect(db.tenant("org_a", (query) => query(foreign))).rejects.toThrow("row-level security");
});
