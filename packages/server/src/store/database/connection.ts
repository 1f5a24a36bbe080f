/** Opens sessions with PostgreSQL and classifies their failures. */
import pg from "pg";
import { NoPrimary, ReadOnlyServer, Session } from "./session.ts";

/**
 * Address of the database: a URL from the operator, which may list several servers, or the socket directory of the
 * embedded server.
 */
export type ConnectionOptions =
  | { readonly connectionString: string }
  | { readonly host: string; readonly port: number; readonly user: string; readonly database: string };

/**
 * Converts PostgreSQL's ISO text to RFC 3339 UTC text with six fractional digits and `Z`. The session's time zone must
 * be UTC.
 */
function rfc3339(text: string): string {
  const match = /^(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00$/.exec(text);
  // 'infinity' and years before Christ have no RFC 3339 form. The service never writes them.
  if (match === null) throw new Error(`not a UTC timestamp of the common era: ${text}`);
  return `${match[1]}T${match[2]}.${(match[3] ?? "").padEnd(6, "0")}Z`;
}

/** Returns a number if it is exact, else a bigint. */
function int8(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

/** The actual type of pg's `arrayParser`. Its published type is a function, which is outdated. */
const arrayParser = pg.types.arrayParser as unknown as {
  create(source: string, parse: (text: string) => unknown): { parse(): unknown[] };
};
const arrayOf = (parse: (text: string) => unknown) => (text: string) => arrayParser.create(text, parse).parse();
const asText = (text: string): string => text;

/**
 * By default pg cuts `timestamptz` to milliseconds, reads `date` in the machine's time zone, and returns `int8` as
 * text.
 */
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

/**
 * After this idle time the kernel probes whether the server is still there. Node gives up after ten probes, one a
 * second.
 */
const silent_ms_max = 10_000;

/**
 * The settings of our own server, which has no TLS. PGSSLMODE, PGOPTIONS and similar variables are meant for the server
 * of DATABASE_URL, so these values override them. pg ignores an empty text of options.
 */
const ourOwn = { ssl: false, sslnegotiation: "postgres", options: "-c client_min_messages=warning" } as const;

/** Returns the settings that all sessions have in common, for pools and single clients. */
export function sessionConfig(connection: ConnectionOptions, application_name: string): pg.ClientConfig {
  const server = "host" in connection ? { ...ourOwn, ...connection } : connection;
  return { ...server, application_name, types, keepAlive: true, keepAliveInitialDelayMillis: silent_ms_max };
}

const open_ms_max = 5_000;

/**
 * Opens a single session with the rights of the connecting user, for migrations and supervision. The caller ends it.
 * Statements outside transactions have our settings, too, unless there is a pooler.
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

/** Returns the SQLSTATE of an error of the server. Null: another error. */
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
  // The database's name does not resolve. In container networks a name disappears while its service restarts.
  "ENOTFOUND",
  "EAI_AGAIN",
]);

/** The session was lost during COMMIT. The outcome is unknown, so the transaction is not retried. */
export class CommitLost extends Error {}

/**
 * No session could be opened. For example, the server has no TLS, has an untrusted certificate, or is not PostgreSQL.
 */
export class NoSession extends Error {}

/** The server timed out waiting for the session. It ended the session and rolled back its transaction. */
const waitedInVain = new Set(["25P03", "25P04"]);
const too_many_sessions = "53300";

/** Returns true if COMMIT had no effect for certain: the session ended before COMMIT, or COMMIT was never sent. */
export function isUncommitted(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== null) return waitedInVain.has(state);
  return error instanceof Error && /is not queryable$/.test(error.message);
}

/**
 * Returns true if the session or the server was lost. False: the server answered the statement with an error. If a
 * statement was running, its outcome is unknown.
 */
export function isConnectionLost(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== null) return /^(?:08|57P0)/.test(state) || state === too_many_sessions || waitedInVain.has(state);
  if (!(error instanceof Error)) return false;
  if (error instanceof CommitLost || error instanceof NoSession || error instanceof ReadOnlyServer) return true;
  // A failover takes some seconds. Errors that only an operator can fix, such as a wrong password, do not pass.
  if (error instanceof NoPrimary) return error.reasons.some(isConnectionLost);
  // An error of a file has a path, an error of a socket has an address. So a missing file does not count as a lost
  // server.
  if ("code" in error && typeof error.code === "string" && socketErrors.has(error.code)) return !("path" in error);
  return (
    isUnanswered(error) || /^(?:Connection terminated|Client has encountered a connection error)/.test(error.message)
  );
}

/** In this order: no free session, no session opened (by the client, by the pool), no answer. */
const unanswered =
  /^(?:timeout exceeded|timeout expired|Connection terminated due to connection timeout|Query read timeout)/;

/** Returns true if a timeout passed: for a session, or for the answer to a statement. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof Error && unanswered.test(error.message);
}

/**
 * Returns true if the session must be closed: it is lost, or it is read-only. A session stays read-only even when the
 * database accepts writes again: it was opened so, or its server became a standby in a failover.
 */
export function isSessionUseless(error: unknown): boolean {
  return isConnectionLost(error) || sqlState(error) === read_only;
}

const read_only = "25006";

/** Out of disk, memory or sessions; a failing disk. */
const outOfMeans = /^(?:53|58030$)/;

/**
 * Returns true if the server refuses new sessions or all writes. Causes: the database is closed or gone, the password
 * was changed, disk or memory is full, or the server is a standby after a failover.
 */
export function isOutOfService(error: unknown): boolean {
  const state = sqlState(error);
  if (state === null) return false;
  return [read_only, "3D000", "55000"].includes(state) || state.startsWith("28") || outOfMeans.test(state);
}

/** Returns true if the server cancelled a statement because of its time limit or lock timeout. */
export function isOutOfTime(error: unknown): boolean {
  return ["57014", "55P03"].includes(sqlState(error) ?? "");
}

/** Returns true if the server rolled back a transaction because of concurrent transactions. A retry may succeed. */
export function isConflict(error: unknown): boolean {
  const state = sqlState(error);
  return state === "40001" || state === "40P01";
}
