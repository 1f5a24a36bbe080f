import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { silentLog } from "../testing/silent-log.ts";
import { openClient } from "./connection.ts";
import { startEmbedded } from "./embedded-postgres/index.ts";
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
