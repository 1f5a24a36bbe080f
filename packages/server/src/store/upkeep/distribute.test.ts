/** Tests the calls to Citus, not their effects: see `citusStandIn`. */
import { beforeEach, expect, test } from "vitest";
import { citusSchema, citusStandIn } from "../../testing/database/citus-stand-in.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { openClient } from "../database/connection.ts";
import type { Session } from "../database/session.ts";
import { transactionSettings } from "../database/settings.ts";
import { distribute } from "./distribute.ts";
import { inspectDatabase } from "./inspect.ts";

const { connection } = await testDatabase();

async function withClient<T>(work: (client: Session) => Promise<T>): Promise<T> {
  const client = await openClient(connection, "test");
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const run = (text: string) => withClient(async (client) => (await client.query(text)).rows);
const callsOf = async () => (await run("select call from citus.calls order by n")).map(({ call }) => call as string);

async function told(): Promise<string[]> {
  const parts: string[] = [];
  await distribute(connection, (part) =>
    parts.push([part.what, part.name.replace(/\(.*/, ""), part.placement].join(" ")),
  );
  return parts;
}

beforeEach(() => run(citusSchema));

test("without Citus nothing is done, and the refusal says what to install", async () => {
  await expect(told()).rejects.toThrow(/^this database has no extension citus: install Citus on each server, /);
  expect((await inspectDatabase(connection)).citus).toBe(null);
});

test("a worker node is refused", async () => {
  await run(`${citusStandIn}; update citus.pg_dist_local_group set groupid = 3`);
  await expect(told()).rejects.toThrow("this server is a worker node of Citus: name the coordinator in DATABASE_URL");
  expect(await callsOf()).toEqual([]);
});

test("every table is placed as its key requires: with the head of its organization, or on each node", async () => {
  await run(citusStandIn);
  const tables = (await inspectDatabase(connection)).citus?.undistributed ?? [];
  const parts = await told();
  const calls = await callsOf();
  const functions = ["change_counted", "commit_decisions", "commit_decisions", "stale_counts"];
  expect(calls).toHaveLength(tables.length + functions.length);
  expect(calls).toEqual(
    expect.arrayContaining([
      "org_heads org_id hash default",
      "people org_id hash org_heads",
      "escalations org_id hash org_heads",
      "key_index everywhere",
      "person_index everywhere",
      "instance everywhere",
      "public.commit_decisions this_org org_heads",
      "change_counted this_org org_heads",
    ]),
  );
  expect(calls.join("\n")).not.toContain("schema_migrations");
  // Other tables are placed beside this one.
  const isDistributed = (call: string) => call.includes("org_id");
  expect(calls.find(isDistributed)).toBe("org_heads org_id hash default");
  expect(parts).toHaveLength(calls.length);
  expect(parts).toEqual(expect.arrayContaining(["table people by_organization", "table instance everywhere"]));
  expect(await run("select distinct scope from citus.calls")).toEqual([{ scope: "*" }]);
  expect((await inspectDatabase(connection)).citus).toEqual({ version: "", undistributed: [] });
});

test("a second run distributes only new tables, and continues an interrupted run", async () => {
  await run(citusStandIn);
  await told();
  await run("delete from citus.pg_dist_partition where logicalrelid = 'people'::regclass");
  expect((await inspectDatabase(connection)).citus?.undistributed).toEqual(["people"]);
  const functions = ["change_counted", "commit_decisions", "commit_decisions", "stale_counts"];
  expect(await told()).toEqual([
    "table people by_organization",
    ...functions.map((name) => `function ${name} by_organization`),
  ]);
});

test("a table with another placement is refused, and nothing is done", async () => {
  await run(`${citusStandIn}; insert into citus.pg_dist_partition values ('people', 'n', 't')`);
  await expect(told()).rejects.toThrow(
    "the table people has another distribution than the one it must have: run SELECT undistribute_table('people'), then this command again",
  );
  expect(await callsOf()).toEqual([]);
});

test("a table that Citus refuses is unchanged, and the error is passed on", async () => {
  await run(citusStandIn);
  await run(`create or replace function citus.create_reference_table(table_name regclass) returns void language plpgsql as $$ begin
    insert into citus.pg_dist_partition values (table_name, 'n', 't');
    raise 'no room';
  end $$`);
  await expect(told()).rejects.toThrow("no room");
  expect(await run("select from citus.pg_dist_partition")).toEqual([]);
});

test("with Citus, each transaction applies its settings on the nodes that hold the rows", async () => {
  expect(await withClient(async (client) => client.begin())).not.toContain("citus");
  const seen = {
    pid: 1,
    bypasses_rls: false,
    synchronous_commit: "on",
    idle_session_timeout: "0",
    transaction_timeout: null,
  };
  const [first] = Object.entries(transactionSettings({ ...seen, citus_propagates: "none" }));
  expect(first).toEqual(["citus.propagate_set_commands", "local"]);
});
