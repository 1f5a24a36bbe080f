import type { TObject, TSchema } from "typebox";
import type { ErrorCode } from "../error-codes.ts";
import type { RateCategory } from "../limits.ts";
import type { Auth } from "../roles.ts";

/** What an operation answers with one status below 400. */
export interface Answer {
  readonly description: string;
  /** Null: no body. */
  readonly schema: TSchema | null;
  /** Absent: application/json. */
  readonly media_type?: "text/plain";
  /** What each line holds for a caller that accepts application/x-ndjson; absent: the answer never comes as lines. */
  readonly line?: TSchema;
  /** Headers beyond those that every answer carries. */
  readonly headers?: readonly ("Location" | "ETag" | "Set-Cookie")[];
}

/**
 * One operation of the API; one row here is a route, its validation, its documentation and its SDK method.
 *
 * Query values arrive as texts: the server turns them into the numbers that `query` asks for before it checks them.
 * Bodies are never coerced. Fields of `params` are always plain texts.
 */
export interface Operation {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With {param} for each field of `params`. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly auth: Auth;
  /** The rate window that a request is counted in; null: not limited. */
  readonly rate: RateCategory | null;
  /** True: takes an Idempotency-Key header; a repetition answers 200 with the first body and Idempotent-Replayed. */
  readonly idempotent?: true;
  /** True: takes an Agent-Token header, which proves who the agent is. */
  readonly agent_token?: true;
  /** True: honours If-None-Match with 304, which does not count against the rate limit. */
  readonly conditional?: true;
  readonly params?: TObject;
  readonly query?: TObject;
  readonly body?: TSchema;
  /** True: a request without a body counts as one with `{}`. */
  readonly body_optional?: true;
  /** Largest body in bytes; present exactly when `body` is. */
  readonly body_bytes_max?: number;
  /** Most values of a body; absent: `json_values_max`. */
  readonly body_values_max?: number;
  /**
   * A body with NUL characters, keys named __proto__ and the like is not refused: it is handed on with its problems (`body`),
   * or the operation looks for them in each of its items (`items`).
   */
  readonly examines?: "body" | "items";
  /** Answers by status below 400. */
  readonly answers: { readonly [status: number]: Answer };
  /** Refusals beyond those that auth, rate and body imply (see `refusalsOf`). */
  readonly refuses?: readonly ErrorCode[];
}

/**
 * Every error code that an operation can answer with: its own, and those that follow from
 * its auth (401, 403), rate (429; 400: whatever is rate-limited refuses queries that it does not know; 503: it asks the
 * database), body (400, 413, 415; 503: as much of large ones is under way as may be), path parameters (404, but not on a PUT
 * that creates what it names) and from being served at all (500).
 */
export function refusalsOf(operation: Operation): ReadonlySet<ErrorCode> {
  const codes = new Set<ErrorCode>(operation.refuses ?? []);
  codes.add("internal_error");
  if (operation.auth !== "none") {
    // Forbidden: by the role, by the networks that a key is bound to, or since a write does not come from the service's own pages.
    for (const code of ["missing_api_key", "invalid_api_key", "expired_api_key", "forbidden"] as const) codes.add(code);
  }
  if (operation.rate !== null) codes.add("rate_limit_exceeded").add("invalid_request").add("unavailable");
  if (operation.params !== undefined && operation.method !== "PUT") codes.add("not_found");
  if (operation.body !== undefined || refusesBody(operation)) {
    for (const code of ["invalid_json", "invalid_request", "payload_too_large", "unsupported_media_type"] as const) {
      codes.add(code);
    }
    codes.add("overloaded");
  }
  if (operation.idempotent) codes.add("idempotency_conflict");
  return codes;
}

/**
 * Whether a body is read although the operation takes none: a field in it would have no effect ("webhook_id" of what is to be
 * sent again), so it is refused like an unknown field elsewhere. Not where no key is asked for: one-click unsubscribing sends a
 * form, and pages that are left send what they like.
 */
export function refusesBody({ method, auth, body }: Operation): boolean {
  return method === "POST" && auth !== "none" && body === undefined;
}
