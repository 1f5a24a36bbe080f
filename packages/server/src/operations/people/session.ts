/** Sessions: begun by whoever showed who they are, read by the gate at every request, ended for good. Source: api.md §9. */
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
  noteSeen,
  type PresentedSession,
  readSession,
  readSessionBegin,
  listSessions as readSessions,
  sessionStands,
} from "../../store/people/sessions.ts";
import { decodeCursor, idPlace, page, pageLimitDefault } from "../../store/rows/cursor.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

/** About 256 bits. */
const token_chars = 43;
const isSession = idPlace("session");
const idle_us = limits.session_idle_seconds * us_per_second;
const seen_every_us = 60 * us_per_second;

/** Where a session is used from, for its owner's list. */
export interface Client {
  readonly ip: string | null;
  readonly user_agent: string | null;
}

/** A session with the text of its cookie, which is nowhere else. */
export interface Begun {
  readonly session: Session;
  readonly token: string;
}

/** By what tokens are looked up. Fast on purpose: what is hashed are 256 random bits. */
export function tokenHash(token: string): string {
  return sha256Hex(token);
}

/** The text of a new token. */
export function newToken(runtime: Pick<Runtime, "ids">): string {
  return runtime.ids.secret(token_chars);
}

/** Begins a session in the caller's system transaction. `mfa_pending`: only the second factor may be given with it. */
export async function beginSession(
  runtime: Pick<Runtime, "clock" | "ids">,
  query: Query,
  person: Person,
  client: Client,
  mfa_pending = false,
): Promise<Begun> {
  const now_us = runtime.clock.now_us();
  const lifetime = mfa_pending ? limits.session_mfa_seconds : limits.session_lifetime_seconds;
  const { org_id, user_id } = person;
  const session_id = runtime.ids.next("session");
  const created_at = formatTimestampUs(now_us);
  const expires_at = formatTimestampUs(now_us + lifetime * us_per_second);
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
    client_ip: client.ip,
    user_agent: client.user_agent?.slice(0, 512) ?? null,
    created_at,
    expires_at,
  });
  const user = mfa_pending ? null : shownUser({ ...person, last_seen_at: created_at });
  if (!mfa_pending) await noteSeen(query, { org_id, session_id, user_id }, created_at);
  return { session: { session_id, org_id, user, mfa_required: mfa_pending, expires_at }, token };
}

/**
 * The session of a cookie as of now; undefined: there is none, or it is over. One that was seen a day from now is of a clock that
 * was ahead: it would outlive all others by as much. System scope.
 */
export async function findSession(
  runtime: Pick<Runtime, "clock">,
  query: Query,
  token: string,
): Promise<PresentedSession | undefined> {
  const session = await readSession(query, tokenHash(token));
  const now_us = runtime.clock.now_us();
  if (session === undefined || now_us >= session.expires_us || Math.abs(now_us - session.last_seen_us) >= idle_us)
    return undefined;
  if (!session.mfa_pending && now_us - session.last_seen_us >= seen_every_us) {
    await noteSeen(query, session, formatTimestampUs(now_us));
  }
  return session;
}

/** The session of a cookie, as its owner sees it. Faults: missing_api_key when there is none. */
export async function getSession(runtime: Pick<Runtime, "db" | "clock">, token: string | null): Promise<Session> {
  if (token === null) throw noSession();
  return runtime.db.system(async (query) => {
    const found = await findSession(runtime, query, token);
    const person = found && (await readPerson(query, found.org_id, found.user_id));
    if (found === undefined || person === undefined) throw noSession();
    const { session_id, org_id, mfa_pending, expires_at } = found;
    return { session_id, org_id, user: mfa_pending ? null : shownUser(person), mfa_required: mfa_pending, expires_at };
  });
}

/** What whoever has no session is told, or one that is over or waits for its second factor: a key would not help. */
export function noSession(): Fault {
  const message = "Nobody is signed in: there is no session, it is over, or it waits for its second factor.";
  return faultAt("missing_api_key", "", "no_session", message);
}

/** A signed-in caller. Faults: forbidden for keys and in open mode. */
export function personCalling(caller: Caller): { org_id: string; user_id: string; session_id: string } {
  const { org_id, user_id, session_id } = caller;
  if (user_id === null || session_id === null) throw new Fault("forbidden");
  return { org_id, user_id, session_id };
}

