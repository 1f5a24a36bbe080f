import type { TObject, TSchema } from "typebox";
import type { ErrorCode } from "../error-codes.ts";
import type { RateCategory } from "../limits.ts";
import type { Auth } from "../roles.ts";

/** An answer with a status below 400. */
export interface Answer {
  readonly description: string;
  /** Null: no body. */
  readonly schema: TSchema | null;
  /** Absent: application/json. */
  readonly media_type?: "text/plain";
  /** The content of each line if the caller accepts application/x-ndjson. Absent: the answer never has lines. */
  readonly line?: TSchema;
  /** Headers besides those of every answer. */
  readonly headers?: readonly ("Location" | "ETag" | "Set-Cookie")[];
}

/**
 * An operation of the API. Each row is a route, its validation, its documentation and its SDK method.
 *
 * Query values arrive as texts. The server converts them to the numbers that `query` requires, then checks them.
 * Bodies are never coerced. Fields of `params` are texts.
 */
export interface Operation {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Has {param} for each field of `params`. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly auth: Auth;
  /** The rate category of a request. Null: not limited. */
  readonly rate: RateCategory | null;
  /** True: accepts an Idempotency-Key header. A repetition answers 200 with the first body and Idempotent-Replayed. */
  readonly idempotent?: true;
  /** True: takes an Agent-Token header, which proves who the agent is. */
  readonly agent_token?: true;
  /** True: answers If-None-Match with 304, which does not count in the rate limit. */
  readonly conditional?: true;
  readonly params?: TObject;
  readonly query?: TObject;
  readonly body?: TSchema;
  /** True: a request without a body counts as one with `{}`. */
  readonly body_optional?: true;
  /** The largest body in bytes. Present if and only if `body` is. */
  readonly body_bytes_max?: number;
  /** The most values of a body. Absent: `json_values_max`. */
  readonly body_values_max?: number;
  /**
   * The gate does not refuse a body with NUL characters, keys named __proto__ and the like. The operation gets the problems
   * (`body`), or checks each item itself (`items`).
   */
  readonly examines?: "body" | "items";
  /** Answers by status below 400. */
  readonly answers: { readonly [status: number]: Answer };
  /** Refusals beyond those that auth, rate and body imply (see `refusalsOf`). */
  readonly refuses?: readonly ErrorCode[];
}

/**
 * Returns every error code of an operation: its own codes, and those that follow from
 * its auth (401, 403), rate (429; 400 for unknown query parameters; 503 because the gate reads the
 * database), body (400, 413, 415; 503 for too many large bodies), path parameters (404, but not for a PUT
 * that creates its resource) and failures (500).
 */
export function refusalsOf(operation: Operation): ReadonlySet<ErrorCode> {
  const codes = new Set<ErrorCode>(operation.refuses ?? []);
  codes.add("internal_error");
  if (operation.auth !== "none") {
    // `forbidden` for the role, the networks of a bound key, or a write from another page.
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
 * Returns whether an operation without a body must refuse one, because its fields would have no effect. Operations without
 * a key accept any body: one-click unsubscribing sends a
 * form, and browsers send bodies when a page closes.
 */
export function refusesBody({ method, auth, body }: Operation): boolean {
  return method === "POST" && auth !== "none" && body === undefined;
}
