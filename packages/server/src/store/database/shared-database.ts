/** The database of an instance for commands. Commands run beside the service and beside each other. */
import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../ports.ts";
import { attachEmbedded } from "../embedded-postgres/attach.ts";
import { DirectoryHeld } from "../embedded-postgres/claim.ts";
import { type ConnectionOptions, isConnectionLost, openClient, sqlState } from "./connection.ts";
import { type DatabaseConfig, first_answer_ms_max, type StartedDatabase, startDatabase } from "./start-database.ts";

/** A database that a command works on. */
export interface SharedDatabase {
  readonly connection: ConnectionOptions;
  /** `running`: the embedded server of another process. Otherwise as in `StartedDatabase`. */
  readonly source: StartedDatabase["source"] | "running";
  /** Stops the server if this process started it, after all other commands have finished. */
  stop(): Promise<void>;
}

const poll_ms = 100;
/** After this time the user of a command wants to know why it does not end. */
const told_after_ms = 1_000;

/**
 * All users of a server hold this lock as shared. The process that stops the server takes it alone. Any number that no
 * other program uses.
 */
const lock_id = 4_207_210_022;

/**
 * Opens the database of `DATABASE_URL`, else of the data directory. A server that already runs there is used, else one
 * is started. If the directory is held but has no server for this command, the call waits as for a server that does not
 * answer yet. Throws `StartRefused` like the start of the service.
 */
export async function openSharedDatabase(
  config: DatabaseConfig,
  log: Log,
  wait_ms = first_answer_ms_max,
): Promise<SharedDatabase> {
  if (config.database_url !== null) return startDatabase(config, log, wait_ms);
  // Limited by time, not by tries, because each claim takes some time.
  const patience = AbortSignal.timeout(wait_ms);
  for (;;) {
    const running = await visit(config.data_dir);
    if (running !== null) return running;
    try {
      return await startSharedDatabase(config, log);
    } catch (error) {
      // The holder of the directory is starting its server or stopping it.
      if (!(error instanceof DirectoryHeld) || patience.aborted) throw error;
    }
    await pause(poll_ms);
  }
}

/** Starts a database that other commands may use, too. Throws `StartRefused`. */
export async function startSharedDatabase(config: DatabaseConfig, log: Log): Promise<StartedDatabase> {
  const started = await startDatabase(config, log);
  if (started.source === "url") return started;
  return { ...started, stop: () => stopBehindOthers(started, log) };
}

/** Returns null if no server runs in the data directory, or if it is stopping. */
async function visit(data_dir: string): Promise<SharedDatabase | null> {
  const connection = await attachEmbedded(data_dir);
  const session = connection === null ? null : await openSession(connection);
  if (connection === null || session === null) return null;
  // A stopping server can end the session that holds the lock before it ends ours, so the lock alone proves nothing. A
  // stopping server refuses new sessions, so a second session proves that it keeps running.
  const next = (await session.takes("pg_try_advisory_lock_shared")) ? await openSession(connection) : null;
  await (next ?? session).end();
  return next === null ? null : { connection, source: "running", stop: session.end };
}

async function stopBehindOthers(started: StartedDatabase, log: Log): Promise<void> {
  const session = await openSession(started.connection).catch(() => null);
  for (let waited_ms = 0; session !== null && !(await session.takes("pg_try_advisory_lock")); waited_ms += poll_ms) {
    if (waited_ms === told_after_ms) log.warn({}, "done, but another command uses this database: waiting for it");
    await pause(poll_ms);
  }
  // Commands that come later find the lock taken, and wait until the server has stopped.
  await started.stop();
  await session?.end();
}

/** Returns a session that holds the lock until its end. Null: the server accepts no sessions. */
async function openSession(connection: ConnectionOptions) {
  try {
    const client = await openClient(connection, "countersign command");
    return {
      /** Also returns true if the server is gone, because then there is nothing to wait for. */
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

/** Returns false for a server that only has no free session. */
function isGone(error: unknown): boolean {
  return isConnectionLost(error) && !sqlState(error)?.startsWith("53");
}
