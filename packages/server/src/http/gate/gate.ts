/**
 * Everything that is decided about a request before its body is read, in this order and nowhere else:
 *
 *   key → networks that it is bound to → role → rate window → (then, in `serve`: query → body → validation → handler)
 *
 * Whoever has no valid key learns nothing about what it sent or what exists, but that its head cannot be read. A refusal of
 * the head or of the first three steps still takes its place in a rate window: without a valid key the client address' window,
 * with one the key's. A full window answers 429 instead of whatever else was wrong, and that costs nothing.
 * Source: api.md §2 "Order of refusals" and "Rate windows"; contract §5 and §8.
 */

import type { IncomingMessage } from "node:http";
import { type ErrorCode, type Operation, rateCategories, roleMeets, roleNames } from "@countersign/contract";
import { clientIp, clientNetwork, Fault, faultAt, type NetworkList } from "@countersign/core";
import { noSession } from "../../operations/people/session.ts";
import { sourceRefusal } from "../../operations/shared/bindings.ts";
import type { Caller } from "../../operations/shared/caller.ts";
import { rateLimitFault } from "../../operations/shared/rate-limit-fault.ts";
import type { RateWindows } from "../../ports.ts";
import { faultOf } from "../answer/faults.ts";
import {
  clientBucket,
  keyBucket,
  type RateLimits,
  type RateUse,
  refundRate,
  type Unsettled,
  useRate,
} from "../answer/rate-limit.ts";
import { crossOrigin, isSameOrigin, type SessionCookies } from "./cookie.ts";
import type { Keys } from "./keys.ts";
import { type Known, reload } from "./known.ts";
import { isLocal, mayBeForwarded } from "./local.ts";
import type { Sessions } from "./sessions.ts";

/** What the gate of one node works with. */
export interface GateDeps {
  readonly keys: Keys;
  readonly sessions: Sessions;
  readonly cookies: SessionCookies;
  /** Base address of this service: where its own pages come from. */
  readonly public_url: () => string;
  /** False: the operations that make organizations refuse, whatever they are sent. */
  readonly signup_open: boolean;
  readonly windows: RateWindows;
  readonly unsettled: Unsettled;
  /** The limits of callers without a key. */
  readonly limits: RateLimits;
  readonly trust: NetworkList;
}

/** How a request left the gate. */
export interface Admission {
  /** Null: the operation asks for no key, or no valid one came. */
  readonly known: Known | null;
  /** The caller came from memory: refusals have to be checked against the database before they are answered. */
  readonly recalled: boolean;
  /** Why the request goes no further; null: it may. */
  readonly fault: Fault | null;
  /** Null: the operation is not rate-limited. */
  readonly use: RateUse | null;
}

/** One request at the gate. */
export interface Visit {
  readonly operation: Operation;
  /** A known key may be taken from memory. */
  readonly recall: boolean;
  readonly request: IncomingMessage;
  /** What is wrong with its head; null: nothing. */
  readonly unreadable: Fault | null;
  readonly now_us: number;
}

/**
 * Lets a request in or says why not. Never rejects. Answers at once when nothing has to be asked of the database or of
 * Redis.
 */
export function admit(deps: GateDeps, visit: Visit): Admission | Promise<Admission> {
  if (visit.operation.auth === "none") {
    const closed = !deps.signup_open && visit.operation.refuses?.includes("signup_closed");
    return count(deps, visit, { known: null, recalled: false, fault: closed ? new Fault("signup_closed") : null });
  }
  const key = visit.request.headers["x-api-key"];
  if (visit.recall && typeof key === "string") {
    const known = deps.keys.recall(key, visit.now_us);
    if (known !== undefined) {
      // The key may have been bound to other networks since.
      if (outsideNetworks(deps, visit.request, known.caller) !== null) return admitPresented(deps, visit, key);
      const admission = admitKnown(deps, visit, known, true);
      return admission instanceof Promise
        ? admission.then((each) => unlessFull(deps, visit, key, each))
        : unlessFull(deps, visit, key, admission);
    }
  }
  return admitPresented(deps, visit, key);
}

/** The limits of a caller from memory may have been raised since: a window that is full under them is looked at again. */
function unlessFull(deps: GateDeps, visit: Visit, key: string, admission: Admission): Admission | Promise<Admission> {
  return admission.use?.taken.allowed === false ? admitPresented(deps, visit, key) : admission;
}

/** Lets in whoever the key or the session is by the database. */
function admitPresented(deps: GateDeps, visit: Visit, key: string | string[] | undefined): Promise<Admission> {
  return identify(deps, visit, key).then(
    (known) => admitKnown(deps, visit, known, false),
    (error: unknown) => {
      const fault = faultOf(error);
      // Where no key would do it is of no use to ask for one.
      const told = fault.code === "missing_api_key" && visit.operation.auth === "session" ? noSession() : fault;
      return count(deps, visit, { known: null, recalled: false, fault: told });
    },
  );
}

