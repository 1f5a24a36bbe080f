/** The only file that gives an answer a status of 400 or more. Source: contract §2.8 and §7, api.md §2. */
import { type ErrorCode, errorCodes, limits } from "@countersign/contract";
import { Fault, type FaultDetail } from "@countersign/core";
import { isConflict, isConnectionLost, isOutOfService, isOutOfTime } from "../../store/database/connection.ts";

/** A refusal as it goes over the wire. */
export interface Refusal {
  readonly status: number;
  readonly code: ErrorCode;
  readonly json_text: string;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What callers read in `error.message`: what happened, and what to do about it. */
const messages = new Map(
  Object.entries(errorCodes).map(([code, row]) => [code, JSON.stringify(`${row.meaning} ${row.advice}`)]),
);

/** Headers that belong to a code wherever it comes from. */
const codeHeaders: Partial<Record<ErrorCode, Readonly<Record<string, string>>>> = {
  expired_api_key: { "x-service-key-expired": "true" },
  overloaded: { "retry-after": "1" },
  unavailable: { "retry-after": "1" },
};

/**
 * The fault that an error means: faults are themselves, a lost database, one that is closed to us, one that is too
 * slow and one that prefers others each time are `unavailable`, all else is our own failure.
 */
export function faultOf(error: unknown): Fault {
  if (error instanceof Fault) return error;
  const unavailable = [isConnectionLost, isOutOfService, isOutOfTime, isConflict].some((is) => is(error));
  return new Fault(unavailable ? "unavailable" : "internal_error", { cause: error });
}

/** The answer to a fault. Nothing of `internal` or `cause` is in it. */
export function refusalOf(fault: Fault, request_id: string): Refusal {
  const known = codeHeaders[fault.code];
  return {
    status: errorCodes[fault.code].status,
    code: fault.code,
    json_text: errorText(fault.code, fault.details, request_id),
    headers: known === undefined ? fault.headers : { ...known, ...fault.headers },
  };
}

/**
 * The answer to bytes that Node's parser refused, before there was a request. 431 and 408 have no code of their own: the
 * status says what a client can act on.
 */
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

/** The error object of a fault as JSON text, without its wrapper: what a failed batch item carries. */
export function faultText(fault: Fault, request_id: string): string {
  return objectText(fault.code, fault.details, request_id);
}

function errorText(code: ErrorCode, details: readonly FaultDetail[], request_id: string): string {
  return `{"error":${objectText(code, details, request_id)}}`;
}

function objectText(code: ErrorCode, details: readonly FaultDetail[], request_id: string): string {
  // Of a 400: findings in a policy document have a number of their own. Source: api.md §2.
  const told = errorCodes[code].status === 400 ? details.slice(0, limits.error_details_max) : details;
  return `{"code":"${code}","message":${messages.get(code)},"details":${JSON.stringify(told)},"request_id":"${request_id}"}`;
}
