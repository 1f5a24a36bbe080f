/** A session with the first listed server that accepts writes. */
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { hostUrls } from "./host-urls.ts";
import { app_role, look, type SessionLook, type Settings, setAll, transactionSettings } from "./settings.ts";

const turn_ms = 500;
/** Timeout to open a session and learn if it accepts writes. */
const answer_ms_max = 3_000;
const look_ms_max = 5_000;

export class ReadOnlyServer extends Error {}

/** `reasons` has the error of each server. */
export class NoPrimary extends Error {
  readonly reasons: readonly unknown[];

  constructor(asked: readonly pg.Client[], reasons: readonly unknown[]) {
    const each = asked.map(({ host, port }, index) => `${host}:${port}: ${reasonOf(reasons[index])}`);
    super(`no server of the list accepts writes (${each.join("; ")})`);
    this.reasons = reasons;
  }
}

/** Node gives no message if all addresses of a name fail. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || String((error as NodeJS.ErrnoException).code);
}

type Connected = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

/**
 * A client of `pg` for lists of hosts and for poolers. `connect` finds the primary through short sessions, so after a
 * failover new sessions reach the new primary. A pooler may give each transaction another server session, so `begin`
 * sets all settings for one transaction only.
 */
export class Session extends pg.Client {
  readonly #servers: readonly pg.ClientConfig[];
  #seen: SessionLook | null = null;
  #settings: Settings = {};

  constructor(config: pg.ClientConfig = {}) {
    const servers = serversOf(config);
    super(servers[0]);
    this.#servers = servers;
    // Without a listener, a lost session would end the process. The next statement reports the loss.
    this.on("error", () => undefined);
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<pg.Client> | undefined {
    const connecting = this.#open();
    if (callback === undefined) return connecting;
    const answer = callback as (error: Error | null, client?: pg.Client) => void;
    void connecting.then((client) => answer(null, client), answer);
    return undefined;
  }

  /** True behind a pooler: another process answers than the one announced to the session. */
  get pooled(): boolean {
    return this.#looked.pid !== (this as unknown as { readonly processID: number | null }).processID;
  }

  /** The role for row-level security: `app_role` if the user bypasses it. */
  get role_settings(): Settings {
    return this.#looked.bypasses_rls ? { role: app_role } : {};
  }

  begin(settings: Settings = {}, mode = "isolation level read committed"): string {
    return `begin ${mode}; ${setAll({ ...this.#settings, ...settings }, "local")}`;
  }

  /** Applies settings to statements outside transactions. Must not be called behind a pooler. */
  async keep(settings: Settings = {}): Promise<void> {
    const isolation = { default_transaction_isolation: "read committed" };
    await this.query(setAll({ ...this.#settings, ...isolation, ...settings }, "session"));
  }

  /**
   * Runs one statement in its own transaction, in one round trip. Needs pipeline mode. If `begin` fails, the statement
   * has no scope and sees no rows.
   */
  async runAlone<Row extends object>(begin: string, { name, ...statement }: pg.QueryConfig): Promise<Row[]> {
    const sent = [
      this.query(begin),
      this.query<Row>(this.pooled || name === undefined ? statement : { name, ...statement }),
      this.query("commit"),
    ] as const;
    const [begun, done, committed] = await Promise.allSettled(sent);
    for (const each of [begun, done, committed]) if (each.status === "rejected") throw each.reason;
    return (done as PromiseFulfilledResult<pg.QueryResult<Row>>).value.rows ?? [];
  }

  async #open(): Promise<pg.Client> {
    if (this.#servers.length > 1) {
      const { host, port, password } = await findPrimary(this.#servers);
      // A password file can have a password for each host.
      Object.assign(this, { host, port, password });
    }
    await super.connect();
    try {
      await this.#look();
    } catch (error) {
      this.connection.stream.destroy();
      throw error;
    }
    return this;
  }

  async #look(): Promise<void> {
    // A pooler without a free server session accepts ours, but does not answer.
    const { rows } = await this.query<SessionLook>({ text: look, query_timeout: look_ms_max } as pg.QueryConfig);
    this.#seen = rows[0] as SessionLook;
    this.#settings = transactionSettings(this.#seen);
    // Otherwise the server would end our idle sessions.
    if (this.#seen.idle_session_timeout !== null && !this.pooled) await this.query("set idle_session_timeout = 0");
  }

  get #looked(): SessionLook {
    if (this.#seen === null) throw new Error("this session is not open");
    return this.#seen;
  }
}

function serversOf(config: pg.ClientConfig): readonly pg.ClientConfig[] {
  if (config.connectionString === undefined) return [config];
  const urls = hostUrls(config.connectionString);
  if (urls === null)
    throw new Error("this list of database hosts has an empty host, or another number of ports than hosts");
  return urls.map((connectionString) => ({ ...config, connectionString }));
}

/** Returns a closed client of the primary. A silent server delays the next only by `turn_ms`. */
async function findPrimary(servers: readonly pg.ClientConfig[]): Promise<pg.Client> {
  const asked: pg.Client[] = [];
  const answers: Promise<pg.Client>[] = [];
  try {
    for (const server of servers) {
      const client = new pg.Client({
        ...server,
        connectionTimeoutMillis: answer_ms_max,
        query_timeout: answer_ms_max,
        pipeline: false,
      });
      asked.push(client);
      answers.push(askForWrites(client));
      const found = await Promise.race([Promise.any(answers).catch(() => null), pause(turn_ms, null, { ref: false })]);
      if (found !== null) return found;
    }
    return await Promise.any(answers);
  } catch (error) {
    throw error instanceof AggregateError ? new NoPrimary(asked, error.errors) : error;
  } finally {
    for (const { connection } of asked) connection.stream.destroy();
  }
}

async function askForWrites(client: pg.Client): Promise<pg.Client> {
  // Without a listener a late error would end the process.
  client.on("error", () => undefined);
  await client.connect();
  const { rows } = await client.query("select current_setting('transaction_read_only') = 'on' as read_only");
  void client.end();
  if (rows[0].read_only)
    throw new ReadOnlyServer("is read-only, because it is a standby or default_transaction_read_only is on");
  return client;
}
