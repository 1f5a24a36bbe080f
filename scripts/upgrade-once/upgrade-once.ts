import { join } from "node:path";
import type { Log } from "@countersign/server";
import { type ConnectionOptions, openClient } from "../../packages/server/src/store/database/connection.ts";
import { type Migration, migrate, readMigrations } from "../../packages/server/src/store/database/migrate.ts";
import { StartRefused } from "../../packages/server/src/store/database/start-refused.ts";

export interface Upgraded {
  readonly organizations: number;
  readonly decisions: number;
  readonly records: number;
}

/**
 * Upgrades any older schema to the current one. Null: already current. Each step is a transaction, so an interrupted
 * upgrade can be repeated. Throws `StartRefused` if the database is empty or another program's.
 */
export async function upgradeOnce(connection: ConnectionOptions, log: Log): Promise<Upgraded | null> {
  const steps = await readMigrations(join(import.meta.dirname, "schemas"));
  const [today] = await readMigrations();
  if (today === undefined) throw new Error("the current schema is missing");
  const first = await firstMigration(connection);
  if (first === null)
    throw new StartRefused("there is no Countersign in this database: start the service, which creates its schema");
  if (first === today.name) return null;
  await refuseNodes(connection);
  await migrate(connection, log, steps);
  const upgraded = await asSchemaOfNow(connection, today);
  // After an interrupted run, the service's start applies the migrations.
  await migrate(connection, log);
  return upgraded;
}

/** Records the first current schema, which equals the last older one. */
async function asSchemaOfNow(connection: ConnectionOptions, today: Migration): Promise<Upgraded> {
  const client = await openClient(connection, "upgrade-once");
  try {
    await client.query("begin; set local app.org = '*'");
    await client.query("select from schema_migrations where version = 0 for update");
    await client.query("delete from schema_migrations where version > 0");
    await client.query("insert into schema_migrations values ($1::int, $2, $3, $4, clock_timestamp())", [
      today.version,
      today.name,
      today.sha256,
      today.breaking,
    ]);
    const { rows } = await client.query<Upgraded>(
      `select (select count(*)::int from org_heads) as organizations, (select count(*)::int from ledger where type = 'decided') as decisions,
         (select coalesce(sum(audit_seq), 0)::int from org_heads) as records`,
    );
    await client.query("commit");
    return rows[0] as Upgraded;
  } finally {
    await client.end();
  }
}

/** Nodes of the older version would use tables that no longer exist. */
async function refuseNodes(connection: ConnectionOptions): Promise<void> {
  const client = await openClient(connection, "upgrade-once");
  try {
    const { rows } = await client.query(
      `select count(*)::int as nodes from pg_stat_activity where datname = current_database() and application_name like 'countersign%'`,
    );
    if (rows[0].nodes > 0)
      throw new StartRefused(
        "a Countersign is connected to this database: stop every node of the older version, and run this again",
      );
  } finally {
    await client.end();
  }
}

async function firstMigration(connection: ConnectionOptions): Promise<string | null> {
  const client = await openClient(connection, "upgrade-once");
  try {
    const { rows: found } = await client.query("select to_regclass('schema_migrations') is not null as exists");
    if (!found[0].exists) return null;
    const { rows } = await client.query("select name from schema_migrations where version = 1");
    return rows[0]?.name ?? null;
  } finally {
    await client.end();
  }
}
