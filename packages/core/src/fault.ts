import type { ErrorCode, ProblemCode, RefusalCode, TokenProblem } from "@countersign/contract";

export type { ErrorCode } from "@countersign/contract";

/** One element of `error.details`; a 400 gives `{path, code, message}` with a JSON Pointer in `path`. */
export type FaultDetail = Readonly<Record<string, unknown>>;

/** Further parts of a fault. `internal` is only for the log and never reaches the caller. */
export interface FaultOptions {
  readonly details?: readonly FaultDetail[];
  readonly internal?: unknown;
  readonly cause?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A refusal that the service reports to the caller. Outcomes of the domain are values, and broken invariants are plain errors.
 * Only the HTTP layer turns the code into a status.
 *
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

/** A refusal for one reason, at one place of what was sent: a JSON Pointer, "" for the whole. */
export function faultAt(
  code: ErrorCode,
  path: string,
  reason: ProblemCode | RefusalCode | TokenProblem,
  message: string,
): Fault {
  return new Fault(code, { details: [{ path, code: reason, message }] });
}
