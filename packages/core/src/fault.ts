import type { ErrorCode, ProblemCode, RefusalCode, TokenProblem } from "@countersign/contract";

export type { ErrorCode } from "@countersign/contract";

/** One element of `error.details`. For a 400: `{path, code, message}` with a JSON Pointer. */
export type FaultDetail = Readonly<Record<string, unknown>>;

/** `internal` is only logged and never reaches the caller. */
export interface FaultOptions {
  readonly details?: readonly FaultDetail[];
  readonly internal?: unknown;
  readonly cause?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A refusal reported to the caller. Only the HTTP layer turns the code into a status. Domain outcomes are values;
 * broken invariants are plain errors.
 */
export class Fault extends Error {
  readonly code: ErrorCode;
  readonly details: readonly FaultDetail[];
  readonly internal: unknown;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, options: FaultOptions = {}) {
    super(code, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "Fault";
    this.code = code;
    this.details = options.details ?? [];
    this.internal = options.internal;
    this.headers = options.headers ?? {};
  }
}

/** `path`: a JSON Pointer; "" for the whole input. */
export function faultAt(
  code: ErrorCode,
  path: string,
  reason: ProblemCode | RefusalCode | TokenProblem,
  message: string,
): Fault {
  return new Fault(code, { details: [{ path, code: reason, message }] });
}
