import { expect, test } from "vitest";
import { madeDir, started } from "../../testing/database/embedded.ts";
import { openClient } from "../database/connection.ts";
import { inspectDatabase } from "./inspect.ts";

const serverWith = async (settings: Readonly<Record<string, string>>) =>
  started({ data_dir: await madeDir(), settings });

test.each([
  { off: ["fsync"], unsafe: ["fsync"], unvacuumed: [] },
  {
    off: ["fsync", "full_page_writes", "autovacuum", "track_counts"],
    unsafe: ["fsync", "full_page_writes"],
    unvacuumed: ["autovacuum", "track_counts"],
  },
])("a setting that is off and must be on is reported: $off", async ({ off, ...expected }) => {
  const { connection } = await serverWith(Object.fromEntries(off.map((name) => [name, "off"])));
  const { unsafe, unvacuumed } = await inspectDatabase(connection);
  expect({ unsafe, unvacuumed }).toEqual(expected);
});

test("by default no setting is wrongly off, and the session limit is the server's without reserved ones, or the database's", async () => {
  const server = await serverWith({ max_connections: "40", superuser_reserved_connections: "4" });
  expect(await inspectDatabase(server.connection)).toMatchObject({ unsafe: [], unvacuumed: [] });
  const sessions = async () => (await inspectDatabase(server.connection)).sessions_max;
  expect(await sessions()).toBe(36);
  const client = await openClient(server.connection, "test");
  await client.query("do $$ begin execute format('alter database %I connection limit 30', current_database()); end $$");
  expect(await sessions()).toBe(30);
  await client.end();
});

test("open transactions that prevent vacuuming are reported, the longest open first", async () => {
  const server = await serverWith({ max_prepared_transactions: "1" });
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
