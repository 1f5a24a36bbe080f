/** Turns faults into answers. No other file sets a status of 400 or more. */
import { type ErrorCode, errorCodes, limits } from "@countersign/contract";
import { Fault, type FaultDetail } from "@countersign/core";
import { isConflict, isConnectionLost, isOutOfService, isOutOfTime } from "../../store/database/connection.ts";

export interface Refusal {
  readonly status: number;
  readonly code: ErrorCode;
  readonly json_text: string;
  /** In lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** `error.message`: the problem, then what to do. */
const messages = new Map(
  Object.entries(errorCodes).map(([code, row]) => [code, JSON.stringify(`${row.meaning} ${row.advice}`)]),
);

const codeHeaders: Partial<Record<ErrorCode, Readonly<Record<string, string>>>> = {
  expired_api_key: { "x-service-key-expired": "true" },
  overloaded: { "retry-after": "1" },
  receipt_not_ready: { "retry-after": "2" },
  unavailable: { "retry-after": "1" },
};

/**
 * An unreachable, closed, slow or always conflicting database is `unavailable`. All other errors are `internal_error`.
 */
export function faultOf(error: unknown): Fault {
  if (error instanceof Fault) return error;
  const unavailable = [isConnectionLost, isOutOfService, isOutOfTime, isConflict].some((is) => is(error));
  return new Fault(unavailable ? "unavailable" : "internal_error", { cause: error });
}

/** The answer omits `internal` and `cause`. */
export function refusalOf(fault: Fault, request_id: string): Refusal {
  const known = codeHeaders[fault.code];
  return {
    status: errorCodes[fault.code].status,
    code: fault.code,
    json_text: errorText(fault.code, fault.details, request_id),
    headers: known === undefined ? fault.headers : { ...known, ...fault.headers },
  };
}

/** Answers bytes that Node's parser refused. 431 and 408 have no error code of their own. */
export function parserRefusal(parser_code: string | undefined, request_id: string): Refusal {
  const status = parser_code === "HPE_HEADER_OVERFLOW" ? 431 : parser_code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400;
  const message = {
    400: "This is not an HTTP/1.1 request.",
    408: "The request took too long to arrive.",
    431: "The request line and headers together exceed 16 KiB, or there are more than 100 headers.",
  }[status] as string;
  const json_text = errorText("invalid_request", [{ path: "", code: "bad_format", message }], request_id);
  return { status, code: "invalid_request", json_text, headers: {} };
}

/** Returns the error object, as in a failed batch item. */
export function faultText(fault: Fault, request_id: string): string {
  return objectText(fault.code, fault.details, request_id);
}

function errorText(code: ErrorCode, details: readonly FaultDetail[], request_id: string): string {
  return `{"error":${objectText(code, details, request_id)}}`;
}

function objectText(code: ErrorCode, details: readonly FaultDetail[], request_id: string): string {
  // Findings in a policy document (422) have their own maximum.
  const listed = errorCodes[code].status === 400 ? details.slice(0, limits.error_details_max) : details;
  return `{"code":"${code}","message":${messages.get(code)},"details":${JSON.stringify(listed)},"request_id":"${request_id}"}`;
}
