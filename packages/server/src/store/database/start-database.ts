import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../ports.ts";
import { type EmbeddedOptions, startEmbedded } from "../embedded-postgres/index.ts";
import { type ConnectionOptions, isConnectionLost, isOutOfTime, isUnanswered, openClient } from "./connection.ts";
import { reasonOf } from "./session.ts";
import { settings_off } from "./settings-off.ts";
import { StartRefused } from "./start-refused.ts";

export interface DatabaseConfig extends EmbeddedOptions {
  /** Null: run the embedded one in `data_dir`. */
  readonly database_url: string | null;
  /** The PATH to search for a system server if npm installed none. */
  readonly path?: string;
}

export interface StartedDatabase {
  readonly connection: ConnectionOptions;
  /** `url`: DATABASE_URL. `embedded`: the npm package's server. `system`: found on the machine. */
  readonly source: "url" | "embedded" | "system";
  /** Stops the server if this process started it. */
  stop(): Promise<void>;
}

/** Timeout of the start for a server, which may start at the same time. */
export const first_answer_ms_max = 15_000;
const first_answer_poll_ms = 250;

/** Throws `StartRefused`. */
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

/** Converts a lost database during the start to `StartRefused`. */
export function startRefusal(error: unknown): unknown {
  if (!isConnectionLost(error) && !isOutOfTime(error)) return error;
  return new StartRefused(
    `the database was lost or too slow during the start (${(error as Error).message}): check that it runs (countersign doctor), and start again`,
  );
}

const undurable = (setting: string) =>
  `${setting} is off on this server of DATABASE_URL: a power cut can lose answered decisions and damage the database; switch it on`;

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

interface LookedAt {
  readonly pooled: boolean;
  query(text: string): Promise<{ readonly rows: readonly { readonly pid?: number }[] }>;
  end(): Promise<void>;
}

/**
 * Returns why a pooler cannot be used, or null. It must keep one server session for a transaction, and must be
 * detected.
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

/** False: a pooler in statement mode. */
async function takesTransaction(session: LookedAt): Promise<boolean> {
  try {
    await session.query("begin");
    return true;
  } catch (error) {
    if (error instanceof Error && /statement pooling mode/.test(error.message)) return false;
    throw error;
  }
}

/** Checks several times, because a pooler may return the same session by chance. */
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
