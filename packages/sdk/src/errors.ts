import type { ErrorCode } from "@countersign/contract";

export interface ApiErrorFields {
  readonly status: number;
  readonly code: ErrorCode | (string & {});
  readonly message: string;
  readonly details: readonly Readonly<Record<string, unknown>>[];
  readonly request_id: string | null;
  readonly retry_after_seconds: number | null;
}

/**
 * The service answered with an error. `code` is in docs/reference/errors.md, or `http_<status>` if another program
 * answered. `request_id` finds the request in the service's log. `retry_after_seconds` is null without a Retry-After
 * header.
 */
export class ApiError extends Error {
  readonly status: number;
  readonly code: ErrorCode | (string & {});
  readonly details: readonly Readonly<Record<string, unknown>>[];
  readonly request_id: string | null;
  readonly retry_after_seconds: number | null;

  constructor(fields: ApiErrorFields) {
    super(fields.message);
    this.name = "ApiError";
    this.status = fields.status;
    this.code = fields.code;
    this.details = fields.details;
    this.request_id = fields.request_id;
    this.retry_after_seconds = fields.retry_after_seconds;
  }
}

/** No complete answer came: wrong address, service down, or broken connection. See `cause`. */
export class ConnectionError extends Error {
  constructor(url: string, cause: unknown) {
    const reason = cause instanceof Error ? causeText(cause) : String(cause);
    super(`no answer from ${url}: ${reason}`, { cause });
    this.name = "ConnectionError";
  }
}

/** fetch puts the reason ("fetch failed") one level down. An AggregateError has no message. */
function causeText(error: Error): string {
  const inner = error.cause;
  if (inner instanceof AggregateError && inner.errors[0] instanceof Error) return inner.errors[0].message;
  return inner instanceof Error && inner.message !== "" ? inner.message : error.message;
}

/** Any other answer, such as a proxy's page, becomes `http_<status>`. */
export function apiErrorOf(response: Pick<Response, "status" | "statusText" | "headers">, text: string): ApiError {
  const error = errorObject(text);
  return new ApiError({
    status: response.status,
    code: typeof error.code === "string" ? error.code : `http_${response.status}`,
    message:
      typeof error.message === "string"
        ? error.message
        : `not an answer of the service: ${response.status} ${response.statusText}`,
    details: Array.isArray(error.details) ? error.details : [],
    request_id: typeof error.request_id === "string" ? error.request_id : response.headers.get("x-request-id"),
    retry_after_seconds: retryAfterSeconds(response.headers),
  });
}

/** Returns seconds. The header may be a date (RFC 9110, section 10.2.3), which counts from the answer's own `Date`. */
function retryAfterSeconds(headers: Headers): number | null {
  const text = headers.get("retry-after")?.trim() ?? "";
  // Hundreds of digits would be Infinity, which timers treat as 0.
  if (/^\d+$/.test(text)) return Number.isFinite(Number(text)) ? Number(text) : null;
  // Without the pattern `-1` and `1.5` would be dates, too.
  const until_ms = / GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  const wait_ms = until_ms - Date.parse(headers.get("date") ?? "");
  return Number.isNaN(wait_ms) ? null : Math.max(0, Math.ceil(wait_ms / 1000));
}

function errorObject(text: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(text);
    const error = (body as { error?: unknown } | null)?.error;
    return typeof error === "object" && error !== null ? (error as Record<string, unknown>) : {};
  } catch {
    return {}; // Not JSON, so only the status is known.
  }
}
