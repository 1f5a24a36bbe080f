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
      if (!(await sharesSessions(() => openClient(connection, "countersign start")))) return;
      throw new StartRefused(
        "DATABASE_URL: this pooler hands every transaction to another session of the database (transaction pooling), where row-level security and the guarantee that answers are on disk cannot hold",
        "name the database itself, or a pooler in session mode",
      );
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

/** False: this is a pooler in statement mode, which hands out its sessions for one statement at a time. */
async function takesTransaction(session: Session): Promise<boolean> {
  try {
    await session.query("begin");
    return true;
  } catch (error) {
    if (error instanceof Error && /statement pooling mode/.test(error.message)) return false;
    throw error;
  }
}

/** What of a session tells which one of the server's it is. */
interface Session {
  query(text: string): Promise<{ readonly rows: readonly { readonly pid?: number }[] }>;
  end(): Promise<void>;
}

/**
 * Whether two sessions of ours are not two of the server's all the time: what one sets (scope, durability, prepared
 * statements) would hold for others. A pooler gives the session that it used last to whoever asks next, or each in turn:
 * then one look may meet the same one by chance.
 */
export async function sharesSessions(open: () => Promise<Session>): Promise<boolean> {
  const pidOf = async (session: Session) => (await session.query("select pg_backend_pid() as pid")).rows[0]?.pid;
  const one = await open();
  try {
    const pid = await pidOf(one);
    const other = await open();
    try {
      if (!(await takesTransaction(other))) return true;
      if ((await pidOf(other)) === pid) return true;
      return (await pidOf(one)) !== pid || (await pidOf(one)) !== pid;
    } finally {
      await other.end();
    }
  } finally {
    await one.end();
  }
}
