/** Where the database comes from: the one given, else a real PostgreSQL of our own. */
import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../ports.ts";
import { type EmbeddedOptions, startEmbedded } from "../embedded-postgres/index.ts";
import { type ConnectionOptions, isConnectionLost, isOutOfTime, isUnanswered, openClient } from "./connection.ts";
import { reasonOf } from "./session.ts";
import { settings_off } from "./settings-off.ts";
import { StartRefused } from "./start-refused.ts";

/** The settings that decide it. */
export interface DatabaseConfig extends EmbeddedOptions {
  /** Null: run the embedded one in `data_dir`. */
  readonly database_url: string | null;
  /** The PATH to search for a system server when npm did not install ours. */
  readonly path?: string;
}

/** A database to connect to. */
export interface StartedDatabase {
  readonly connection: ConnectionOptions;
  /** `url`: DATABASE_URL; `embedded`: the npm package's server; `system`: a server program found on the machine. */
  readonly source: "url" | "embedded" | "system";
  /** Stops the server if it is ours. */
  stop(): Promise<void>;
}

/** How long a server that does not answer yet (started by the same compose file, say) is waited for. */
export const first_answer_ms_max = 15_000;
const first_answer_poll_ms = 250;

/**
 * `DATABASE_URL` (once its server has answered), else the embedded server, else one found on the system.
 * Throws `StartRefused` with one line that says what is in the way.
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

/** One line where the database goes away in the middle of a start; any other error as it is. */
export function startRefusal(error: unknown): unknown {
  if (!isConnectionLost(error) && !isOutOfTime(error)) return error;
  return new StartRefused(
    `the database went away or took too long during the start (${(error as Error).message}): see whether it runs (countersign doctor), and start again`,
  );
}

const undurable = (setting: string) =>
  `${setting} is off on this server of DATABASE_URL: a power cut loses decisions that were answered, and can damage the database; switch it on`;

/** What is off without which a commit is not safe on disk. */
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
  // By time, not by tries: a machine that is gone can take seconds to be found unreachable each time.
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

/** What `poolerProblem` asks of a session. */
interface LookedAt {
  readonly pooled: boolean;
  query(text: string): Promise<{ readonly rows: readonly { readonly pid?: number }[] }>;
  end(): Promise<void>;
}

/**
 * Says why a pooler between us and the server cannot be used; null: it can, or there is none. A pooler must give us a session for a
 * whole transaction, and we must notice it, because we keep settings and statements in a session that is our own.
 */
export async function poolerProblem(open: () => Promise<LookedAt>): Promise<string | null> {
  const session = await open();
  try {
    if (!(await takesTransaction(session)))
      return "this pooler gives each statement to another session of the database (statement pooling)";
    await session.query("rollback");
    if (session.pooled || !(await changes(session, open))) return null;
    return "this pooler gives each transaction to another session of the database, and passes for the database itself";
  } finally {
    await session.end();
  }
}

/** False: this is a pooler in statement mode, which hands out its sessions for one statement at a time. */
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
 * Whether two sessions of ours are not two of the server's all the time. A pooler gives the session that it used last to whoever
 * asks next, or each in turn: then one look may meet the same one by chance.
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