/**
 * Asks the database about a caller that came from memory before anything but a commit under its epoch is answered. Null:
 * the key is valid and may be used from here. Otherwise the request is what it would have been at the gate.
 */
export async function recheck(deps: GateDeps, visit: Visit, admission: Admission): Promise<Admission | null> {
  if (!admission.recalled || admission.known === null) return null;
  try {
    const fault = forbidden(deps, visit, await deps.keys.reload(admission.known.caller));
    return fault === null ? null : { ...admission, fault };
  } catch (error) {
    if (admission.use !== null) await refundRate(deps.windows, admission.use, nowMs(visit));
    return count(deps, visit, { known: null, recalled: false, fault: faultOf(error) });
  }
}

/** Whom the service's own page was opened for when it writes: a user_id, or `open_mode`. */
const caller_header = "x-service-caller";

/**
 * How long a body may take without a second look. Two requests a second fit into the limit of a minute: with 1 s here, one was
 * under way at every moment; with 0.1 s four moments of five have none.
 */
const slow_body_us = 100_000;
/** Of intents: what is decided is committed under its key's epoch, and batches wait for their turn. */
const slow_intents_us = 1_000_000;

/**
 * The caller of a request whose body has arrived. Where that took its time the caller is looked at again: else whoever has
 * a stolen session or key could keep a request in the air that makes a new key once the old one was revoked.
 * Faults: those of the gate.
 */
export function stillAdmitted(
  deps: GateDeps,
  visit: Visit,
  { caller }: Known,
  now_us: number,
): Caller | Promise<Caller> {
  const slow_us = visit.operation.rate === "intents" ? slow_intents_us : slow_body_us;
  if (now_us - visit.now_us < slow_us) return caller;
  return reload(caller).then((current) => {
    const fault = forbidden(deps, visit, current);
    if (fault !== null) throw fault;
    return current;
  });
}

/**
 * In open mode no key is asked for, so a wrong one is no harm there: it is only looked at once open mode is over. Operations on one's own
 * session have no open mode, because it is no person: wrong credentials are refused there as always.
 */
async function identify(deps: GateDeps, visit: Visit, key: string | string[] | undefined): Promise<Known> {
  const given = typeof key === "string" && key !== "";
  try {
    if (given) return await deps.keys.identify(key, visit.operation.rate === "intents");
  } catch (error) {
    return openModeFor(deps, visit, error, "invalid_api_key");
  }
  const session = deps.cookies.read(visit.request.headers);
  if (session !== null) {
    try {
      return await deps.sessions.identify(session);
    } catch (error) {
      return openModeFor(deps, visit, error, "missing_api_key");
    }
  }
  if (!mayUseOpenMode(deps, visit)) throw new Fault("missing_api_key");
  return deps.keys.openMode();
}

/** Open mode is for this machine alone: no admin's rights where a stranger could look the same. */
function mayUseOpenMode({ trust, public_url }: GateDeps, { operation, request }: Visit): boolean {
  if (operation.auth === "session") return false;
  return isLocal(request) && !mayBeForwarded(request.socket.remoteAddress ?? "", trust, public_url());
}

/** Open mode's caller for whoever came with a key or session that is none (`code`); else, and once open mode is over, that is said. */
async function openModeFor(deps: GateDeps, visit: Visit, error: unknown, code: ErrorCode): Promise<Known> {
  if (!mayUseOpenMode(deps, visit) || faultOf(error).code !== code) throw error;
  return deps.keys.openMode().catch(() => {
    throw error;
  });
}

function admitKnown(deps: GateDeps, visit: Visit, known: Known, recalled: boolean): Admission | Promise<Admission> {
  return count(deps, visit, { known, recalled, fault: forbidden(deps, visit, known.caller) });
}

/** Why a key may not be used from where the request comes from; null: it may. */
function outsideNetworks(deps: GateDeps, request: IncomingMessage, caller: Caller): Fault | null {
  return caller.bindings === null ? null : sourceRefusal(caller, ipOf(deps, request));
}

/** Why a caller that is known may not do this; null: it may. */
function forbidden(deps: GateDeps, { operation, request }: Visit, caller: Caller): Fault | null {
  // A key is sent on purpose. A cookie goes by itself, and in open mode being on this machine is enough.
  const unasked = caller.key_id === null && operation.method !== "GET";
  // A login in another tab changes the cookie under a page: what it goes on to write would be another person's word. Looked at
  // first: what the other person's role allows is no answer to whoever wrote.
  const page_of = request.headers[caller_header];
  if (unasked && page_of !== undefined && page_of !== caller.actor) {
    const message = "Somebody else has signed in in this browser since this page was opened. Nothing was done.";
    return faultAt("forbidden", "/X-Service-Caller", "another_caller", message);
  }
  const outside = outsideNetworks(deps, request, caller);
  if (outside !== null) return outside;
  if (!roleMeets(caller.role, operation.auth)) {
    const able = roleNames.filter((role) => roleMeets(role, operation.auth));
    return faultAt("forbidden", "", "not_allowed", `Roles that may: ${able.join(", ")}.`);
  }
  if (operation.auth === "session" && caller.user_id === null) {
    const message = "Only people who are signed in may; no API key does, whatever its role.";
    return faultAt("forbidden", "", "not_allowed", message);
  }
  // The page that a browser writes for has to be ours. A cookie is a browser's, so a write with one has to say where it comes from.
  return !unasked || isSameOrigin(request.headers, deps.public_url()) ? null : crossOrigin();
}

