/** A session with PostgreSQL: with the one server, or with the first of several that takes writes. */
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { hostUrls } from "./host-urls.ts";

/** After this time without an answer from one server, the next one of the list is asked, too. */
const turn_ms = 500;
/** For a server to open a session and to say whether it takes writes. */
const answer_ms_max = 3_000;

/** The server answered, but takes no writes. */
export class ReadOnlyServer extends Error {}

/** None of several servers takes writes; `reasons` has the error of each. */
export class NoPrimary extends Error {
  readonly reasons: readonly unknown[];

  constructor(asked: readonly pg.Client[], reasons: readonly unknown[]) {
    const each = asked.map(({ host, port }, index) => `${host}:${port}: ${reasonOf(reasons[index])}`);
    super(`no server of the list takes writes (${each.join("; ")})`);
    this.reasons = reasons;
  }
}

/** Returns the message of an error of a session. Node gives none if a name has several addresses and all of them fail. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || String((error as NodeJS.ErrnoException).code);
}

/** What `pg` calls with the outcome, in its two types. */
type Connected = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

/**
 * A client of `pg` that understands a list of hosts in `connectionString`. The pool needs a class of which it makes each
 * client itself. So `connect` first looks for the primary, through short sessions, and then opens its own session with that
 * server. Every new session looks again: after a failover it reaches the new primary.
 */
export class Session extends pg.Client {
  readonly #servers: readonly pg.ClientConfig[];

  constructor(config: pg.ClientConfig = {}) {
    const servers = serversOf(config);
    super(servers[0]);
    this.#servers = servers;
    // A server may end a session at any moment, even in the message after the one that opened it. Without a listener the event would
    // end the process. The next statement reports the loss.
    this.on("error", () => undefined);
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<pg.Client> | undefined {
    const connecting = this.#servers.length === 1 ? super.connect() : this.#connectToPrimary();
    if (callback === undefined) return connecting;
    const answer = callback as (error: Error | null, client?: pg.Client) => void;
    void connecting.then((client) => answer(null, client), answer);
    return undefined;
  }

  async #connectToPrimary(): Promise<pg.Client> {
    const { host, port, password } = await findPrimary(this.#servers);
    // A password file can have a password for each host.
    Object.assign(this, { host, port, password });
    return super.connect();
  }
}

function serversOf(config: pg.ClientConfig): readonly pg.ClientConfig[] {
  if (config.connectionString === undefined) return [config];
  const urls = hostUrls(config.connectionString);
  if (urls === null) throw new Error("this list of database hosts has an empty host, or not as many ports as hosts");
  return urls.map((connectionString) => ({ ...config, connectionString }));
}

/**
 * Returns a client that reached the primary; its session is over. Asks the servers in their order. A silent server delays
 * the next one by `turn_ms` only. Rejects with each server's reason if none takes writes.
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
    throw new ReadOnlyServer("may only be read, because it is a standby or default_transaction_read_only is on");
  return client;
}
