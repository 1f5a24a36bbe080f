/** Writes a dump of the whole database as plain SQL, and restores it. */

import { createHash } from "node:crypto";
import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { linesOf } from "@countersign/core";
import type { Log, Query } from "../../ports.ts";
import { type ConnectionOptions, openClient } from "../database/connection.ts";
import { migrate, readMigrations } from "../database/migrate.ts";
import { StartRefused } from "../database/start-refused.ts";

/** Tables with one row in a new database, which a dump replaces. All other tables must be empty. */
const seededTables = ["instance"];

/** Bytes of one FETCH, to limit memory. One row may be longer. */
const fetch_bytes = 1 << 20;
const fetch_rows_max = 1_000;

const firstLine = /^-- Countersign dump 1, schema (\d+ \(.*\)), taken ?(.*)$/;
/** The last line, with the SHA-256 of all lines before. */
const lastLine = /^-- end of dump, sha256 ([0-9a-f]{64})$/;

/** Our schema, which may not be `public`. */
const in_our_schema = "relnamespace = (select relnamespace from pg_class where oid = 'schema_migrations'::regclass)";

interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  readonly key: readonly string[];
}

/**
 * Writes all rows of one snapshot to `output`, which stays open.
 *
 * Restore with `psql -v ON_ERROR_STOP=1 -f FILE` or `restoreDump`, into an unused database that the same version has
 * migrated. Rows are INSERTs, because row-level security does not support COPY FROM. Sealed secrets need the master
 * key.
 */
export async function exportDump(connection: ConnectionOptions, output: Writable): Promise<{ rows: number }> {
  const count = { rows: 0 };
  // Pools close their sessions after a slow statement.
  const client = await openClient(connection, "countersign export");
  try {
    const settings = { "app.org": "*", idle_in_transaction_session_timeout: "0" };
    await client.query(client.begin(settings, "isolation level repeatable read, read only"));
    const text = withSum(dumpText(async (statement) => (await client.query(statement)).rows, count));
    await pipeline(Readable.from(text), output, { end: false }).catch(async (error: unknown) => {
      await text.return(undefined);
      throw error;
    });
    return count;
  } finally {
    await client.end();
  }
}

async function* withSum(text: AsyncGenerator<string>): AsyncGenerator<string> {
  const sum = createHash("sha256");
  for await (const piece of text) {
    sum.update(piece);
    yield piece;
  }
  yield `-- end of dump, sha256 ${sum.digest("hex")}\n`;
}

async function* dumpText(query: Query, count: { rows: number }): AsyncGenerator<string> {
  const [schema] = await query<{ version: number; name: string; at: string }>(
    "select version, name, to_char(now() at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') as at from schema_migrations order by version desc limit 1",
  );
  if (schema === undefined || schema.version === 0) throw new Error("the database has no schema yet");
  const tables = await readTables(query);
  yield `-- Countersign dump 1, schema ${schema.version} (${schema.name}), taken ${schema.at} UTC
-- Restore: psql -v ON_ERROR_STOP=1 -f THIS_FILE, into a database that this schema was migrated to and nobody has used
-- (DATABASE_URL=... countersign orgs list migrates a new one).
begin;
set local app.org = '*';
set local standard_conforming_strings = on;
set local client_encoding = 'UTF8';
set local timezone = 'UTC';
${guard(schema.version, tables)}
`;
  for (const table of tables) {
    yield `\n-- ${table.name}\n`;
    if (seededTables.includes(table.name)) yield `delete from ${quoteName(table.name)};\n`;
    yield* rowsText(query, table, count);
  }
  yield "\ncommit;\n";
}

const not_empty = "the database is not empty";

/** Returns one line that stops a restore into the wrong schema or over existing rows. */
function guard(version: number, tables: readonly Table[]): string {
  const empty = tables
    .filter(({ name }) => !seededTables.includes(name))
    .map(({ name }) => `exists (select from ${quoteName(name)})`);
  return [
    "do $$ begin",
    `if (select max(version) from schema_migrations) is distinct from ${version} then raise exception 'this dump is of schema ${version}: migrate an empty database to exactly that first'; end if;`,
    `if ${empty.join(" or ")} then raise exception '${not_empty}'; end if;`,
    "end $$;",
  ].join(" ");
}

async function readTables(query: Query): Promise<Table[]> {
  const tables = await query<Table & { parents: string[] }>(`
    select c.relname::text as name,
      array(select attname::text from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '' order by attnum) as columns,
      array(select a.attname::text from pg_index i cross join unnest(i.indkey) with ordinality k(attnum, place)
        join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum where i.indrelid = c.oid and i.indisprimary order by k.place) as key,
      array(select distinct confrelid::regclass::text from pg_constraint where conrelid = c.oid and contype = 'f' and confrelid <> c.oid) as parents
    from pg_class c
    where c.${in_our_schema} and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> 'schema_migrations'
    order by 1`);
  const ordered: typeof tables = [];
  for (let left = tables; left.length > 0; ) {
    const ready = left.filter(({ parents }) => parents.every((parent) => ordered.some(({ name }) => name === parent)));
    if (ready.length === 0) throw new Error(`foreign keys in a circle: ${left.map(({ name }) => name).join(", ")}`);
    ordered.push(...ready);
    left = left.filter((table) => !ready.includes(table));
  }
  return ordered;
}

