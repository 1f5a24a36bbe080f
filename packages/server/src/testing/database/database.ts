import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { type ConnectionOptions, openClient } from "../../store/database/connection.ts";
import { type Database, type DbOptions, openDb } from "../../store/database/db.ts";
import { silentLog } from "../nodes/silent-log.ts";
import { whenFileIsDone } from "../when-file-is-done.ts";
import { databaseOf, dropDatabase, type TestServerAccess } from "./test-server.ts";

export interface TestDatabase {
  /** For code that opens its own sessions. */
  readonly connection: ConnectionOptions;
  readonly db: Database;
  /** As the tables' owner, because the role of `db` may not. */
  analyze(tables: string): Promise<void>;
}

/** Instead of 5 s, because some of 100 sessions wait longer on a busy machine. */
const patience_ms = 60_000;

/**
 * Returns a fresh, migrated database: on `DATABASE_URL`, otherwise on the run's embedded server. Call it at the top of
 * a file or in `beforeAll`. Dropped after the file's tests.
 */
export async function testDatabase(options: DbOptions = {}): Promise<TestDatabase> {
  const access = await testServer();
  const connection = await createDatabase(access, access.template);
  const db = openDb(connection, silentLog, { acquire_timeout_ms: patience_ms, ...options });
  whenFileIsDone(() => db.close());
  return { connection, db, analyze: (tables) => asOwner(connection, `analyze ${tables}`) };
}

async function asOwner(connection: ConnectionOptions, statement: string): Promise<void> {
  const client = await openClient(connection, "countersign test");
  await client.query(statement);
  await client.end();
}

export function databaseUrl(connection: ConnectionOptions): string {
  if ("connectionString" in connection) return connection.connectionString;
  const { host, port, user, database } = connection;
  return `postgres://${user}@localhost/${database}?host=${encodeURIComponent(host)}&port=${port}`;
}

/** Returns a database without tables. Dropped after the file's tests. */
export async function emptyDatabase(): Promise<ConnectionOptions> {
  return createDatabase(await testServer(), "template0");
}

async function testServer(): Promise<TestServerAccess> {
  const answer = await fetch(inject("test_database_broker"));
  if (!answer.ok) throw new Error(`no test database server: ${await answer.text()}`);
  return (await answer.json()) as TestServerAccess;
}

async function createDatabase(access: TestServerAccess, template: string): Promise<ConnectionOptions> {
  const name = `${access.prefix}_${randomBytes(6).toString("hex")}`;
  const client = await openClient(access.admin, "countersign test");
  const locale = template === "template0" ? "encoding 'UTF8' lc_collate 'C' lc_ctype 'C'" : "";
  await client.query(`create database ${name} owner "${access.owner}" template ${template} ${locale}`);
  await client.end();
  whenFileIsDone(() => dropDatabase(access.admin, name));
  return databaseOf(access.through, name, access.owner);
}
