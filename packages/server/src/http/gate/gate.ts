/**
 * Decides about a request before its body is read:
 *
 * key → networks that it is bound to → role → rate window → (then, in `serve`: query → body → validation → handler)
 *
 * A caller without a valid key learns nothing about its request or about existing objects, except that its head is
 * unreadable. A refusal takes a place in the rate window of the key, or of the client address without a valid key. A
 * full window answers 429 instead.
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
import { bearerToken } from "./bearer.ts";
import { crossOrigin, isSameOrigin, type SessionCookies } from "./cookie.ts";
import type { Keys } from "./keys.ts";
import { type Known, reload } from "./known.ts";
import { isLocal, mayBeForwarded } from "./local.ts";
import type { Sessions } from "./sessions.ts";

export interface GateDeps {
  readonly keys: Keys;
  readonly sessions: Sessions;
  readonly cookies: SessionCookies;
  /** The service's own pages come from this base address. */
  readonly public_url: () => string;
  /** False: operations that create organizations are refused. */
  readonly signup_open: boolean;
  readonly windows: RateWindows;
  readonly unsettled: Unsettled;
  /** For callers without a key. */
  readonly limits: RateLimits;
  readonly trust: NetworkList;
}

export interface Admission {
  /** Null: no key was needed, or none was valid. */
  readonly known: Known | null;
  /** From memory, so a refusal must be checked against the database first. */
  readonly recalled: boolean;
  /** Null: admitted. */
  readonly fault: Fault | null;
  /** Null: not rate-limited. */
  readonly use: RateUse | null;
}

export interface Visit {
  readonly operation: Operation;
  /** A known key may be taken from memory. */
  readonly recall: boolean;
  readonly request: IncomingMessage;
  readonly unreadable: Fault | null;
  readonly now_us: number;
}

