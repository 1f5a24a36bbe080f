/**
 * Why a fact could not be used: absent, JSON null, too old, of the wrong type, or budget spent. Hosts may bind other
 * reasons.
 */
export type Reason = "missing" | "null" | "stale" | "type" | "cost" | (string & {});

export interface Cause {
  /** For example `facts.identity.roles[2]`; empty for `cost`. */
  readonly path: string;
  readonly reason: Reason;
}

/** Bounded, because a loop could collect millions of causes. */
const causes_max = 64;

/** Base of `Unknown` and `Failure`, so that one test distinguishes them from values. */
export abstract class NonValue {}

/**
 * An operand whose fact cannot be used: the third truth value. Immutable. Bindings may contain it anywhere; selecting
 * through it extends its path.
 */
export class Unknown extends NonValue {
  readonly causes: readonly Cause[];

  constructor(causes: readonly Cause[]) {
    super();
    this.causes = causes;
  }

  below(suffix: string): Unknown {
    const [only] = this.causes;
    if (this.causes.length !== 1 || only === undefined || only.reason === "cost") return this;
    return new Unknown([{ path: only.path + suffix, reason: only.reason }]);
  }
}

/** Returns a marker for bindings: the fact must not be used, for example because it is stale. */
export function unknown(path: string, reason: Reason): Unknown {
  return new Unknown([{ path, reason }]);
}

/** Counts as missing, but compares definitely with the literal null. Everything below it is unknown. */
export class NullFact extends Unknown {}

/** Returns a marker for bindings: the fact is null, which counts as missing. */
export function nullFact(path: string): Unknown {
  return new NullFact([{ path, reason: "null" }]);
}

/** An error: a division by zero, an overflow, an invalid timestamp. */
export class Failure extends NonValue {
  readonly message: string;

  constructor(message: string) {
    super();
    this.message = message;
  }
}

export const SPENT = new Unknown([{ path: "", reason: "cost" }]);

export function isNonValue(v: unknown): v is Unknown | Failure {
  return v instanceof NonValue;
}

export function isAbsence(v: unknown): boolean {
  return v instanceof Unknown && v.causes.every((c) => c.reason === "missing" || c.reason === "null");
}

/** Keeps the unknown, because its fact might make the failure irrelevant. */
export function merge(a: Unknown | Failure, b: Unknown | Failure): Unknown | Failure {
  // After a spent budget, other causes are accidental.
  if (a === SPENT || b === SPENT) return SPENT;
  if (a instanceof Failure) return b;
  if (b instanceof Failure || a === b) return a;
  const causes = [...a.causes];
  for (const c of b.causes) {
    if (causes.length >= causes_max) break;
    if (!causes.some((k) => k.path === c.path && k.reason === c.reason)) causes.push(c);
  }
  return causes.length === a.causes.length ? a : new Unknown(causes);
}

/** Returns all unknowns, or else the first failure. Null if all operands are values. */
export function combine(values: readonly unknown[]): Unknown | Failure | null {
  let found: Unknown | Failure | null = null;
  for (const v of values) if (isNonValue(v)) found = found === null ? v : merge(found, v);
  return found;
}
