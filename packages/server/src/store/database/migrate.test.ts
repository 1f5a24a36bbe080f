import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { emptyDatabase, testDatabase } from "../../testing/database/database.ts";
import { schemaText } from "../../testing/database/schema-text.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { type ConnectionOptions, openClient } from "./connection.ts";
import { openDb } from "./db.ts";
import { migrate, readMigrations } from "./migrate.ts";
import { StartRefused } from "./start-refused.ts";

async function filesOf(texts: Record<string, string>) {
  const dir = await mkdtemp(join(tmpdir(), "migrations-"));
  onTestFinished(() => rm(dir, { recursive: true }));
  for (const [name, text] of Object.entries(texts)) await writeFile(join(dir, name), text);
  return readMigrations(dir);
}

async function rows(connection: ConnectionOptions, sql: string): Promise<unknown[]> {
  const client = await openClient(connection, "test");
  const result = await client.query(sql);
  await client.end();
  return result.rows;
}

const one = { "0001-first.sql": "create table first (n int);\ninsert into first values (1);" };
const two = { ...one, "0002-second.sql": "alter table first add m int;\nupdate first set m = 2;" };

describe("migrate", () => {
  test("brings an empty database to the schema of the files, in order, each once", async () => {
    const database = await emptyDatabase();
    const files = await filesOf(two);
    expect(await migrate(database, silentLog, files)).toBe(2);
    expect(await migrate(database, silentLog, files)).toBe(2);
    expect(await rows(database, "select n, m from first")).toEqual([{ n: 1, m: 2 }]);
    expect(
      await rows(database, "select version, name, sha256 from schema_migrations where version > 0 order by 1"),
    ).toEqual(files.map(({ version, name, sha256 }) => ({ version, name, sha256 })));
  });

  test("is safe when 20 processes start at once on an empty database", async () => {
    const database = await emptyDatabase();
    const files = await filesOf(two);
    expect(await Promise.all(Array.from({ length: 20 }, () => migrate(database, silentLog, files)))).toEqual(
      Array(20).fill(2),
    );
    expect(await rows(database, "select n, m from first")).toEqual([{ n: 1, m: 2 }]);
  });

  test("logs that it waits for the holder of the lock, and continues when the lock is free", async () => {
    const database = await emptyDatabase();
    const files = await filesOf(one);
    await migrate(database, silentLog, files);
    const holder = await openClient(database, "test");
    await holder.query("begin; select from schema_migrations where version = 0 for update");
    const told: unknown[] = [];
    const migrating = migrate(
      database,
      { ...silentLog, warn: (_: object, text: string) => void told.push(text) },
      files,
    );
    await expect.poll(() => told).toEqual([expect.stringMatching(/^another session holds the lock/)]);
    await holder.end();
    expect(await migrating).toBe(1);
  });

  test("logs a slow migration again and again while it runs", async () => {
    const database = await emptyDatabase();
    await migrate(database, silentLog, await filesOf(one));
    const holder = await openClient(database, "test");
    await holder.query("begin; lock table first");
    const told: unknown[] = [];
    const log = { ...silentLog, warn: (fields: object, text: string) => void told.push({ ...fields, text }) };
    const migrating = migrate(database, log, await filesOf(two));
    const of_it = { migration: "0002-second", text: expect.stringMatching(/^a migration is still running: /) };
    await expect.poll(() => told, { timeout: 30_000 }).toEqual([of_it, of_it]);
    await holder.end();
    expect(await migrating).toBe(2);
    expect(told).toEqual([of_it, of_it]);
  });

  test("succeeds although it locks tables in another order than concurrent decisions", async () => {
    const database = await emptyDatabase();
    const tables = "create table org_heads (n int); create table one (n int); create table two (n int);";
    const slow = "create index on one (n);\nselect pg_sleep(1.2);\ncreate index on two (n);";
    await migrate(database, silentLog, await filesOf({ "0001-first.sql": tables }));
    const writer = await openClient(database, "test");
    onTestFinished(() => writer.end());
    let done = false;
    const deciding = (async () => {
      while (!done) {
        await writer.query(
          "begin; select from org_heads for update; insert into two values (1); select pg_sleep(0.05)",
        );
        await writer.query("insert into one values (1); commit");
      }
    })();
    const again: unknown[] = [];
    const log = { ...silentLog, warn: (_: object, text: string) => void again.push(text) };
    const files = await filesOf({ "0001-first.sql": tables, "0002-slow.sql": slow });
    expect(await migrate(database, log, files).finally(() => (done = true))).toBe(2);
    await deciding;
    expect(again.filter((text) => !String(text).includes("is still running"))).toEqual([
      expect.stringMatching(/conflicted with other nodes' work/),
    ]);
  });

  test("rolls back a failed migration and keeps those before it", async () => {
    const database = await emptyDatabase();
    const broken = await filesOf({ ...one, "0002-broken.sql": "create table half (n int);\nselect 1 / 0;" });
    await expect(migrate(database, silentLog, broken)).rejects.toThrow("division by zero");
    expect(
      await rows(
        database,
        "select to_regclass('half') as half, (select max(version) from schema_migrations) as version",
      ),
    ).toEqual([{ half: null, version: 1 }]);
    expect(await migrate(database, silentLog, await filesOf(two))).toBe(2);
  });

  test("refuses a database whose applied file has other contents here", async () => {
    const database = await emptyDatabase();
    await migrate(database, silentLog, await filesOf(one));
    const edited = await filesOf({ "0001-first.sql": "create table first (n bigint);" });
    const refused = migrate(database, silentLog, edited);
    await expect(refused).rejects.toThrow(StartRefused);
    await expect(refused).rejects.toThrow(/0001-first was applied to this database with other contents/);
  });

  test("an older program refuses a newer breaking schema and says what to do", async () => {
    const database = await emptyDatabase();
    await migrate(
      database,
      silentLog,
      await filesOf({ ...one, "0002-split.sql": "-- breaking: the column is gone\nalter table first rename n to k;" }),
    );
    const refused = migrate(database, silentLog, await filesOf(one));
    await expect(refused).rejects.toThrow(StartRefused);
    await expect(refused).rejects.toThrow(
      /newer Countersign .*0002-split.*start that version or newer, or restore a dump/,
    );
  });

  test("an older program runs on a newer compatible schema", async () => {
    const database = await emptyDatabase();
    await migrate(database, silentLog, await filesOf(two));
    expect(await migrate(database, silentLog, await filesOf(one))).toBe(1);
  });

  test("says in one line what the database's owner must grant", async () => {
    const database = await emptyDatabase();
    const files = await filesOf({ "0001-first.sql": "do $$ begin raise insufficient_privilege; end $$;" });
    const refused = migrate(database, silentLog, files);
    await expect(refused).rejects.toThrow(StartRefused);
    await expect(refused).rejects.toThrow(
      /\(insufficient_privilege\): make the role of DATABASE_URL the owner of the database/,
    );
  });

  test("names the owner of tables that a restore gave to another role, and how to restore them", async ({ skip }) => {
    const database = await emptyDatabase();
    if ("connectionString" in database) return skip("roles are made on the embedded server only");
    const owner = { ...database, user: "postgres" };
    await migrate(owner, silentLog, await filesOf(one));
    const refused = migrate(database, silentLog, await filesOf(two));
    await expect(refused).rejects.toThrow(StartRefused);
    await expect(refused).rejects.toThrow(/: its tables belong to the role postgres, .*pg_restore --no-owner/);
  });

  test("says what to grant if the sessions of a role with BYPASSRLS cannot step down", async ({ skip }) => {
    const database = await emptyDatabase();
    if ("connectionString" in database) return skip("roles are made on the embedded server only");
    const bypassing = { ...database, user: "bypassing" };
    const operator = await openClient({ ...database, user: "postgres" }, "operator");
    const given = (user: string) => operator.query(`alter database ${database.database} owner to ${user}`);
    await operator.query("create role bypassing login bypassrls");
    await given("bypassing");
    onTestFinished(async () => {
      await operator.query("drop owned by bypassing");
      await given(database.user);
      await operator.query("drop role bypassing");
      await operator.end();
    });
    await operator.query(`do $$ begin
      if to_regrole('countersign_app') is null then create role countersign_app nologin; end if;
    end $$`);
    const refused = migrate(bypassing, silentLog);
    await expect(refused).rejects.toThrow(StartRefused);
    await expect(refused).rejects.toThrow(/set role "countersign_app"\): .* or the role countersign_app granted$/);
    await operator.query("grant countersign_app to bypassing");
    await migrate(bypassing, silentLog);
    const db = openDb(bypassing, silentLog);
    expect(await db.query("select current_user::text as user")).toEqual([{ user: "countersign_app" }]);
    await db.close();
  });

  test("accepts the line ends of any checkout", async () => {
    const [unix] = await filesOf(two);
    const [windows] = await filesOf({ "0001-first.sql": two["0001-first.sql"].replaceAll("\n", "\r\n") });
    expect(windows?.sha256).toBe(unix?.sha256);
  });
});

describe("the files", () => {
  test("must be numbered without a gap", async () => {
    await expect(filesOf({ "0001-a.sql": "", "0003-c.sql": "" })).rejects.toThrow(
      "migrations/0003-c.sql: expected number 0002",
    );
  });

  test("make exactly the schema of migrations/schema.golden.txt (write it with vitest -u)", async () => {
    const { db } = await testDatabase();
    await expect(await db.system(schemaText)).toMatchFileSnapshot("../../../migrations/schema.golden.txt");
  });
});