/** Never rejects. Synchronous if neither database nor Redis is needed. */
export function admit(deps: GateDeps, visit: Visit): Admission | Promise<Admission> {
  if (visit.operation.auth === "none") {
    const closed = !deps.signup_open && visit.operation.refuses?.includes("signup_closed");
    return count(deps, visit, { known: null, recalled: false, fault: closed ? new Fault("signup_closed") : null });
  }
  const key = presentedKey(visit);
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

/** An operation may also take the key from Authorization. X-API-Key wins, because proxies add the other one. */
function presentedKey({ operation, request: { headers } }: Visit): string | string[] | undefined {
  const key = headers["x-api-key"];
  if (operation.bearer !== true || (key !== undefined && key !== "")) return key;
  return bearerToken(headers.authorization) ?? key;
}

/** If the window is full, reads the caller again, because its limits may have been raised since. */
function unlessFull(deps: GateDeps, visit: Visit, key: string, admission: Admission): Admission | Promise<Admission> {
  return admission.use?.taken.allowed === false ? admitPresented(deps, visit, key) : admission;
}

function admitPresented(deps: GateDeps, visit: Visit, key: string | string[] | undefined): Promise<Admission> {
  return identify(deps, visit, key).then(
    (known) => admitKnown(deps, visit, known, false),
    (error: unknown) => {
      const fault = faultOf(error);
      // If no key may call this operation, the fault must not ask for one.
      const reported = fault.code === "missing_api_key" && visit.operation.auth === "session" ? noSession() : fault;
      return count(deps, visit, { known: null, recalled: false, fault: reported });
    },
  );
}

/** Reads a caller from memory again, before any answer except a commit under its epoch. Null: the key is valid. */
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

/** Header of the service's pages with their user: a user_id, or `open_mode`. */
const caller_header = "x-service-caller";

/**
 * A slower body causes a second check of the caller. With 1 s, a session could keep a request in flight at all times
 * within its rate limit.
 */
const slow_body_us = 100_000;
/** Longer, because decisions are committed under their key's epoch, and batches wait for their turn. */
const slow_intents_us = 1_000_000;

/**
 * Reads the caller again after a slow body. Otherwise a thief could keep a request open and create a key after the
 * stolen one was revoked. Faults: those of the gate.
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

/** A wrong key is checked only after open mode has ended. */
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

/** True: a request of this machine that another machine's request cannot imitate. */
function mayUseOpenMode({ trust, public_url }: GateDeps, { operation, request }: Visit): boolean {
  if (operation.auth === "session") return false;
  return isLocal(request) && !mayBeForwarded(request.socket.remoteAddress ?? "", trust, public_url());
}

/** `code`: the expected fault of an invalid key or session. Without open mode, throws the error. */
async function openModeFor(deps: GateDeps, visit: Visit, error: unknown, code: ErrorCode): Promise<Known> {
  if (!mayUseOpenMode(deps, visit) || faultOf(error).code !== code) throw error;
  return deps.keys.openMode().catch(() => {
    throw error;
  });
}

function admitKnown(deps: GateDeps, visit: Visit, known: Known, recalled: boolean): Admission | Promise<Admission> {
  return count(deps, visit, { known, recalled, fault: forbidden(deps, visit, known.caller) });
}

/** Null: the network is allowed. */
function outsideNetworks(deps: GateDeps, request: IncomingMessage, caller: Caller): Fault | null {
  return caller.bindings === null ? null : sourceRefusal(caller, ipOf(deps, request));
}

/** Null: allowed. */
function forbidden(deps: GateDeps, { operation, request }: Visit, caller: Caller): Fault | null {
  // Browsers add cookies without asking, and in open mode any request of this machine is enough.
  const implicit_write = caller.key_id === null && operation.method !== "GET";
  // A login in another tab changes the cookie, so the other person would make this page's write. Checked first, because
  // a fault about the other person's role would mislead.
  const page_of = request.headers[caller_header];
  if (implicit_write && page_of !== undefined && page_of !== caller.actor) {
    const message = "Another person has signed in in this browser since this page was opened. Nothing was done.";
    return faultAt("forbidden", "/X-Service-Caller", "another_caller", message);
  }
  const outside = outsideNetworks(deps, request, caller);
  if (outside !== null) return outside;
  if (caller.second_factor_missing && operation.without_second_factor === undefined)
    return new Fault("second_factor_required");
  if (!roleMeets(caller.role, operation.auth)) {
    const able = roleNames.filter((role) => roleMeets(role, operation.auth));
    return faultAt("forbidden", "", "not_allowed", `Roles that may: ${able.join(", ")}.`);
  }
  if (operation.auth === "session" && caller.user_id === null) {
    const message = "Only signed-in people may call this operation; no API key may, whatever its role.";
    return faultAt("forbidden", "", "not_allowed", message);
  }
  // A write with a cookie must name its origin: our own page.
  return !implicit_write || isSameOrigin(request.headers, deps.public_url()) ? null : crossOrigin();
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
 * True: the request may end in a 304, which does not count and may take most of a minute. Such a request takes its
 * place with its answer, for at most `limit` requests of a caller. Further ones take a place at the gate.
 */
function mayBeUnchanged({ operation, request, unreadable }: Visit): boolean {
  return unreadable === null && operation.conditional === true && request.headers["if-none-match"] !== undefined;
}

/**
 * Settles the count of an answered request. An `unchanged` one returns its place. One without a place takes it now, and
 * gets a 429 if the window has filled.
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
  // An outage must not use up the budget of a whole office.
  if (fault?.code !== "unavailable" && fault?.code !== "internal_error") return admission;
  return refundRate(deps.windows, use, nowMs(visit)).then((refunded) => ({ ...admission, use: refunded }));
}

function nowMs(visit: Visit): number {
  return Math.floor(visit.now_us / 1000);
}

/** A key with its rotations, or the network of a client without one. */
export function holderOf(deps: Pick<GateDeps, "trust">, request: IncomingMessage, caller: Caller | null): string {
  return caller?.lineage_id == null ? clientNetwork(ipOf(deps, request)) : `${caller.org_id} ${caller.lineage_id}`;
}

/** The address as reported by trusted proxies. */
export function ipOf(deps: Pick<GateDeps, "trust">, { socket, headers }: IncomingMessage): string {
  const forwarded = headers["x-forwarded-for"];
  return clientIp(socket.remoteAddress ?? null, Array.isArray(forwarded) ? forwarded.join() : forwarded, deps.trust);
}