function count(deps: GateDeps, visit: Visit, so_far: Omit<Admission, "use">): Admission | Promise<Admission> {
  const category = visit.operation.rate;
  if (category === null) return { ...so_far, fault: visit.unreadable ?? so_far.fault, use: null };
  const caller = so_far.known?.caller;
  const bucket =
    caller?.lineage_id != null && rateCategories[category].counted_by === "key"
      ? keyBucket(category, caller.org_id, caller.lineage_id)
      : clientBucket(category, ipOf(deps, visit.request));
  const limit = (so_far.known?.limits ?? deps.limits)[category];
  const looks = so_far.fault === null && mayBeUnchanged(visit) && deps.unsettled.enter(bucket, limit);
  const use = useRate(deps.windows, looks ? "look" : "take", category, bucket, limit, nowMs(visit));
  return use instanceof Promise
    ? use.then((each) => counted(deps, visit, so_far, each))
    : counted(deps, visit, so_far, use);
}

/**
 * A 304 does not count, and may take most of a minute to find out: such a request takes its place with its answer. Only as many
 * as the limit at once: nobody holds any number of them for nothing. More take theirs at the gate, and get it back.
 */
function mayBeUnchanged({ operation, request, unreadable }: Visit): boolean {
  return unreadable === null && operation.conditional === true && request.headers["if-none-match"] !== undefined;
}

/**
 * Settles what a request counts for, now that its answer is known: one that is `unchanged` has no place in its window, one
 * that was let in on a look takes it now. The fault is the 429 of a window that has filled up meanwhile. Answers at once where
 * nothing is to be settled, which is nearly always.
 */
export function settleRate(
  deps: Pick<GateDeps, "windows" | "unsettled">,
  admission: Admission,
  unchanged: boolean,
  now_us: number,
): Admission | Promise<Admission> {
  const { use } = admission;
  if (use === null || (use.settled && !unchanged)) return admission;
  return settleUse(deps, admission, use, unchanged, Math.floor(now_us / 1000));
}

async function settleUse(
  { windows, unsettled }: Pick<GateDeps, "windows" | "unsettled">,
  admission: Admission,
  use: RateUse,
  unchanged: boolean,
  now_ms: number,
): Promise<Admission> {
  if (use.settled) return { ...admission, use: await refundRate(windows, use, now_ms) };
  unsettled.leave(use.bucket);
  const kind = unchanged ? "look" : "take";
  const now = await useRate(windows, kind, use.category, use.bucket, use.taken.limit, now_ms);
  const fault = unchanged || now.taken.allowed ? null : rateLimitFault(now.taken.retry_after);
  return { ...admission, use: { ...now, settled: true }, fault };
}

function counted(
  deps: GateDeps,
  visit: Visit,
  { known, recalled, fault }: Omit<Admission, "use">,
  use: RateUse,
): Admission | Promise<Admission> {
  if (!use.taken.allowed) {
    if (!use.settled) deps.unsettled.leave(use.bucket);
    return { known, recalled, fault: rateLimitFault(use.taken.retry_after), use };
  }
  const admission = { known, recalled, fault: visit.unreadable ?? fault, use };
  // A key that could not be read is nobody's request: an outage must not use up the budget of a whole office.
  if (fault?.code !== "unavailable" && fault?.code !== "internal_error") return admission;
  return refundRate(deps.windows, use, nowMs(visit)).then((refunded) => ({ ...admission, use: refunded }));
}

/** Rate windows count in whole milliseconds. */
function nowMs(visit: Visit): number {
  return Math.floor(visit.now_us / 1000);
}

/** Whom a request counts for, whatever it asks for: a key with its rotations, or the network of a client without one. */
export function holderOf(deps: Pick<GateDeps, "trust">, request: IncomingMessage, caller: Caller | null): string {
  return caller?.lineage_id == null ? clientNetwork(ipOf(deps, request)) : `${caller.org_id} ${caller.lineage_id}`;
}

/** The address of the client, as far as it can be believed. */
export function ipOf(deps: Pick<GateDeps, "trust">, { socket, headers }: IncomingMessage): string {
  const forwarded = headers["x-forwarded-for"];
  return clientIp(socket.remoteAddress ?? null, Array.isArray(forwarded) ? forwarded.join() : forwarded, deps.trust);
}
