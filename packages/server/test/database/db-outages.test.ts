import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Query } from "../../src/ports.ts";
import { isConnectionLost, isOutOfService, openClient, sqlState } from "../../src/store/database/connection.ts";
import { openDb } from "../../src/store/database/db.ts";
import { takesWrites } from "../../src/store/upkeep/readiness.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { openNetwork } from "../../src/testing/network/network.ts";
import { silentLog } from "../../src/testing/nodes/silent-log.ts";

const { db, connection } = await testDatabase();
const orgs = "select org_id from usage_periods order by 1";
await db.query("insert into usage_periods values ('org_a', '2026-11', 1)");

test("a dead network delays no caller, and the next query uses another session", async () => {
  const network = await openNetwork(connection);
  const far = openDb(network.connection, silentLog, { tenant_sessions_max: 1, answer_timeout_ms: 2_000 });
  onTestFinished(() => network.close().then(() => far.close()));
  const ask = () => far.tenant("org_a", (query) => query(orgs));
  await ask();
  network.swallow();
  expect(isConnectionLost(await ask().catch((error: unknown) => error))).toBe(true);
  expect(await ask()).toEqual([{ org_id: "org_a" }]);
  await far.query("select 1");
  network.swallow();
  const unanswered = await far.query("select 1").catch((error: unknown) => error);
  expect(isConnectionLost(unanswered)).toBe(true);
});

test("a machine that silently disappeared is tried once for an answer, then for another session", async () => {
  const network = await openNetwork(connection);
  const far = openDb(network.connection, silentLog, { acquire_timeout_ms: 2_000, answer_timeout_ms: 2_000 });
  onTestFinished(() => network.close().then(() => far.close()));
  const ask = () => far.tenant("org_a", (query) => query(orgs));
  await Promise.all([ask(), ask()]);
  const asked = network.asked();
  network.swallow({ new_ones: true });
  const failures = () => Promise.all([ask(), ask()].map((each) => each.catch((error: unknown) => error)));
  for (const error of await failures()) expect(isConnectionLost(error)).toBe(true);
  expect(network.asked() - asked).toBe(0);
  for (const error of await failures()) expect(isConnectionLost(error)).toBe(true);
  expect(network.asked() - asked).toBe(2);
});

test("limits the wait for a starting server by time, not by the number of refusals", async () => {
  let refused = 0;
  const server = createServer((socket) => {
    refused += 1;
    setTimeout(() => socket.destroy(), 150);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const far = openDb({ host: "127.0.0.1", port, user: "u", database: "d" }, silentLog, { restart_wait_ms: 1_000 });
  onTestFinished(() => far.close().then(() => void server.close()));
  expect(isConnectionLost(await far.query("select 1").catch((error: unknown) => error))).toBe(true);
  // If only the 50 ms pauses counted, there would be twenty attempts.
  expect(refused).toBeGreaterThan(1);
  expect(refused).toBeLessThan(12);
});

describe("an unavailable database", () => {
  const failure = ({ host, database }: { readonly host?: string; readonly database?: string }) => {
    if (!("connectionString" in connection))
      return refused({ ...connection, ...(host && { host }), ...(database && { database }) });
    const url = new URL(connection.connectionString);
    if (host !== undefined) url.hostname = host;
    if (database !== undefined) url.pathname = `/${database}`;
    return refused({ connectionString: url.href });
  };
  const refused = (at: typeof connection) => openClient(at, "test").catch((error: unknown) => error);

  test("is one whose name does not resolve", async () => {
    expect(isConnectionLost(await failure({ host: "database.invalid" }))).toBe(true);
  });

  test("is one that is gone or read-only", async () => {
    const gone = await failure({ database: "countersign_gone" });
    expect(sqlState(gone)).toBe("3D000");
    expect(isOutOfService(gone)).toBe(true);
    const read_only = await db
      .system(async (query) => {
        await query("set transaction read only");
        await query("insert into usage_periods values ('org_a', '2026-12', 1)");
      })
      .catch((error: unknown) => error);
    expect(sqlState(read_only)).toBe("25006");
    expect([isOutOfService(read_only), isConnectionLost(read_only)]).toEqual([true, false]);
    expect(isOutOfService(await db.query("select 1/0").catch((error: unknown) => error))).toBe(false);
  });

  test("is one without the required TLS, or another program at its address", async () => {
    for (const answer of ["N", "S no TLS follows", "HTTP/1.1 502 Bad Gateway\r\n\r\n"]) {
      const other = createServer((socket) => {
        socket.on("error", () => undefined).once("data", () => socket.end(answer));
      }).listen(0, "127.0.0.1");
      await once(other, "listening");
      const { port } = other.address() as AddressInfo;
      const far = openDb({ connectionString: `postgres://u@127.0.0.1:${port}/d?sslmode=verify-full` }, silentLog);
      onTestFinished(async () => {
        await far.close();
        other.close();
      });
      for (const ask of [far.query("select 1"), far.tenant("org_a", async (query) => query("select 1"))])
        expect([answer, isConnectionLost(await ask.catch((error: unknown) => error))]).toEqual([answer, true]);
    }
  });

  test("is one whose disk or memory is full", async () => {
    for (const state of ["disk_full", "out_of_memory", "io_error"]) {
      const full = await db.query(`do $$ begin raise ${state}; end $$`).catch((error: unknown) => error);
      expect([state, isOutOfService(full), isConnectionLost(full)]).toEqual([state, true, false]);
    }
  });
});

test("a session that became read-only is dropped, and the next one may write", async () => {
  const one = openDb(connection, silentLog, { system_sessions_max: 1, queue_sessions_max: 1 });
  onTestFinished(() => one.close());
  const statement = { name: "test-lock", text: "select 1 as one from instance for update" };
  for (const ask of [() => one.query(statement.text), () => one.queued(statement, [])]) {
    const spoil = { name: "test-spoil", text: "set default_transaction_read_only = on" };
    await Promise.all([one.query(spoil.text), one.queued(spoil, [])]);
    expect(sqlState(await ask().catch((error: unknown) => error))).toBe("25006");
    expect(await ask()).toEqual([{ one: 1 }]);
  }
});

test("readiness does not use a read-only session, and writes nothing itself", async () => {
  const one = openDb(connection, silentLog, { system_sessions_max: 1 });
  onTestFinished(() => one.close());
  await one.query("set default_transaction_read_only = on");
  expect(sqlState(await one.system(takesWrites).catch((error: unknown) => error))).toBe("25006");
  const wrote = async (query: Query) => [
    await takesWrites(query),
    (await query("select pg_current_xact_id_if_assigned() is not null as wrote"))[0],
  ];
  expect(await one.system(wrote)).toEqual([true, { wrote: false }]);
});
