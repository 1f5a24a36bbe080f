import { randomBytes } from "node:crypto";
import type { Clock, Ids, Log, Sealer } from "../../ports.ts";
import type { ConnectionOptions } from "../../store/database/connection.ts";
import { type Database, openDb } from "../../store/database/db.ts";
import { migrate } from "../../store/database/migrate.ts";
import { openSharedDatabase, type SharedDatabase, startSharedDatabase } from "../../store/database/shared-database.ts";
import { startRefusal } from "../../store/database/start-database.ts";
import { inspectDatabase } from "../../store/upkeep/inspect.ts";
import { createClock } from "../clock.ts";
import { createIds } from "../ids.ts";
import type { Config } from "../start/config.ts";
import { createSealer } from "../start/sealer.ts";

/**
 * Ways to open a database:
 *
 * - migrate: updates the schema.
 * - keep_schema: creates only a missing schema, because nodes of an older version may use the database.
 * - inspect: changes nothing, and does not wait for a silent server.
 * - restore: changes nothing, and refuses the data directory of a running service.
 */
export type Opening = "migrate" | "keep_schema" | "inspect" | "restore";

export type DatabaseSettings = Pick<Config, "database_url" | "data_dir" | "path"> &
  Partial<Pick<Config, "database_replica_urls">>;

export interface OpenedDatabase {
  readonly db: Database;
  readonly connection: ConnectionOptions;
  /** `db` does not read these standbys. */
  readonly replicas: readonly ConnectionOptions[];
  readonly source: SharedDatabase["source"];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** The command line stores no sealed value. */
  readonly sealer: Sealer;
  close(): Promise<void>;
}

/**
 * Opens the database of `DATABASE_URL`, else the embedded one. Connects to a running embedded server of another
 * process, else runs the server until `close`. Throws `StartRefused` as the start of the service does.
 */
export async function openDatabase(
  config: DatabaseSettings,
  log: Log,
  opening: Opening = "migrate",
): Promise<OpenedDatabase> {
  const database = await shared(config, log, opening);
  const db = openDb(database.connection, log);
  const close = async () => {
    await db.close();
    await database.stop();
  };
  try {
    if (await wantsMigration(database.connection, opening)) await migrate(database.connection, log);
  } catch (error) {
    await close();
    throw startRefusal(error);
  }
  const { connection, source } = database;
  const replicas = (config.database_replica_urls ?? []).map((connectionString) => ({ connectionString }));
  const clock = createClock();
  const sealer = createSealer(randomBytes(32));
  return { db, connection, replicas, source, clock, ids: createIds(clock), log, sealer, close };
}

function shared(config: DatabaseSettings, log: Log, opening: Opening): Promise<SharedDatabase> {
  const settings = { ...config, search: { path: config.path } };
  if (opening === "restore") return startSharedDatabase(settings, withoutStatementErrors(log));
  return opening === "inspect" ? openSharedDatabase(settings, log, 0) : openSharedDatabase(settings, log);
}

async function wantsMigration(connection: ConnectionOptions, opening: Opening): Promise<boolean> {
  if (opening === "keep_schema") return (await inspectDatabase(connection)).applied.length === 0;
  return opening === "migrate";
}

/** Omits the embedded server's statement errors, because a restoring command prints them itself. */
function withoutStatementErrors(log: Log): Log {
  return {
    ...log,
    warn: (fields, message) => {
      if (!("postgres" in fields && String(fields.postgres).startsWith("ERROR"))) log.warn(fields, message);
    },
  };
}
