import { once } from "node:events";
import { stat } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { databaseUrl, emptyDatabase } from "../../testing/database/database.ts";
import { temporaryDir } from "../../testing/database/embedded.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { openClient } from "./connection.ts";
import { poolerProblem, startDatabase } from "./start-database.ts";
import { StartRefused } from "./start-refused.ts";

const emptyDatabaseUrl = async () => databaseUrl(await emptyDatabase());

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test("DATABASE_URL is used unchanged, and nothing is started or written", async () => {
  const data_dir = join(await temporaryDir(), "data");
  const database_url = await emptyDatabaseUrl();
  const database = await startDatabase({ database_url, data_dir }, silentLog);
  onTestFinished(() => database.stop());
  expect(database).toMatchObject({ source: "url", connection: { connectionString: database_url } });
  await expect(stat(data_dir)).rejects.toThrow("ENOENT");
});

test("a server whose commits do not reach the disk is logged as an error", async () => {
  const database_url = await emptyDatabaseUrl();
  const errors: string[] = [];
  const log = { ...silentLog, error: (_about: object, text: string) => void errors.push(text) };
  const database = await startDatabase({ database_url, data_dir: "/nowhere" }, log);
  onTestFinished(() => database.stop());
  const session = await openClient(database.connection, "operator");
  onTestFinished(() => session.end());
  const { fsync } = (await session.query("show fsync")).rows[0];
  expect(errors).toEqual(fsync === "on" ? [] : [expect.stringMatching(/^fsync is off .* switch it on$/)]);
});

test("a DATABASE_URL without a server is refused in one line without its password", async () => {
  const database_url = `postgres://app:hunter2@127.0.0.1:${await closedPort()}/x?sslmode=disable`;
  const refused = startDatabase({ database_url, data_dir: "/nowhere" }, silentLog, 300);
  await expect(refused).rejects.toThrow(StartRefused);
  await expect(refused).rejects.toThrow(
    /^DATABASE_URL: no session with postgres:\/\/\*\*\*@127\.0\.0\.1:\d+\/x: connect ECONNREFUSED [\d.:]+$/,
  );
});

test("waiting for a server that refuses slowly is limited by time, not by tries", async () => {
  let tries = 0;
  const slow = createServer((socket) => {
    tries += 1;
    setTimeout(() => socket.destroy(), 500);
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void slow.close());
  await once(slow, "listening");
  const database_url = `postgres://app@127.0.0.1:${(slow.address() as AddressInfo).port}/x?sslmode=disable`;
  await expect(startDatabase({ database_url, data_dir: "/nowhere" }, silentLog, 400)).rejects.toThrow(StartRefused);
  expect(tries).toBe(1);
});

test("a database that does not exist is refused at once with the server's words", async () => {
  const database_url = (await emptyDatabaseUrl()).replace(/countersign_test_\w+/, "no_such_database");
  await expect(startDatabase({ database_url, data_dir: "/nowhere" }, silentLog)).rejects.toThrow(
    'database "no_such_database" does not exist',
  );
});

describe("a pooler", () => {
  const hidden =
    "this pooler gives each transaction to another session of the database, and looks like the database itself";

  /** Hands out the session used last (`pop`) or longest ago (`shift`). */
  function poolerOf(sessions: number, mode: "transaction" | "session", takes: "pop" | "shift", pooled = false) {
    const idle = Array.from({ length: sessions }, (_, pid) => pid);
    return async () => {
      let held = mode === "session" ? idle[takes]() : undefined;
      const query = async (text: string) => {
        const pid = held ?? idle[takes]();
        if (pid === undefined) throw new Error("the pooler makes this question wait for another session's transaction");
        if (text === "begin") held ??= pid;
        if (text === "rollback" && mode === "transaction") held = undefined;
        if (held === undefined) idle.push(pid);
        return { rows: [{ pid }] };
      };
      await query("set timezone = 'UTC'");
      return { pooled, query, end: async () => undefined };
    };
  }

  test("that identifies itself as one may use transaction mode", async () => {
    expect(await poolerProblem(poolerOf(3, "transaction", "pop", true))).toBe(null);
  });

  test.each(["pop", "shift"] as const)(
    "that uses transaction mode and looks like the database is refused, with any number of sessions (%s)",
    async (takes) => {
      for (let sessions = 1; sessions <= 8; sessions += 1)
        expect([sessions, await poolerProblem(poolerOf(sessions, "transaction", takes))]).toEqual([sessions, hidden]);
    },
  );

  test("in statement mode is refused", async () => {
    const query = async (text: string) => {
      // PgBouncer's message.
      if (text === "begin") throw new Error("transaction blocks not allowed in statement pooling mode");
      return { rows: [{ pid: 1 }] };
    };
    const open = async () => ({ pooled: true, query, end: async () => undefined });
    expect(await poolerProblem(open)).toBe(
      "this pooler gives each statement to another session of the database (statement pooling)",
    );
  });

  test("that has no free session is logged while the start waits", async () => {
    const [signed_in, ready] = [Buffer.of(82, 0, 0, 0, 8, 0, 0, 0, 0), Buffer.of(90, 0, 0, 0, 5, 73)];
    const full = createServer((socket) => {
      socket.on("error", () => undefined).once("data", () => socket.write(Buffer.concat([signed_in, ready])));
    });
    await new Promise<void>((resolve) => full.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void full.close());
    const database_url = `postgres://u@127.0.0.1:${(full.address() as AddressInfo).port}/d`;
    await expect(startDatabase({ database_url, data_dir: "/nowhere" }, silentLog)).rejects.toThrow(StartRefused);
  });

  test("in session mode counts as no pooler", async () => {
    expect(await poolerProblem(poolerOf(2, "session", "pop"))).toBe(null);
  });
});
