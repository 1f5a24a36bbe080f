import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline, Readable, Writable } from "node:stream";
import { createGunzip, gzipSync } from "node:zlib";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { emptyDatabase, type TestDatabase, testDatabase } from "../../testing/database/database.ts";
import { waitingFor } from "../../testing/meanwhile.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { type ConnectionOptions, openClient } from "../database/connection.ts";
import { type Database, openDb } from "../database/db.ts";
import { readMigrations } from "../database/migrate.ts";
import { StartRefused } from "../database/start-refused.ts";
import { exportDump, restoreDump } from "./export.ts";

const nasty = `quote ' "double" back\\slash \\n line\nbreak\r\ntab\t $$ -- no comment; ends here;\n);\n${"é😀\u202e\u2028\u2029".repeat(3)}`;
/** Without psql the test is skipped. */
const psql = "psql";
/** A database with many rows, one longer than one fetch. */
let source: Database;
let from: ConnectionOptions;
/** A database with the same kinds of rows, but few and short. */
let short: { readonly db: Database; readonly text: string };

beforeAll(async () => {
  ({ db: source, connection: from } = await filled(2_500, 3 << 20));
  const { db, connection } = await filled(20, 3_000);
  short = { db, text: await dumpOf(connection) };
});

async function filled(ledger_rows: number, intake_chars: number) {
  const { db, connection } = await testDatabase();
  await db.query("update instance set key_ever_created = true");
  await db.query(
    "insert into organizations values ('org_a', $1, null, '', 'unlimited', 9007199254740993, '2026-11-21 01:02:03.000004+00')",
    [nasty],
  );
  await db.query(
    "insert into organizations values ('org_b', 'B', 'b@example.com', $1, 'unlimited', null, '1999-12-31 23:59:59.999999+00')",
    ["\\"],
  );
  await db.query(
    `insert into ledger (org_id, seq, entry, at, type, actor, audit_id, data, data_salt, hash)
     select 'org_a', n, n - 1, now(), 'key_created', 'key_1', 'aud_' || n, '{"a" :  1.0,"b":"\\\\u00e9"}',
       decode(lpad(to_hex(n), 32, '0'), 'hex'), decode(lpad(to_hex(n), 8, '0'), 'hex')
     from generate_series(1, $1::integer) n`,
    [ledger_rows],
  );
  await db.query("insert into removed_addresses values ('org_a', $1, now())", [nasty]);
  await db.query("insert into onboarding_intakes values ('ink_1', null, to_json($1::text), '{}', now())", [
    "x".repeat(intake_chars),
  ]);
  return { db, connection };
}

function collector(onPiece: () => Promise<void> = async () => undefined) {
  const pieces: string[] = [];
  const output = new Writable({
    decodeStrings: false,
    write: (piece: string, _encoding, done) => {
      pieces.push(piece);
      onPiece().then(() => done(), done);
    },
  });
  return { output, pieces };
}

async function contents(db: Database): Promise<Record<string, unknown>> {
  const tables = await db.query<{ name: string }>(
    "select relname::text as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'schema_migrations' order by 1",
  );
  const all: Record<string, unknown> = {};
  for (const { name } of tables)
    all[name] = (await db.query(`select t::text as row from ${name} t order by 1`)).map((row) => row["row"]);
  return all;
}

function opened(connection: ConnectionOptions): Database {
  const db = openDb(connection, silentLog);
  onTestFinished(() => db.close());
  return db;
}

async function dumpOf(connection: ConnectionOptions): Promise<string> {
  const { output, pieces } = collector();
  await exportDump(connection, output);
  return pieces.join("");
}