/**
 * Refuses what would leave another way in behind (authenticator, passkey) to a session that began long ago: whoever has
 * stolen its cookie could stay after it has ended. So it is to one that begins in as long: the clock was ahead. Faults: forbidden (too old), missing_api_key (it ended meanwhile).
 */
export async function requireFreshSession(
  { clock }: Pick<Runtime, "clock">,
  query: Query,
  org_id: string,
  session_id: string,
): Promise<void> {
  const began_us = await readSessionBegin(query, org_id, session_id);
  if (began_us === undefined) throw noSession();
  if (Math.abs(clock.now_us() - began_us) <= limits.session_fresh_seconds * us_per_second) return;
  const minutes = limits.session_fresh_seconds / 60;
  const message = `Sign in again: a new way to sign in is added within ${minutes} minutes of signing in.`;
  throw faultAt("forbidden", "", "session_too_old", message);
}

/** The caller's own sessions, newest first. Faults: invalid_request (cursor). */
export async function listSessions(
  runtime: Pick<Runtime, "db" | "clock">,
  caller: Caller,
  { limit = pageLimitDefault, cursor }: { readonly limit?: number; readonly cursor?: string } = {},
): Promise<{ sessions: OpenSession[]; next_cursor: string | null }> {
  const { org_id, user_id, session_id } = personCalling(caller);
  const before = decodeCursor(cursor, isSession);
  const now_us = runtime.clock.now_us();
  const open = { now: formatTimestampUs(now_us), seen_after: formatTimestampUs(now_us - idle_us) };
  const found = await runtime.db.tenant(org_id, (query) =>
    readSessions(query, org_id, user_id, open, limit + 1, before),
  );
  const { rows, next_cursor } = page(found, limit, (each) => each.session_id);
  return { sessions: rows.map((each) => ({ ...each, current: each.session_id === session_id })), next_cursor };
}

/**
 * Ends sessions in the caller's system transaction: once that has committed no request that begins later succeeds with
 * them, on any node, and no decision is committed under them.
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
 * Counts a wrong code or password that was given in a session, in the caller's system transaction, which holds the person's
 * row. After as many as end a login the session ends: whoever has stolen one could otherwise guess for as long as it lasts,
 * from as many addresses as it has. The transaction has to commit, so the fault is thrown outside.
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

/** Refuses what comes from a session that was ended meanwhile, and locks the organization's head. Faults: missing_api_key. */
export async function requireStanding(
  query: Query,
  of: { readonly org_id: string; readonly session_id: string },
): Promise<void> {
  await lockHead(query, of.org_id);
  if (!(await sessionStands(query, of.org_id, of.session_id))) throw noSession();
}

/**
 * Ends every session of a person and begins one in place of its current one, in the caller's system transaction, which
 * holds the person's row. Faults: missing_api_key where the current one was ended meanwhile: nothing begins in its place.
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
  await endSessions(runtime, query, person, user_id);
  return beginSession(runtime, query, person, client);
}

/** Ends the session of a cookie, if it has one. */
export async function logOut(runtime: Pick<Runtime, "db" | "clock" | "ids">, token: string | null): Promise<void> {
  if (token === null) return;
  await runtime.db.system(async (query) => {
    const session = await readSession(query, tokenHash(token));
    if (session?.mfa_pending) await endLogin(query, session.org_id, session.session_id);
    else if (session !== undefined)
      await endSessions(runtime, query, session, session.user_id, { only: session.session_id });
  });
}

/**
 * Ends one of the caller's own sessions, or all of them (`session_id` null). Faults: not_found, missing_api_key (the caller's own
 * was ended meanwhile: those that began since are not its to end).
 */
export async function endOwnSessions(
  runtime: Pick<Runtime, "db" | "clock" | "ids">,
  caller: Caller,
  session_id: string | null,
): Promise<void> {
  const person = personCalling(caller);
  await runtime.db.system(async (query) => {
    const which = session_id === null ? {} : { only: session_id };
    await requireStanding(query, person);
    const ended = await endSessions(runtime, query, person, person.user_id, which);
    if (ended === 0 && session_id !== null) throw new Fault("not_found");
  });
}
