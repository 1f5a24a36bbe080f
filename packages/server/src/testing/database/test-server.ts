import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectionOptions, openClient } from "../../store/database/connection.ts";
import { migrate } from "../../store/database/migrate.ts";
import { startEmbedded } from "../../store/embedded-postgres/index.ts";
import { silentLog } from "../nodes/silent-log.ts";

export interface TestServerAccess {
  /** May create databases. */
  readonly admin: ConnectionOptions;
  /** A connection pooler before the same server, or the server itself. */
  readonly through: ConnectionOptions;
  readonly owner: string;
  /** Names of databases begin with `<prefix>_`, so that the run can drop those of killed test files. */
  readonly prefix: string;
  readonly template: string;
}

/** `stop` drops the run's databases, or stops a server that this run started. */
export interface TestServer {
  readonly access: TestServerAccess;
  stop(): Promise<void>;
}

export function databaseOf(connection: ConnectionOptions, database: string, user?: string): ConnectionOptions {
  if (!("connectionString" in connection)) return { ...connection, database, user: user ?? connection.user };
  const url = new URL(connection.connectionString);
  url.pathname = `/${database}`;
  return { connectionString: url.href };
}

/** Uses `DATABASE_URL`, otherwise an embedded PostgreSQL in a temporary directory. */
export async function startTestServer(): Promise<TestServer> {
  const url = process.env["DATABASE_URL"];
  if (url === undefined || url === "") {
    const dir = await mkdtemp(join(tmpdir(), "countersign-test-"));
    // Without fsync a clone costs a third.
    const server = await startEmbedded(
      { data_dir: dir, settings: { fsync: "off", max_connections: "200" } },
      silentLog,
    );
    const admin = { ...server.connection, user: "postgres", database: "postgres" };
    const access = await makeTemplate(admin, server.connection.user);
    return { access, stop: () => server.stop().then(() => rm(dir, { recursive: true, force: true })) };
  }
  const admin = { connectionString: url };
  const client = await openClient(admin, "countersign test");
  const owner: string = (await client.query("select current_user::text as owner")).rows[0].owner;
  await client.end();
  const access = await makeTemplate(admin, owner);
  return { access, stop: () => dropAll(access) };
}

async function makeTemplate(admin: ConnectionOptions, owner: string): Promise<TestServerAccess> {
  const prefix = `countersign_test_${randomBytes(4).toString("hex")}`;
  const template = `${prefix}_template`;
  const client = await openClient(admin, "countersign test");
  await client.query(
    `create database ${template} owner "${owner}" template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C'`,
  );
  await client.end();
  await migrate(databaseOf(admin, template, owner), silentLog);
  const pooler = process.env["POOLER_URL"];
  const through = pooler === undefined || pooler === "" ? admin : { connectionString: pooler };
  return { admin, through, owner, prefix, template };
}

async function dropAll({ admin, prefix }: TestServerAccess): Promise<void> {
  const client = await openClient(admin, "countersign test");
  const { rows } = await client.query<{ name: string }>(
    "select datname::text as name from pg_database where starts_with(datname, $1)",
    [prefix],
  );
  await client.end();
  for (const { name } of rows) await dropDatabase(admin, name);
}

export async function dropDatabase(admin: ConnectionOptions, database: string): Promise<void> {
  const client = await openClient(admin, "countersign test");
  await client.query(`drop database if exists ${database} with (force)`);
  await client.end();
}