describe("a dump", () => {
  test("restored into an empty database returns every row of every table byte for byte, and gathers statistics", async () => {
    const target = await emptyDatabase();
    await restoreDump(target, Readable.from([await dumpOf(from)]), silentLog);
    const restored = opened(target);
    expect(await contents(restored)).toEqual(await contents(source));
    const known = await restored.query<{ rows: number }>(
      "select reltuples::integer as rows from pg_class where oid in ('ledger'::regclass, 'events'::regclass) order by relname",
    );
    expect(known).toEqual([{ rows: 0 }, { rows: 2500 }]);
  });

  test("restored into a schema with another name has every row, and so does a dump of that schema", async () => {
    const target = await emptyDatabase();
    const owner = await openClient(target, "owner");
    await owner.query("create schema ours");
    await owner.query(
      "do $$ begin execute format('alter database %I set search_path = ours', current_database()); end $$",
    );
    await owner.end();
    await restoreDump(target, Readable.from([short.text]), silentLog);
    const rowsOf = (dumped: string) => dumped.split("\n").slice(1, -2).join("\n");
    expect(rowsOf(await dumpOf(target))).toBe(rowsOf(short.text));
    expect(await opened(target).query("select count(*)::integer as n from ours.ledger")).toEqual([{ n: 20 }]);
  });

  test("is restored by psql, too", async ({ skip }) => {
    try {
      execFileSync(psql, ["--version"]);
    } catch {
      skip("psql is not installed");
    }
    const dir = await mkdtemp(join(tmpdir(), "dump-"));
    onTestFinished(() => rm(dir, { recursive: true }));
    await writeFile(join(dir, "dump.sql"), short.text);
    const { connection: target, db } = await testDatabase();
    const where =
      "host" in target
        ? ["-h", target.host, "-U", target.user, "-d", target.database]
        : ["-d", target.connectionString];
    execFileSync(psql, [...where, "-q", "-v", "ON_ERROR_STOP=1", "-f", join(dir, "dump.sql")]);
    expect(await contents(db)).toEqual(await contents(short.db));
  });

  test("is a snapshot: commits while it is being written are not in it", async () => {
    let written = false;
    const { output, pieces } = collector(async () => {
      if (!written) await source.query("insert into usage_periods values ('org_a', '2026-11', 5)");
      written = true;
    });
    await exportDump(from, output);
    await source.query("delete from usage_periods");
    expect(pieces.join("")).toContain("-- usage_periods");
    expect(pieces.join("")).not.toContain('insert into "usage_periods"');
  });

  test("is written in pieces of about a megabyte, for any number of rows, and counts the rows", async () => {
    const { output, pieces } = collector();
    expect(await exportDump(from, output)).toEqual({ rows: 2 + 1 + 2500 + 1 + 1 });
    const long = pieces.filter((piece) => piece.length > 2 << 20);
    expect(long).toHaveLength(1);
    expect(long[0]).toMatch(/^insert into "onboarding_intakes"/);
  });

  test("waits for the database without a time limit", async () => {
    const owner = await openClient(from, "owner");
    onTestFinished(() => owner.end());
    await owner.query("begin; lock table ledger in access exclusive mode");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const dumped = exportDump(from, collector().output);
    await expect.poll(async () => (await owner.query(waitingFor("ledger"))).rowCount).toBe(1);
    await vi.advanceTimersByTimeAsync(3_600_000);
    await owner.query("rollback");
    expect((await dumped).rows).toBeGreaterThan(2500);
  });

  test("ends when its reader goes away, with that reader's error", async () => {
    const output = new Writable({ write: (_piece, _encoding, done) => done(new Error("EPIPE")) });
    await expect(exportDump(from, output)).rejects.toThrow("EPIPE");
    expect(await source.query("select 1 as one")).toEqual([{ one: 1 }]);
  });

  test("ends with the output's error even if it looks like a lost session's, and closes the session", async () => {
    const broken = Object.assign(new Error("write EPIPE"), { code: "EPIPE", syscall: "write" });
    const output = () => new Writable({ write: (_text, _encoding, done) => void setImmediate(done, broken) });
    for (let round = 0; round < 3; round += 1) await expect(exportDump(from, output())).rejects.toBe(broken);
    expect(
      await source.query(
        "select count(*)::integer as left from pg_stat_activity where application_name = 'countersign export' and datname = current_database()",
      ),
    ).toEqual([{ left: 0 }]);
  });
});

