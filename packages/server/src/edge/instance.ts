/** The database of an instance opened from beside the service: what the command line works on. */

import { randomBytes } from "node:crypto";
import type { Clock, Ids, Log, Sealer } from "../ports.ts";
import type { ConnectionOptions } from "../store/database/connection.ts";
import { type Database, openDb } from "../store/database/db.ts";
import { migrate } from "../store/database/migrate.ts";
import { openSharedDatabase, type SharedDatabase } from "../store/database/shared-database.ts";
import { startRefusal } from "../store/database/start-database.ts";
import { inspectDatabase } from "../store/upkeep/inspect.ts";
import { createClock } from "./clock.ts";
import { createIds } from "./ids.ts";
import type { Config } from "./start/config.ts";
import { createSealer } from "./start/sealer.ts";

/** What operations on keys, organizations and dumps need. */
export interface Instance {
  readonly db: Database;
  readonly connection: ConnectionOptions;
  readonly source: SharedDatabase["source"];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Seals for this process only: the command line sends no idempotency keys, so nothing sealed is ever stored. */
  readonly sealer: Sealer;
  close(): Promise<void>;
}

/**
 * Opens the database of `DATABASE_URL`, else of the data directory: through the service or command that runs there, else by
 * starting the embedded server until `close`. Brings the schema up to date; with `keep_schema` only where there is none yet: nodes
 * of an older version may be at work on it. Throws `StartRefused` like the start of the service.
 */
export async function openInstance(
  config: Pick<Config, "database_url" | "data_dir" | "path">,
  log: Log,
  { keep_schema = false } = {},
): Promise<Instance> {
  const database = await openSharedDatabase({ ...config, search: { path: config.path } }, log);
  const db = openDb(database.connection, log);
  const close = async () => {
    await db.close();
    await database.stop();
  };
  try {
    const keeps = keep_schema && (await inspectDatabase(database.connection)).applied.length > 0;
    if (!keeps) await migrate(database.connection, log);
  } catch (error) {
    await close();
    throw startRefusal(error);
  }
  const clock = createClock();
  const sealer = createSealer(randomBytes(32));
  return {
    db,
    connection: database.connection,
    source: database.source,
    clock,
    ids: createIds(clock),
    log,
    sealer,
    close,
  };
}
