/** A session with PostgreSQL. If several servers are listed, the session is with the first one that accepts writes. */
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { hostUrls } from "./host-urls.ts";
import { app_role, look, type SessionLook, type Settings, setAll, transactionSettings } from "./settings.ts";

/** If a server does not answer within this time, the next one of the list is asked, too. */
const turn_ms = 500;
/** Time limit for a server to open a session and to say whether it accepts writes. */
const answer_ms_max = 3_000;
/** Time limit for the first statement of a new session. */
const look_ms_max = 5_000;

/** The server answered, but does not accept writes. */
export class ReadOnlyServer extends Error {}

/** None of several servers accepts writes. `reasons` has the error of each. */
export class NoPrimary extends Error {
  readonly reasons: readonly unknown[];

  constructor(asked: readonly pg.Client[], reasons: readonly unknown[]) {
    const each = asked.map(({ host, port }, index) => `${host}:${port}: ${reasonOf(reasons[index])}`);
    super(`no server of the list accepts writes (${each.join("; ")})`);
    this.reasons = reasons;
  }
}

/**
 * Returns the message of a session's error. Node gives no message if a name has several addresses and all of them fail.
 */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || String((error as NodeJS.ErrnoException).code);
}

/** The callback to which `pg` passes the outcome, in its two types. */
type Connected = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

/**
 * A client of `pg` that supports a list of hosts in `connectionString`, and connection poolers.
 *
 * The pool creates each client itself from this class. So `connect` first finds the primary through short sessions, and
 * then opens its own session with that server. Every new session searches again, so after a failover it reaches the new
 * primary.
 *
 * A pooler may run each transaction in another session of the server. So a transaction begins with `begin`, which sets
 * all its settings for this transaction only. Nothing is left for the next one.
 */
export class Session extends pg.Client {
  readonly #servers: readonly pg.ClientConfig[];
  #seen: SessionLook | null = null;
  #settings: Settings = {};

  constructor(config: pg.ClientConfig = {}) {
    const servers = serversOf(config);
    super(servers[0]);
    this.#servers = servers;
    // A server may end a session at any moment, even right after opening it. Without a listener the event would end the
    // process. The next statement reports the loss.
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

  /**
   * Returns true if there is a pooler between this client and the server. A server sends the number of its process to a
   * new session. A pooler sends a number of its own, so another process answers.
   */
  get pooled(): boolean {
    return this.#looked.pid !== (this as unknown as { readonly processID: number | null }).processID;
  }

  /**
   * The role for which row-level security hides rows. Users who bypass it get `app_role`, others keep their own role.
   */
  get role_settings(): Settings {
    return this.#looked.bypasses_rls ? { role: app_role } : {};
  }

  /** Returns SQL that begins a transaction with these settings and the common ones. */
  begin(settings: Settings = {}, mode = "isolation level read committed"): string {
    return `begin ${mode}; ${setAll({ ...this.#settings, ...settings }, "local")}`;
  }

  /**
   * Keeps these settings and the common ones for statements outside transactions. Must not be called behind a pooler.
   */
  async keep(settings: Settings = {}): Promise<void> {
    const isolation = { default_transaction_isolation: "read committed" };
    await this.query(setAll({ ...this.#settings, ...isolation, ...settings }, "session"));
  }

  /**
   * Runs one statement in a transaction of its own, in one round trip. `begin` is SQL of the method `begin`. The session must be in
   * pipeline mode. Behind a pooler the statement loses its name, because another session may run it next time. If `begin` fails, the
   * statement has no scope and sees no rows.
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
    // A pooler without a free server session still accepts ours, but does not answer.
    const { rows } = await this.query<SessionLook>({ text: look, query_timeout: look_ms_max } as pg.QueryConfig);
    this.#seen = rows[0] as SessionLook;
    this.#settings = transactionSettings(this.#seen);
    // Otherwise the server would end idle sessions of our pool.
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
  if (urls === null) throw new Error("this list of database hosts has an empty host, or not as many ports as hosts");
  return urls.map((connectionString) => ({ ...config, connectionString }));
}

/**
 * Returns a client that reached the primary. Its session is over. Asks the servers in their order. A silent server
 * delays the next one only by `turn_ms`. Rejects with each server's reason if no server accepts writes.
 */
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
  // Without a listener an error after the answer would end the process.
  client.on("error", () => undefined);
  await client.connect();
  const { rows } = await client.query("select current_setting('transaction_read_only') = 'on' as read_only");
  void client.end();
  if (rows[0].read_only)
    throw new ReadOnlyServer("is read-only, because it is a standby or default_transaction_read_only is on");
  return client;
}