describe("restoring", () => {
  /** The target of refused dumps, which stays empty. */
  let empty: TestDatabase;
  beforeAll(async () => {
    empty = await testDatabase();
  });
  test("says that the file cannot be read to its end, with any compression", async () => {
    const packed = gzipSync(short.text);
    for (const kept of [packed.length - 1, packed.length >> 1]) {
      const input = createGunzip();
      pipeline(Readable.from([packed.subarray(0, kept)]), input, () => undefined);
      await expect(restoreDump(empty.connection, input, silentLog)).rejects.toThrow(
        /cannot be read to its end .*: nothing was/,
      );
    }
    expect(await rowsOf(empty.db)).toEqual([{ n: 0 }]);
  });

  const rowsOf = (db: Database) => db.query("select count(*) as n from organizations");

  test("refuses a database that has rows, and changes nothing in it", async () => {
    const { connection, db } = await testDatabase();
    await db.query("insert into organizations values ('org_c', 'C', null, '', 'unlimited', null, now())");
    const refused = restoreDump(connection, Readable.from([short.text]), silentLog);
    await expect(refused).rejects.toThrow(StartRefused);
    await expect(refused).rejects.toThrow("the database is not empty");
    expect(await rowsOf(db)).toEqual([{ n: 1 }]);
  });

  test("refuses a dump that is cut off anywhere, and keeps no part of it", async () => {
    const { text } = short;
    const { connection, db } = empty;
    for (const length of [
      text.length - 2,
      text.lastIndexOf("-- end of dump"),
      text.length - 30,
      Math.floor(text.length / 2),
      700,
    ]) {
      await expect(restoreDump(connection, Readable.from([text.slice(0, length)]), silentLog)).rejects.toThrow(
        "this dump is cut off",
      );
    }
    expect(await rowsOf(db)).toEqual([{ n: 0 }]);
  });

  test("refuses a dump that was changed or damaged on its way, and keeps no part of it", async () => {
    const { text } = short;
    const { connection, db } = empty;
    const lines = text.split("\n");
    const lost = lines.findIndex((line) => line.includes("'aud_9'"));
    const damaged = [
      text.replace("unlimited", "unlimitee"),
      text.replaceAll("é", "\ufffd"),
      lines.toSpliced(lost, 1).join("\n"),
      text.replace("begin;\n", ""),
    ];
    for (const each of damaged)
      await expect(restoreDump(connection, Readable.from([each]), silentLog)).rejects.toThrow(
        "this dump was changed or damaged since it was written: nothing was restored",
      );
    expect(await rowsOf(db)).toEqual([{ n: 0 }]);
  });

  test("accepts a dump with the line ends of Windows", async () => {
    const { connection, db } = await testDatabase();
    await restoreDump(connection, Readable.from([short.text.replaceAll("\n", "\r\n")]), silentLog);
    expect(await contents(db)).toEqual(await contents(short.db));
  });

  test("names the line that the database refuses", async () => {
    const { text } = short;
    const { connection, db } = empty;
    const lines = text.split("\n");
    const line = lines.findIndex((each) => each.includes("'org_b'"));
    const wrong = lines.toSpliced(line, 1, (lines[line] as string).replace("1999-12-31", "1999-13-31"));
    const refused = restoreDump(connection, Readable.from([wrong.join("\n")]), silentLog);
    await expect(refused).rejects.toThrow(StartRefused);
    await expect(refused).rejects.toThrow(
      `the database refuses the statement that ends in line ${line + 1} of this dump (date/time field value out of range: "1999-13-31 23:59:59.999999+00"): nothing was restored`,
    );
    expect(await rowsOf(db)).toEqual([{ n: 0 }]);
  });

  test("refuses a database whose schema is newer than the dump's", async () => {
    const { connection, db } = await testDatabase();
    const version = (await readMigrations()).length;
    await db.query("insert into schema_migrations values ($1, '9999-later', '', false, clock_timestamp())", [
      version + 1,
    ]);
    await expect(restoreDump(connection, Readable.from([short.text]), silentLog)).rejects.toThrow(
      `this dump is of schema ${version}: migrate an empty database to exactly that first`,
    );
  });

  test("refuses a file that is not a dump, and a dump of another schema", async () => {
    const { connection } = empty;
    await expect(restoreDump(connection, Readable.from(["drop table ledger;\n"]), silentLog)).rejects.toThrow(
      "this file is not a Countersign dump",
    );
    const newest = (await readMigrations()).at(-1);
    const known = `${newest?.version} (${newest?.name})`;
    for (const schema of ["33 (0033-rules-off)", "1 (0001-main-road)", "9 (0009-later)"]) {
      const other = Readable.from([`-- Countersign dump 1, schema ${schema}, taken\n`]);
      const refusal = `this dump is of schema ${schema}, and this version knows ${known}: restore it with the version that wrote it, and upgrade that database`;
      await expect(restoreDump(connection, other, silentLog)).rejects.toThrow(new StartRefused(refusal));
    }
  });
});
