/** How a session with PostgreSQL is opened, and how its failures are told apart. */
import pg from "pg";
import { NoPrimary, ReadOnlyServer, Session } from "./session.ts";

/** Where the database is: a URL from the outside, which may list several servers, or the socket directory of the embedded server. */
export type ConnectionOptions =
  | { readonly connectionString: string }
  | { readonly host: string; readonly port: number; readonly user: string; readonly database: string };

/** RFC 3339 UTC text with six fractional digits and `Z` from PostgreSQL's ISO text; the session's time zone must be UTC. */
function rfc3339(text: string): string {
  const match = /^(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00$/.exec(text);
  // 'infinity' and years before Christ have no RFC 3339 form; nothing of ours writes them.
  if (match === null) throw new Error(`not a UTC timestamp of the common era: ${text}`);
  return `${match[1]}T${match[2]}.${(match[3] ?? "").padEnd(6, "0")}Z`;
}

/** A number where it is exact, else a bigint. */
function int8(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

/** What pg's `arrayParser` really is; its published type is a function, which it has not been for years. */
const arrayParser = pg.types.arrayParser as unknown as {
  create(source: string, parse: (text: string) => unknown): { parse(): unknown[] };
};
const arrayOf = (parse: (text: string) => unknown) => (text: string) => arrayParser.create(text, parse).parse();
const asText = (text: string): string => text;

/** pg would cut `timestamptz` to milliseconds, read `date` in the machine's time zone, and give `int8` as text. */
const parsers = new Map<number, (text: string) => unknown>([
  [20, int8],
  [1016, arrayOf(int8)],
  [1082, asText],
  [1114, asText],
  [1184, rfc3339],
  [1185, arrayOf(rfc3339)],
]);

const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: "text" | "binary") => {
    const parse = format === "binary" ? undefined : parsers.get(oid);
    return (parse ?? pg.types.getTypeParser(oid, format as "text")) as (text: string | Buffer) => unknown;
  },
};

/** Silence of a session after which its server is asked whether it is there; Node gives up after ten questions, one a second. */
const silent_ms_max = 10_000;

/**
 * PGSSLMODE, PGOPTIONS and the like tell of servers that DATABASE_URL may name, not of our own, which has no TLS. pg takes an
 * empty text of options for none; these are set anyway.
 */
const ourOwn = { ssl: false, sslnegotiation: "postgres", options: "-c client_min_messages=warning" } as const;

/** What every session of ours has in common, for pools and single clients. */
export function sessionConfig(connection: ConnectionOptions, application_name: string): pg.ClientConfig {
  const server = "host" in connection ? { ...ourOwn, ...connection } : connection;
  return { ...server, application_name, types, keepAlive: true, keepAliveInitialDelayMillis: silent_ms_max };
}

const open_ms_max = 5_000;

/**
 * A single session with the rights of the connecting user, for migrations and supervision; the caller ends it. Its statements
 * outside transactions have our settings unless a pooler stands between.
 */
export async function openClient(connection: ConnectionOptions, application_name: string): Promise<Session> {
  const client = new Session({
    ...sessionConfig(connection, application_name),
    connectionTimeoutMillis: open_ms_max,
  });
  await client.connect();
  try {
    if (!client.pooled) await client.keep();
    return client;
  } catch (error) {
    await client.end();
    throw error;
  }
}

/** The SQLSTATE of a refusal by the server, null for anything else. */
export function sqlState(error: unknown): string | null {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return null;
  return /^[0-9A-Z]{5}$/.test(error.code) && "severity" in error ? error.code : null;
}

const socketErrors = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ENOENT",
  "ETIMEDOUT",
  "ENOTCONN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  // The database's name does not resolve (any more): where names come and go with what they name, it is being started again.
  "ENOTFOUND",
  "EAI_AGAIN",
]);

/** The session was lost while its transaction committed: nobody knows whether it did, so it is not run again. */
export class CommitLost extends Error {}

/** No session could be opened, for whatever reason: the other end has no TLS, a certificate of nobody's, or is no PostgreSQL. */
export class NoSession extends Error {}

/** The server has ended a session that it had to wait for, and undone its transaction. */
const waitedInVain = new Set(["25P03", "25P04"]);
const too_many_sessions = "53300";

/** Of a lost session's COMMIT: whether it certainly had no effect, because the session was over before or it was never sent. */
export function isUncommitted(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== null) return waitedInVain.has(state);
  return error instanceof Error && /is not queryable$/.test(error.message);
}

/**
 * Whether the session or the server was lost, as opposed to an answer of the server to the statement.
 * If a statement was under way its outcome is unknown.
 */
export function isConnectionLost(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== null) return /^(?:08|57P0)/.test(state) || state === too_many_sessions || waitedInVain.has(state);
  if (!(error instanceof Error)) return false;
  if (error instanceof CommitLost || error instanceof NoSession || error instanceof ReadOnlyServer) return true;
  // A failover takes a while. What only an operator can mend, such as a wrong password, does not pass.
  if (error instanceof NoPrimary) return error.reasons.some(isConnectionLost);
  // An error of a file has a path, one of a socket has an address: a missing file is no lost server.
  if ("code" in error && typeof error.code === "string" && socketErrors.has(error.code)) return !("path" in error);
  return (
    isUnanswered(error) || /^(?:Connection terminated|Client has encountered a connection error)/.test(error.message)
  );
}

/** In the order of: no session free, none opened (by itself, by the pool), no answer. */
const unanswered =
  /^(?:timeout exceeded|timeout expired|Connection terminated due to connection timeout|Query read timeout)/;

/** Whether we have waited as long as we do: for a session, or for the answer to a statement. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof Error && unanswered.test(error.message);
}

/**
 * Whether a session is of no more use: it is gone, or it may not change anything, which it keeps when the database may be
 * written to again (a setting of its beginning, or a server that is a copy since a failover).
 */
export function isSessionUseless(error: unknown): boolean {
  return isConnectionLost(error) || sqlState(error) === read_only;
}

const read_only = "25006";

/** Out of disk, memory or sessions; and a disk that fails. */
const outOfMeans = /^(?:53|58030$)/;

/**
 * Whether the server takes no sessions of ours, or no changes: its database is closed or gone, the password was changed, its
 * disk or memory is full, or after a failover it is the copy that may only be read.
 */
export function isOutOfService(error: unknown): boolean {
  const state = sqlState(error);
  if (state === null) return false;
  return [read_only, "3D000", "55000"].includes(state) || state.startsWith("28") || outOfMeans.test(state);
}

/** Whether the server broke a statement off because it took too long, or waited too long for a lock. */
export function isOutOfTime(error: unknown): boolean {
  return ["57014", "55P03"].includes(sqlState(error) ?? "");
}

/** Whether the server gave up a transaction only because of others; running it again may succeed. */
export function isConflict(error: unknown): boolean {
  const state = sqlState(error);
  return state === "40001" || state === "40P01";
}
