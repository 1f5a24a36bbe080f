/** The database of an instance for commands, which come and go beside the service and beside each other. */
import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../ports.ts";
import { attachEmbedded } from "../embedded-postgres/attach.ts";
import { DirectoryHeld } from "../embedded-postgres/claim.ts";
import { type ConnectionOptions, isConnectionLost, openClient, sqlState } from "./connection.ts";
import { type DatabaseConfig, first_answer_ms_max, type StartedDatabase, startDatabase } from "./start-database.ts";

/** A database that a command works on. */
export interface SharedDatabase {
  readonly connection: ConnectionOptions;
  /** `running`: the embedded server of another process; else as `StartedDatabase`. */
  readonly source: StartedDatabase["source"] | "running";
  /** Stops the server if it is ours, once no other command works on it. */
  stop(): Promise<void>;
}

const poll_ms = 100;
/** Whoever ends a command wonders after this why it goes on. */
const told_after_ms = 1_000;

/** Shared by all who work on a server that one of them stops; that one takes it alone. Any number that nobody else locks. */
const lock_id = 4_207_210_022;

/**
 * Opens the database of `DATABASE_URL`, else of the data directory: through the server that runs there, else by starting it.
 * A directory whose holder has no server that takes us is waited for as one that does not answer yet. Throws `StartRefused` like
 * the start of the service.
 */
export async function openSharedDatabase(
  config: DatabaseConfig,
  log: Log,
  wait_ms = first_answer_ms_max,
): Promise<SharedDatabase> {
  if (config.database_url !== null) return startDatabase(config, log, wait_ms);
  // By time, not by tries: each claim takes some.
  const patience = AbortSignal.timeout(wait_ms);
  for (;;) {
    const running = await visit(config.data_dir);
    if (running !== null) return running;
    try {
      return await startSharedDatabase(config, log);
    } catch (error) {
      // Whoever holds the directory is starting its server or stopping it.
      if (!(error instanceof DirectoryHeld) || patience.aborted) throw error;
    }
    await pause(poll_ms);
  }
}

/** Starts a database of our own that other commands may come to work on, too. Throws `StartRefused`. */
export async function startSharedDatabase(config: DatabaseConfig, log: Log): Promise<StartedDatabase> {
  const started = await startDatabase(config, log);
  if (started.source === "url") return started;
  return { ...started, stop: () => stopBehindOthers(started, log) };
}

/** Null where no server runs in the data directory, or one that is being stopped. */
async function visit(data_dir: string): Promise<SharedDatabase | null> {
  const connection = await attachEmbedded(data_dir);
  const session = connection === null ? null : await openSession(connection);
  if (connection === null || session === null) return null;
  // A stopping server can end the session that holds the lock before it ends ours, so the lock alone proves nothing. It refuses new
  // sessions, so a second session proves that the server goes on.
  const next = (await session.takes("pg_try_advisory_lock_shared")) ? await openSession(connection) : null;
  await (next ?? session).end();
  return next === null ? null : { connection, source: "running", stop: session.end };
}

async function stopBehindOthers(started: StartedDatabase, log: Log): Promise<void> {
  const session = await openSession(started.connection).catch(() => null);
  for (let waited_ms = 0; session !== null && !(await session.takes("pg_try_advisory_lock")); waited_ms += poll_ms) {
    if (waited_ms === told_after_ms) log.warn({}, "done, but another command works on this database: waiting for it");
    await pause(poll_ms);
  }
  // Whoever comes from now on finds the lock taken, and waits until the server is gone.
  await started.stop();
  await session?.end();
}

/** A session that holds the lock until its end; null where the server takes none any more. */
async function openSession(connection: ConnectionOptions) {
  try {
    const client = await openClient(connection, "countersign command");
    return {
      /** True as well where the server is gone: then there is nothing to wait for. */
      takes: async (lock: "pg_try_advisory_lock" | "pg_try_advisory_lock_shared") => {
        try {
          return (await client.query(`select ${lock}($1::bigint) as taken`, [lock_id])).rows[0].taken === true;
        } catch (error) {
          if (isGone(error)) return lock === "pg_try_advisory_lock";
          throw error;
        }
      },
      end: () => client.end(),
    };
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

/** As opposed to a server that has no session left for us. */
function isGone(error: unknown): boolean {
  return isConnectionLost(error) && !sqlState(error)?.startsWith("53");
}
