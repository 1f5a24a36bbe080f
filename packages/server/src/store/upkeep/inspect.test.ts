import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { openClient } from "../database/connection.ts";
import { startEmbedded } from "../embedded-postgres/index.ts";
import { inspectDatabase } from "./inspect.ts";

/** What is said of a server of our own with these settings. */
async function inspect(settings: Readonly<Record<string, string>>) {
  const data_dir = await mkdtemp(join(tmpdir(), "countersign-inspect-"));
  const server = await startEmbedded({ data_dir, settings }, silentLog);
  onTestFinished(() => server.stop().then(() => rm(data_dir, { recursive: true, force: true })));
  return inspectDatabase(server.connection);
}

test.each([
  { off: [], unsafe: [], unvacuumed: [] },
  { off: ["fsync"], unsafe: ["fsync"], unvacuumed: [] },
  {
    off: ["fsync", "full_page_writes", "autovacuum", "track_counts"],
    unsafe: ["fsync", "full_page_writes"],
    unvacuumed: ["autovacuum", "track_counts"],
  },
])("what is off and must not be is named: $off", async ({ off, ...expected }) => {
  const { unsafe, unvacuumed } = await inspect(Object.fromEntries(off.map((name) => [name, "off"])));
  expect({ unsafe, unvacuumed }).toEqual(expected);
});

test("so many sessions may be open as the server lets in beside those it keeps for others, or as the database does", async () => {
  const data_dir = await mkdtemp(join(tmpdir(), "countersign-inspect-"));
  const settings = { max_connections: "40", superuser_reserved_connections: "4" };
  const server = await startEmbedded({ data_dir, settings }, silentLog);
  onTestFinished(() => server.stop().then(() => rm(data_dir, { recursive: true, force: true })));
  const sessions = async () => (await inspectDatabase(server.connection)).sessions_max;
  expect(await sessions()).toBe(36);
  const client = await openClient(server.connection, "test");
  await client.query("do $$ begin execute format('alter database %I connection limit 30', current_database()); end $$");
  expect(await sessions()).toBe(30);
  await client.end();
});

test("transactions are told for which the server keeps what was changed since, the longest open first", async () => {
  const data_dir = await mkdtemp(join(tmpdir(), "countersign-inspect-"));
  const server = await startEmbedded({ data_dir, settings: { max_prepared_transactions: "1" } }, silentLog);
  onTestFinished(() => server.stop().then(() => rm(data_dir, { recursive: true, force: true })));
  const transactions = async () => (await inspectDatabase(server.connection)).transactions;
  expect(await transactions()).toEqual([]);
  const client = async (name: string, ...statements: string[]) => {
    const opened = await openClient(server.connection, name);
    for (const statement of statements) await opened.query(statement);
    return opened;
  };
  const open = [
    await client("a dump", "begin isolation level repeatable read", "select from pg_class"),
    await client("a writer", "begin", "create table t ()"),
    await client("a reader", "begin", "select from pg_class"),
    await client("two phases", "begin", "create table u ()", "prepare transaction 'left'"),
  ];
  const told = await transactions();
  expect(told.map(({ who }) => who)).toEqual([
    expect.stringMatching(/^session \d+ \(a dump, idle in transaction\)$/),
    expect.stringMatching(/^session \d+ \(a writer, idle in transaction\)$/),
    "prepared transaction left",
  ]);
  for (const { open_s } of told) expect(open_s).toBeGreaterThan(0);
  await open[3]?.query("rollback prepared 'left'");
  for (const each of open) await each.end();
  await expect.poll(transactions).toEqual([]);
});