async function* rowsText(query: Query, { name, columns, key }: Table, count: { rows: number }): AsyncGenerator<string> {
  const values = columns.map((column, i) => `${quoteName(column)}::text as c${i}`).join(", ");
  const order = key.length === 0 ? "" : ` order by ${key.map(quoteName).join(", ")}`;
  await query(`declare dump no scroll cursor for select ${values} from ${quoteName(name)}${order}`);
  const head = `insert into ${quoteName(name)} (${columns.map(quoteName).join(", ")}) values\n`;
  for (let size = 1; ; ) {
    const rows = await query<Record<string, string | null>>(`fetch ${size} from dump`);
    if (rows.length === 0) break;
    count.rows += rows.length;
    const text = `${head}${rows.map((row) => `(${columns.map((_, i) => quoteValue(row[`c${i}`] ?? null)).join(", ")})`).join(",\n")};\n`;
    yield text;
    // At most double, because long rows may follow short ones.
    size = Math.max(1, Math.min(fetch_rows_max, size * 2, Math.floor((fetch_bytes * rows.length) / text.length)));
  }
  await query("close dump");
}

function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Returns a literal without line breaks, so a line that ends in `;` ends a statement. */
function quoteValue(value: string | null): string {
  if (value === null) return "null";
  const quoted = value.replaceAll("'", "''");
  if (!/[\\\n\r]/.test(value)) return `'${quoted}'`;
  return `E'${quoted.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\r", "\\r")}'`;
}

/**
 * Migrates an empty database and inserts the dump. Returns the time of the dump. Throws `StartRefused`, and keeps no
 * row, if the dump is damaged or has another schema, or if the database is not empty.
 */
export async function restoreDump(connection: ConnectionOptions, input: Readable, log: Log): Promise<string> {
  const lines = dumpLines(input);
  const [, schema, taken = ""] = firstLine.exec((await lines.next()).value ?? "") ?? [];
  const newest = (await readMigrations()).at(-1);
  const known = `${newest?.version} (${newest?.name})`;
  if (schema === undefined)
    throw new StartRefused("this file is not a Countersign dump: use a file that `countersign export` wrote");
  if (schema !== known) {
    throw new StartRefused(
      `this dump is of schema ${schema}, and this version knows ${known}: restore it with the version that wrote it, and upgrade that database`,
    );
  }
  await migrate(connection, log);
  await restoreRows(connection, lines);
  await gatherStatistics(connection);
  return taken;
}

/** Without statistics, PostgreSQL sorts a whole history for each page, until autovacuum gathers them. */
async function gatherStatistics(connection: ConnectionOptions): Promise<void> {
  const client = await openClient(connection, "countersign restore");
  try {
    const { rows } = await client.query(
      `select string_agg(oid::regclass::text, ', ') as tables from pg_class
       where ${in_our_schema} and relkind in ('r', 'p')`,
    );
    await client.query(`analyze ${rows[0].tables}`);
  } finally {
    await client.end();
  }
}

async function* dumpLines(input: Readable): AsyncGenerator<string> {
  const sum = createHash("sha256");
  try {
    for await (const line of linesOf(input)) {
      const written = lastLine.exec(line)?.[1];
      if (written !== undefined && written !== sum.copy().digest("hex"))
        throw new StartRefused("this dump was changed or damaged since it was written: nothing was restored");
      sum.update(`${line}\n`);
      yield line;
    }
  } catch (error) {
    if (error instanceof StartRefused) throw error;
    throw new StartRefused(`this dump cannot be read to its end (${(error as Error).message}): nothing was restored`);
  }
}

async function restoreRows(connection: ConnectionOptions, lines: AsyncIterator<string>): Promise<void> {
  const client = await openClient(connection, "countersign restore");
  let read = 1;
  const next = () => {
    read += 1;
    return lines.next();
  };
  const restoreStatement = (statement: string) =>
    client.query(statement).catch(({ message }: Error) => {
      if (message.startsWith("this dump is of")) throw new StartRefused(message);
      if (message === not_empty)
        throw new StartRefused(
          `${message}, and nothing was restored: name a new data directory with COUNTERSIGN_DATA_DIR, or a new database with DATABASE_URL`,
        );
      throw new StartRefused(
        `the database refuses the statement that ends in line ${read} of this dump (${message}): nothing was restored`,
      );
    });
  try {
    // The dump's own `begin` may be missing.
    await client.query(client.begin({ idle_in_transaction_session_timeout: "0" }));
    let statement = "";
    for (let line = await next(); ; line = await next()) {
      // The commit is not the last line. Without the last line, the file may be cut.
      if (line.done) throw new StartRefused("this dump is cut off: nothing was restored");
      if (statement === "" && (["", "begin;"].includes(line.value) || line.value.startsWith("--"))) continue;
      statement += `${line.value}\n`;
      if (statement === "commit;\n") break;
      if (!line.value.endsWith(";")) continue;
      await restoreStatement(statement);
      statement = "";
    }
    if (!lastLine.test((await next()).value ?? ""))
      throw new StartRefused("this dump is cut off: nothing was restored");
    // Only the end of a compressed file proves that it is undamaged.
    if (!(await next()).done) throw new StartRefused("there is text after the end of this dump: nothing was restored");
    await client.query("commit");
  } finally {
    await client.end();
  }
}
