import { limits, type OpenSession, type Session } from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs, sha256Hex, us_per_second } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { lockHead, withHead } from "../../store/organizations/heads.ts";
import { type Person, readPerson, shownUser } from "../../store/people/people.ts";
import {
  countMfaFailure,
  deleteSessions,
  endLogin,
  insertSession,
  isStrongSession,
  noteSeen,
  type PresentedSession,
  readSession,
  listSessions as readSessions,
  sessionStands,
} from "../../store/people/sessions.ts";
import { decodeCursor, idPlace, page, pageLimitDefault } from "../../store/rows/cursor.ts";
import { databaseNowUs } from "../../store/rows/database-now.ts";
import type { Recording, Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

/** About 256 random bits. */
const token_chars = 43;
const isSession = idPlace("session");
const seen_every_seconds = 60;

export interface Client {
  readonly ip: string | null;
  readonly user_agent: string | null;
}

export interface Begun {
  readonly session: Session;
  readonly token: string;
  readonly lifetime_seconds: number;
}

/** Returns the hash under which a token is stored. A fast hash suffices for 256 random bits. */
export function tokenHash(token: string): string {
  return sha256Hex(token);
}

export function newToken(runtime: Pick<Runtime, "ids">): string {
  return runtime.ids.secret(token_chars);
}

/** How a session begins. Absent: false. */
export interface Beginning {
  /** The session only accepts the second factor. */
  readonly mfa_pending?: boolean;
  /** A passkey, or a provider that confirmed more than one factor, began it. */
  readonly strong?: boolean;
}

/** Begins a session in the caller's system transaction. */
export async function beginSession(
  runtime: Pick<Runtime, "ids">,
  query: Query,
  person: Person,
  client: Client,
  { mfa_pending = false, strong = false }: Beginning = {},
): Promise<Begun> {
  const now_us = await databaseNowUs(query);
  const lifetime_seconds = mfa_pending ? limits.session_mfa_seconds : limits.session_lifetime_seconds;
  const { org_id, user_id } = person;
  const session_id = runtime.ids.next("session");
  const created_at = formatTimestampUs(now_us);
  const expires_at = formatTimestampUs(now_us + lifetime_seconds * us_per_second);
  const token = newToken(runtime);
  if (!mfa_pending) {
    await withHead(query, org_id, {
      audit: [
        auditRow(runtime.ids, {
          intent_id: null,
          at: created_at,
          actor: user_id,
          type: "session_began",
          data: { session_id },
        }),
      ],
    });
  }
  await insertSession(query, {
    org_id,
    session_id,
    user_id,
    token_sha256: tokenHash(token),
    mfa_pending,
    strong,
    client_ip: client.ip,
    user_agent: client.user_agent?.slice(0, 512) ?? null,
    created_at,
    expires_at,
  });
  const user = mfa_pending ? null : shownUser({ ...person, last_seen_at: created_at });
  if (!mfa_pending) await noteSeen(query, { org_id, session_id, user_id });
  return { session: { session_id, org_id, user, mfa_required: mfa_pending, expires_at }, token, lifetime_seconds };
}

export async function findSession(query: Query, token: string): Promise<PresentedSession | undefined> {
  const session = await readSession(query, tokenHash(token));
  if (session === undefined || session.over) return undefined;
  if (!session.mfa_pending && session.unseen_seconds >= seen_every_seconds) await noteSeen(query, session);
  return session;
}

export async function getSession(runtime: Pick<Runtime, "db">, token: string | null): Promise<Session> {
  if (token === null) throw noSession();
  return runtime.db.system(async (query) => {
    const found = await findSession(query, token);
    const person = found && (await readPerson(query, found.org_id, found.user_id));
    if (found === undefined || person === undefined) throw noSession();
    const { session_id, org_id, mfa_pending, expires_at } = found;
    return { session_id, org_id, user: mfa_pending ? null : shownUser(person), mfa_required: mfa_pending, expires_at };
  });
}

export function noSession(): Fault {
  const message = "Nobody is signed in: there is no session, it is over, or it waits for its second factor.";
  return faultAt("missing_api_key", "", "no_session", message);
}

export function personCalling(caller: Caller): { org_id: string; user_id: string; session_id: string } {
  const { org_id, user_id, session_id } = caller;
  if (user_id === null || session_id === null) throw new Fault("forbidden");
  return { org_id, user_id, session_id };
}

export async function listSessions(
  runtime: Pick<Runtime, "db">,
  caller: Caller,
  { limit = pageLimitDefault, cursor }: { readonly limit?: number; readonly cursor?: string } = {},
): Promise<{ sessions: OpenSession[]; next_cursor: string | null }> {
  const { org_id, user_id, session_id } = personCalling(caller);
  const before = decodeCursor(cursor, isSession);
  const found = await runtime.db.tenant(org_id, (query) => readSessions(query, org_id, user_id, limit + 1, before));
  const { rows, next_cursor } = page(found, limit, (each) => each.session_id);
  return { sessions: rows.map((each) => ({ ...each, current: each.session_id === session_id })), next_cursor };
}

/**
 * Ends sessions in the caller's system transaction. After the commit, all nodes refuse them, and no decision is
 * committed under them. Returns their number.
 */
export async function endSessions(
  runtime: Pick<Runtime, "clock" | "ids">,
  query: Query,
  of: { readonly org_id: string; readonly user_id: string },
  actor: string,
  which: { readonly only?: string } = {},
): Promise<number> {
  const { org_id, user_id } = of;
  let ended = 0;
  await withHead(query, org_id, async () => {
    ended = await deleteSessions(query, org_id, user_id, which);
    if (ended === 0) return null;
    const at = formatTimestampUs(runtime.clock.now_us());
    const data = { user_id, sessions: ended };
    return {
      raise: ["auth"],
      audit: [auditRow(runtime.ids, { intent_id: null, at, actor, type: "sessions_ended", data })],
    };
  });
  return ended;
}

/**
 * Counts a wrong code or password in the caller's system transaction, which holds the person's row. After
 * `session_mfa_failures_max` the session ends, so that a thief cannot keep guessing. Throw the fault after the commit.
 */
export async function countWrong(
  runtime: Pick<Runtime, "clock" | "ids">,
  query: Query,
  person: Pick<Person, "org_id" | "user_id">,
  session_id: string,
): Promise<void> {
  const { org_id, user_id } = person;
  let failures = 0;
  await withHead(query, org_id, async () => {
    failures = (await countMfaFailure(query, org_id, session_id)) ?? 0;
    return null;
  });
  if (failures >= limits.session_mfa_failures_max)
    await endSessions(runtime, query, person, user_id, { only: session_id });
}

/** Locks the organization's head and refuses an ended session. Faults: missing_api_key. */
export async function requireStanding(
  query: Query,
  of: { readonly org_id: string; readonly session_id: string },
): Promise<void> {
  await lockHead(query, of.org_id);
  if (!(await sessionStands(query, of.org_id, of.session_id))) throw noSession();
}

/**
 * Replaces all sessions of a person by a new one, in the caller's system transaction, which holds the person's row.
 * Faults: missing_api_key (the current session ended).
 */
export async function replaceSessions(
  runtime: Pick<Runtime, "clock" | "ids">,
  query: Query,
  person: Person,
  session_id: string,
  client: Client,
): Promise<Begun> {
  const { org_id, user_id } = person;
  await requireStanding(query, { org_id, session_id });
  const strong = await isStrongSession(query, org_id, session_id);
  await endSessions(runtime, query, person, user_id);
  return beginSession(runtime, query, person, client, { strong });
}

export async function logOut(runtime: Recording, token: string | null): Promise<void> {
  if (token === null) return;
  await runtime.db.system(async (query) => {
    const session = await readSession(query, tokenHash(token));
    if (session?.mfa_pending) await endLogin(query, session.org_id, session.session_id);
    else if (session !== undefined)
      await endSessions(runtime, query, session, session.user_id, { only: session.session_id });
  });
}

/**
 * Ends one of the caller's sessions, or all (`session_id` null). Faults: not_found, missing_api_key (the calling
 * session ended).
 */
export async function endOwnSessions(runtime: Recording, caller: Caller, session_id: string | null): Promise<void> {
  const person = personCalling(caller);
  await runtime.db.system(async (query) => {
    const which = session_id === null ? {} : { only: session_id };
    await requireStanding(query, person);
    const ended = await endSessions(runtime, query, person, person.user_id, which);
    if (ended === 0 && session_id !== null) throw new Fault("not_found");
  });
}
