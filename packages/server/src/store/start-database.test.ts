import { stat } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { emptyDatabase } from "../testing/database.ts";
import { temporaryDir } from "../testing/embedded.ts";
import { silentLog } from "../testing/silent-log.ts";
import { sharesSessions, startDatabase } from "./start-database.ts";
import { StartRefused } from "./start-refused.ts";

async function databaseUrl(): Promise<string> {
  const connection = await emptyDatabase();
  if ("connectionString" in connection) return connection.connectionString;
  const { user, host, port, database } = connection;
  return `postgres://${user}@/${database}?host=${encodeURIComponent(host)}&port=${port}`;
}

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test("DATABASE_URL is taken as it is, and nothing is started or written", async () => {
  const data_dir = join(await temporaryDir(), "data");
  const database_url = await databaseUrl();
  const database = await startDatabase({ database_url, data_dir }, silentLog);
  onTestFinished(() => database.stop());
  expect(database).toMatchObject({ source: "url", connection: { connectionString: database_url } });
  await expect(stat(data_dir)).rejects.toThrow("ENOENT");
});

test("a DATABASE_URL where nobody answers is refused in one line without its password", async () => {
  const database_url = `postgres://app:hunter2@127.0.0.1:${await closedPort()}/x?sslmode=disable`;
  const refused = startDatabase({ database_url, data_dir: "/nowhere" }, silentLog, 300);
  await expect(refused).rejects.toThrow(StartRefused);
  await expect(refused).rejects.toThrow(
    /^DATABASE_URL: no session with postgres:\/\/\*\*\*@127\.0\.0\.1:\d+\/x: connect ECONNREFUSED [\d.:]+$/,
  );
});

test("a database that does not exist is refused at once with the server's words", async () => {
  const database_url = (await databaseUrl()).replace(/countersign_test_\w+/, "no_such_database");
  await expect(startDatabase({ database_url, data_dir: "/nowhere" }, silentLog)).rejects.toThrow(
    'database "no_such_database" does not exist',
  );
});

test("a pooler that gives one session of the server to two of ours is noticed, in either order", async () => {
  const sessionsOf = (...pids: number[]) =>
    sharesSessions(async () => ({
      query: async (text) => ({ rows: text === "begin" ? [] : [{ pid: pids.shift() as number }] }),
      end: async () => undefined,
    }));
  expect(await sessionsOf(1, 1)).toBe(true);
  expect(await sessionsOf(1, 2, 3)).toBe(true);
  expect(await sessionsOf(1, 2, 1)).toBe(false);
});
