import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createClock } from "../../packages/server/src/edge/clock.ts";
import { createIds } from "../../packages/server/src/edge/ids.ts";
import { timers } from "../../packages/server/src/edge/timers.ts";
import { connectCommit, createCommitWriter } from "../../packages/server/src/store/commit/commit-writer.ts";
import { type ConnectionOptions, openClient } from "../../packages/server/src/store/database/connection.ts";
import { type Database, openDb } from "../../packages/server/src/store/database/db.ts";
import { createHead } from "../../packages/server/src/store/organizations/heads.ts";
import { databaseUrl, testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { commitAll, decisionRows } from "../../packages/server/src/testing/database/decision-rows.ts";
import { silentLog } from "../../packages/server/src/testing/nodes/silent-log.ts";

const clock = createClock();
const ids = createIds(clock);
const organizations = ["org_a", "org_b"];
const processOf = "select pg_backend_pid() as pid";
const orgs = "select org_id from usage_periods order by 1";

let connection: ConnectionOptions;
let nodes: readonly Database[];

beforeAll(async () => {
  const made = await testDatabase();
  connection = made.connection;
  const other = openDb(connection, silentLog, { acquire_timeout_ms: 60_000 });
  nodes = [made.db, other];
  for (const org_id of organizations)
    await made.db.query("insert into usage_periods values ($1, '2026-11', 1)", [org_id]);
  return () => other.close();
});

async function work(rounds: number): Promise<unknown[]> {
  const queued = { name: "sum", text: "select $1::int + 1 as sum, pg_backend_pid() as pid" };
  return Promise.all(
    Array.from({ length: rounds }, (_, n) =>
      nodes.flatMap((db) => [
        db.tenant("org_a", (query) => query(processOf)),
        db.system((query) => query(processOf)),
        db.queued(queued, [n]),
        db.named({ ...queued, name: "named" }, [n]),
      ]),
    ).flat(),
  );
}

test("it is detected, and its few server sessions do the work of many of ours", async () => {
  const client = await openClient(connection, "test");
  onTestFinished(() => client.end());
  expect(client.pooled).toBe(true);
  const pids = (await work(25)).flat().map((row) => (row as { pid: number }).pid);
  expect(pids).toHaveLength(200);
  expect(new Set(pids).size).toBeLessThan(nodes.reduce((sum, db) => sum + db.stats().total, 0));
});

test("each transaction sees its own organization only, whatever the session did before", async () => {
  const seen = await Promise.all(
    Array.from({ length: 100 }, (_, n) => {
      const org_id = organizations[n % 2] as string;
      const db = nodes[n % nodes.length] as Database;
      return n % 5 === 0
        ? db.query(orgs).then((rows) => rows.length === 2)
        : db.tenant(org_id, (query) => query(orgs)).then((rows) => rows.length === 1 && rows[0]?.["org_id"] === org_id);
    }),
  );
  expect(seen).toEqual(seen.map(() => true));
});

test("nothing is left in a session for its next user", async () => {
  await work(10);
  const client = await openClient(connection, "test");
  onTestFinished(() => client.end());
  const settings = [
    "app.org",
    "role",
    "statement_timeout",
    "plan_cache_mode",
    "enable_seqscan",
    "synchronous_commit",
    "jit",
  ];
  for (let n = 0; n < 10; n++) {
    const { rows } = await client.query("select name from pg_settings where source = 'session' and name = any($1)", [
      settings,
    ]);
    expect(rows).toEqual([]);
    expect((await client.query("select nullif(current_setting('app.org', true), '') as scope")).rows).toEqual([
      { scope: null },
    ]);
    expect((await client.query("select name from pg_prepared_statements where name <> ''")).rows).toEqual([]);
  }
});

function past(through: ConnectionOptions): ConnectionOptions {
  const server = new URL(process.env["DATABASE_URL"] ?? "");
  server.pathname = new URL(databaseUrl(through)).pathname;
  return { connectionString: server.href };
}

describe("decisions", () => {
  async function writer() {
    const org_id = ids.next("organization");
    await nodes[0]?.tenant(org_id, (query) => createHead(query, org_id, "2026-11"));
    const made = createCommitWriter({ connect: connectCommit(connection), clock, timers, log: silentLog });
    onTestFinished(() => made.close());
    const all = Array.from({ length: 300 }, (_, n) =>
      decisionRows(ids, org_id, { escalate: n % 10 === 0, idempotency_key: `key ${n % 290}` }),
    );
    return { org_id, made, all };
  }

  const outcomes = (results: Awaited<ReturnType<typeof commitAll>>) =>
    results.map((each) => (each.status === "fulfilled" ? each.value.outcome : String(each.reason))).toSorted();
  const expected = [...Array(290).fill("committed"), ...Array(10).fill("duplicate")];

  test("are committed once each, and a repeated idempotency key is a duplicate", async () => {
    const { org_id, made, all } = await writer();
    expect(outcomes(await commitAll(made, all))).toEqual(expected);
    const head =
      "select audit_seq, (select count(*) from audit where org_id = $1) as entries from org_heads where org_id = $1";
    expect(await nodes[1]?.tenant(org_id, (query) => query(head, [org_id]))).toEqual([
      { audit_seq: 609, entries: 609 },
    ]);
  });

  test("also while the server ends the sessions of the pooler", async () => {
    const { org_id, made, all } = await writer();
    const operator = await openClient(past(connection), "operator");
    onTestFinished(() => operator.end());
    let ended = 0;
    const committing = commitAll(made, all).finally(() => (ended = -1));
    while (ended >= 0 && ended < 5) {
      const others =
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
      await operator.query(others);
      if (ended >= 0) ended += 1;
    }
    const results = outcomes(await committing);
    expect(results).toEqual(expected);
    const count = "select count(*) as stored from idempotency_keys where org_id = $1";
    expect(await nodes[1]?.tenant(org_id, (query) => query(count, [org_id]))).toEqual([{ stored: 290 }]);
  });

  test("are durable by their own commit, whatever the database's default is", async () => {
    const session = await openClient(connection, "operator");
    onTestFinished(() => session.end());
    const chosen = async () => {
      await session.query(session.begin());
      const { rows } = await session.query("select current_setting('synchronous_commit') as chosen");
      await session.query("rollback");
      return rows[0].chosen;
    };
    expect(await chosen()).toBe("on");
  });
});
