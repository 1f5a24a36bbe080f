/** Opens sessions with PostgreSQL and classifies their failures. */
import pg from "pg";
import { NoPrimary, ReadOnlyServer, Session } from "./session.ts";

/** A URL, which may list several servers, or the embedded server's socket directory. */
export type ConnectionOptions =
  | { readonly connectionString: string }
  | { readonly host: string; readonly port: number; readonly user: string; readonly database: string };

/** Returns RFC 3339 in UTC with six fractional digits. The session must use UTC. */
function rfc3339(text: string): string {
  const match = /^(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00$/.exec(text);
  // 'infinity' and years before Christ have no RFC 3339 form.
  if (match === null) throw new Error(`not a UTC timestamp of the common era: ${text}`);
  return `${match[1]}T${match[2]}.${(match[3] ?? "").padEnd(6, "0")}Z`;
}

/** Returns a bigint only if a number would be inexact. */
function int8(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

/** The type published by pg is outdated. */
const arrayParser = pg.types.arrayParser as unknown as {
  create(source: string, parse: (text: string) => unknown): { parse(): unknown[] };
};
const arrayOf = (parse: (text: string) => unknown) => (text: string) => arrayParser.create(text, parse).parse();
const asText = (text: string): string => text;

/**
 * By default pg cuts `timestamptz` to milliseconds, reads `date` in the local time zone, and returns `int8` as text.
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

/** Idle time before the kernel probes the server. It gives up after ten probes, one a second. */
const silent_ms_max = 10_000;

/** Overrides PGSSLMODE and PGOPTIONS, which are meant for DATABASE_URL. pg ignores an empty text of options. */
const ourOwn = { ssl: false, sslnegotiation: "postgres", options: "-c client_min_messages=warning" } as const;

export function sessionConfig(connection: ConnectionOptions, application_name: string): pg.ClientConfig {
  const server = "host" in connection ? { ...ourOwn, ...connection } : connection;
  return { ...server, application_name, types, keepAlive: true, keepAliveInitialDelayMillis: silent_ms_max };
}

const open_ms_max = 5_000;

/**
 * Opens a session with the connecting user's rights. The caller ends it. Without a pooler, our settings also hold
 * outside of transactions.
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

/** Returns null for errors that are not the server's. */
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
  // In container networks a name disappears while its service restarts.
  "ENOTFOUND",
  "EAI_AGAIN",
]);

/** The session was lost during COMMIT. The outcome is unknown, so the transaction is not retried. */
export class CommitLost extends Error {}

/** No session could be opened, for example because of TLS or a certificate. */
export class NoSession extends Error {}

/** The server ended an idle session and rolled back its transaction. */
const waitedInVain = new Set(["25P03", "25P04"]);
const too_many_sessions = "53300";

/** Returns true if COMMIT certainly had no effect. */
export function isUncommitted(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== null) return waitedInVain.has(state);
  return error instanceof Error && /is not queryable$/.test(error.message);
}

/** Returns true if the session or the server was lost. The outcome of a running statement is then unknown. */
export function isConnectionLost(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== null) return /^(?:08|57P0)/.test(state) || state === too_many_sessions || waitedInVain.has(state);
  if (!(error instanceof Error)) return false;
  if (error instanceof CommitLost || error instanceof NoSession || error instanceof ReadOnlyServer) return true;
  // A failover passes; a wrong password does not.
  if (error instanceof NoPrimary) return error.reasons.some(isConnectionLost);
  // A file's error has a path, a socket's has an address.
  if ("code" in error && typeof error.code === "string" && socketErrors.has(error.code)) return !("path" in error);
  return (
    isUnanswered(error) || /^(?:Connection terminated|Client has encountered a connection error)/.test(error.message)
  );
}

/** In order: no free session, no session opened (client, pool), no answer. */
const unanswered =
  /^(?:timeout exceeded|timeout expired|Connection terminated due to connection timeout|Query read timeout)/;

/** Returns true after a timeout for a session or for an answer. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof Error && unanswered.test(error.message);
}

/** Returns true if the session must be closed. A read-only session stays read-only. */
export function isSessionUseless(error: unknown): boolean {
  return isConnectionLost(error) || sqlState(error) === read_only;
}

const read_only = "25006";

/** Out of disk, memory or sessions; a failing disk. */
const outOfMeans = /^(?:53|58030$)/;

/**
 * Returns true if the server refuses new sessions or all writes: closed database, changed password, full disk or
 * memory, or a standby.
 */
export function isOutOfService(error: unknown): boolean {
  const state = sqlState(error);
  if (state === null) return false;
  return [read_only, "3D000", "55000"].includes(state) || state.startsWith("28") || outOfMeans.test(state);
}

/** Returns true after the server's statement or lock timeout. */
export function isOutOfTime(error: unknown): boolean {
  return ["57014", "55P03"].includes(sqlState(error) ?? "");
}

/** Returns true if concurrent transactions caused a rollback, so a retry may succeed. */
export function isConflict(error: unknown): boolean {
  const state = sqlState(error);
  return state === "40001" || state === "40P01";
}
