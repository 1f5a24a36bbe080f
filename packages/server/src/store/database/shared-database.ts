/** Opens the database for commands, which run beside the service and each other. */
import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../ports.ts";
import { attachEmbedded } from "../embedded-postgres/attach.ts";
import { DirectoryHeld } from "../embedded-postgres/claim.ts";
import { type ConnectionOptions, isConnectionLost, openClient, sqlState } from "./connection.ts";
import { type DatabaseConfig, first_answer_ms_max, type StartedDatabase, startDatabase } from "./start-database.ts";

export interface SharedDatabase {
  readonly connection: ConnectionOptions;
  /** `running`: the embedded server of another process. */
  readonly source: StartedDatabase["source"] | "running";
  /** Waits for other commands, then stops the server if this process started it. */
  stop(): Promise<void>;
}

const poll_ms = 100;
const told_after_ms = 1_000;

/** An advisory lock that users of a server share. The process that stops the server takes it exclusively. */
const lock_id = 4_207_210_022;

/** Uses the running server of the data directory, or starts one. Throws `StartRefused`. */
export async function openSharedDatabase(
  config: DatabaseConfig,
  log: Log,
  wait_ms = first_answer_ms_max,
): Promise<SharedDatabase> {
  if (config.database_url !== null) return startDatabase(config, log, wait_ms);
  const patience = AbortSignal.timeout(wait_ms);
  for (;;) {
    const running = await visit(config.data_dir);
    if (running !== null) return running;
    try {
      return await startSharedDatabase(config, log);
    } catch (error) {
      // The holder is starting or stopping its server.
      if (!(error instanceof DirectoryHeld) || patience.aborted) throw error;
    }
    await pause(poll_ms);
  }
}

export async function startSharedDatabase(config: DatabaseConfig, log: Log): Promise<StartedDatabase> {
  const started = await startDatabase(config, log);
  if (started.source === "url") return started;
  return { ...started, stop: () => stopBehindOthers(started, log) };
}

/** Null: no server runs here, or it is stopping. */
async function visit(data_dir: string): Promise<SharedDatabase | null> {
  const connection = await attachEmbedded(data_dir);
  const session = connection === null ? null : await openSession(connection);
  if (connection === null || session === null) return null;
  // A stopping server may end the lock's holder first. It refuses new sessions, so a second session proves that it
  // keeps running.
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
  await started.stop();
  await session?.end();
}

/** Returns null if the server accepts no sessions. */
async function openSession(connection: ConnectionOptions) {
  try {
    const client = await openClient(connection, "countersign command");
    return {
      /** Also true if the server is gone. */
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

/** Returns false if the server only has no free session. */
function isGone(error: unknown): boolean {
  return isConnectionLost(error) && !sqlState(error)?.startsWith("53");
}
