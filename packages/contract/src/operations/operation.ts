import type { TObject, TSchema } from "typebox";
import type { ErrorCode } from "../error-codes.ts";
import type { RateCategory } from "../limits.ts";
import type { Tag } from "../openapi/tags.ts";
import type { Auth } from "../roles.ts";

export interface Answer {
  readonly description: string;
  /** Null: no body. */
  readonly schema: TSchema | null;
  /** Absent: application/json. */
  readonly media_types?: readonly string[];
  /** The content of each line for callers that accept application/x-ndjson. Absent: no lines. */
  readonly line?: TSchema;
  /** True: also text/plain, if the query asks for it. */
  readonly text?: true;
  /** Besides those of every answer. */
  readonly headers?: readonly ("Location" | "ETag" | "Set-Cookie" | "Content-Disposition" | "X-Export-As-Of-Seq")[];
}

/**
 * An operation of the API: its route, validation, documentation and SDK method.
 *
 * The server converts query values to the numbers that `query` requires, then checks them. Bodies are never coerced.
 * Fields of `params` are texts.
 */
export interface Operation {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  readonly auth: Auth;
  /** Null: not limited. */
  readonly rate: RateCategory | null;
  /** True: accepts an Idempotency-Key header. A repetition answers 200 with the first body and Idempotent-Replayed. */
  readonly idempotent?: true;
  /** True: accepts an Agent-Token header. */
  readonly agent_token?: true;
  /** True: accepts the API key also as `Authorization: Bearer`. A 401 then has WWW-Authenticate. */
  readonly bearer?: true;
  /** AuthZEN: the answer has the X-Request-ID of the request, and a body of another type is 400. */
  readonly standard?: "authzen";
  /** True: answers If-None-Match with 304, which the rate limit does not count. */
  readonly conditional?: true;
  /** True: takes a form (application/x-www-form-urlencoded) as it was sent, because its signature covers the bytes. */
  readonly form?: true;
  readonly params?: TObject;
  /** True: the last parameter of the path is the rest of it, with slashes. */
  readonly rest?: true;
  readonly query?: TObject;
  readonly body?: TSchema;
  /** True: a missing body counts as `{}`. */
  readonly body_optional?: true;
  /** True: also for a session without the second factor that its organization requires. */
  readonly without_second_factor?: true;
  /** Present if and only if `body` is. */
  readonly body_bytes_max?: number;
  /** Absent: `json_values_max`. */
  readonly body_values_max?: number;
  /**
   * Problems that the gate does not refuse, such as NUL characters or keys named __proto__. The operation gets the list
   * (`body`), or checks each item itself (`items`).
   */
  readonly examines?: "body" | "items";
  readonly answers: { readonly [status: number]: Answer };
  /** Besides those that auth, rate and body imply (see `refusalsOf`). */
  readonly refuses?: readonly ErrorCode[];
}

/**
 * Returns every error code of an operation: its own, and those implied by auth, rate, body, path parameters and
 * failures.
 */
export function refusalsOf(operation: Operation): ReadonlySet<ErrorCode> {
  const codes = new Set<ErrorCode>(operation.refuses ?? []);
  codes.add("internal_error");
  if (operation.auth !== "none") {
    // `forbidden`: the role, the networks of a bound key, or a write from a foreign page.
    for (const code of ["missing_api_key", "invalid_api_key", "expired_api_key", "forbidden"] as const) codes.add(code);
    if (operation.without_second_factor === undefined) codes.add("second_factor_required");
  }
  if (operation.rate !== null) codes.add("rate_limit_exceeded").add("invalid_request").add("unavailable");
  if (operation.params !== undefined && operation.method !== "PUT") codes.add("not_found");
  if (operation.body !== undefined || refusesBody(operation)) {
    for (const code of ["invalid_json", "invalid_request", "payload_too_large"] as const) codes.add(code);
    if (operation.standard !== "authzen") codes.add("unsupported_media_type");
    codes.add("overloaded");
  }
  if (operation.idempotent) codes.add("idempotency_conflict").add("erased");
  return codes;
}

/**
 * Returns whether an operation must refuse a body, because its fields would have no effect. Operations without a key
 * accept any body: one-click unsubscribing sends a form, and browsers send bodies when a page closes.
 */
export function refusesBody({ method, auth, body }: Operation): boolean {
  return method === "POST" && auth !== "none" && body === undefined;
}
