/** Starts or connects the database: the one of DATABASE_URL, else a PostgreSQL of our own. */
import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../ports.ts";
import { type EmbeddedOptions, startEmbedded } from "../embedded-postgres/index.ts";
import { type ConnectionOptions, isConnectionLost, isOutOfTime, isUnanswered, openClient } from "./connection.ts";
import { reasonOf } from "./session.ts";
import { settings_off } from "./settings-off.ts";
import { StartRefused } from "./start-refused.ts";

/** The settings that choose the database. */
export interface DatabaseConfig extends EmbeddedOptions {
  /** Null: run the embedded one in `data_dir`. */
  readonly database_url: string | null;
  /** The PATH to search for a system server when npm did not install ours. */
  readonly path?: string;
}

/** A database to connect to. */
export interface StartedDatabase {
  readonly connection: ConnectionOptions;
  /**
   * `url`: DATABASE_URL. `embedded`: the server of the npm package. `system`: a server program found on the machine.
   */
  readonly source: "url" | "embedded" | "system";
  /** Stops the server if this process started it. */
  stop(): Promise<void>;
}

/**
 * How long the start waits for a server that does not answer yet, for example one that the same compose file starts.
 */
export const first_answer_ms_max = 15_000;
const first_answer_poll_ms = 250;

/**
 * Returns the database of `DATABASE_URL` when its server has answered. Otherwise starts the embedded server, or one
 * found on the system. Throws `StartRefused` with one line that names the problem.
 */
export async function startDatabase(
  config: DatabaseConfig,
  log: Log,
  wait_ms = first_answer_ms_max,
): Promise<StartedDatabase> {
  if (config.database_url !== null) {
    const connection = { connectionString: config.database_url };
    await awaitAnswer(connection, log, wait_ms);
    const unsafe = await unsafeSettings(connection).catch((error: unknown) => {
      throw startRefusal(error);
    });
    for (const name of unsafe) log.error({}, undurable(name));
    return { connection, source: "url", stop: async () => undefined };
  }
  const server = await startEmbedded({ search: { path: config.path ?? "" }, ...config }, log);
  log.info({ source: server.source, version: server.version, pid: server.pid() }, "embedded database ready");
  return { connection: server.connection, source: server.source, stop: server.stop };
}

/** Returns a refusal with one line if the database was lost during a start. Returns any other error unchanged. */
export function startRefusal(error: unknown): unknown {
  if (!isConnectionLost(error) && !isOutOfTime(error)) return error;
  return new StartRefused(
    `the database was lost or too slow during the start (${(error as Error).message}): check that it runs (countersign doctor), and start again`,
  );
}

const undurable = (setting: string) =>
  `${setting} is off on this server of DATABASE_URL: a power cut can lose answered decisions and damage the database; switch it on`;

/** Returns the settings that are off and must be on for a commit to be safe on disk. */
async function unsafeSettings(connection: ConnectionOptions): Promise<readonly string[]> {
  const session = await openClient(connection, "countersign start");
  try {
    return (await session.query(`select ${settings_off}`)).rows[0].unsafe;
  } finally {
    await session.end();
  }
}

async function awaitAnswer(
  connection: { readonly connectionString: string },
  log: Log,
  wait_ms: number,
): Promise<void> {
  // Limited by time, not by tries, because each try to reach a lost machine can take seconds.
  const patience = AbortSignal.timeout(wait_ms);
  for (let told = false; ; told = true) {
    try {
      const problem = await poolerProblem(() => openClient(connection, "countersign start"));
      if (problem === null) return;
      throw new StartRefused(`DATABASE_URL: ${problem}`, "name the database itself, or a pooler in transaction mode");
    } catch (error) {
      if (error instanceof StartRefused) throw error;
      const where = connection.connectionString.replace(/\/\/[^/]*@/, "//***@").replace(/\?.*/, "");
      const reason = reasonOf(error);
      if (!isConnectionLost(error) || isUnanswered(error) || patience.aborted)
        throw new StartRefused(`DATABASE_URL: no session with ${where}: ${reason}`);
      if (!told) log.warn({ database: where, reason }, "the database does not answer yet");
      await pause(first_answer_poll_ms);
    }
  }
}

/** The parts of a session that `poolerProblem` uses. */
interface LookedAt {
  readonly pooled: boolean;
  query(text: string): Promise<{ readonly rows: readonly { readonly pid?: number }[] }>;
  end(): Promise<void>;
}

/**
 * Returns why a pooler between us and the server cannot be used. Null: it can, or there is none. A pooler must keep one
 * server session for a whole transaction. The service must also detect the pooler, because it keeps settings and
 * prepared statements in sessions without one.
 */
export async function poolerProblem(open: () => Promise<LookedAt>): Promise<string | null> {
  const session = await open();
  try {
    if (!(await takesTransaction(session)))
      return "this pooler gives each statement to another session of the database (statement pooling)";
    await session.query("rollback");
    if (session.pooled || !(await changes(session, open))) return null;
    return "this pooler gives each transaction to another session of the database, and looks like the database itself";
  } finally {
    await session.end();
  }
}

/** Returns false for a pooler in statement mode, which may run each statement in another session. */
async function takesTransaction(session: LookedAt): Promise<boolean> {
  try {
    await session.query("begin");
    return true;
  } catch (error) {
    if (error instanceof Error && /statement pooling mode/.test(error.message)) return false;
    throw error;
  }
}

/**
 * Returns true if one client session is not always the same server session. A pooler gives out the session used last,
 * or each in turn. So one check may meet the same session by chance.
 */
async function changes(one: LookedAt, open: () => Promise<LookedAt>): Promise<boolean> {
  const pidOf = async (session: LookedAt) => (await session.query("select pg_backend_pid() as pid")).rows[0]?.pid;
  const pid = await pidOf(one);
  const other = await open();
  try {
    await other.query("begin");
    if ((await pidOf(other)) === pid) return true;
    return (await pidOf(one)) !== pid || (await pidOf(one)) !== pid;
  } finally {
    await other.end();
  }
}
