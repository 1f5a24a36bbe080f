/**
 * Why a fact could not be used: not there, JSON null, older than allowed, of the wrong type, or the cost budget ran out.
 *
 * A host may use further reasons of its own in the markers it binds.
 */
export type Reason = "missing" | "null" | "stale" | "type" | "cost" | (string & {});

/** One fact that kept an expression from being definite. */
export interface Cause {
  /** Dotted path from a variable, as in `facts.identity.roles[2]`; empty for `cost`. */
  readonly path: string;
  readonly reason: Reason;
}

/** More causes than these say nothing new to anybody, and a loop must not collect millions. */
const causes_max = 64;

/** What `Unknown` and `Failure` have in common: one test tells them from every value. */
export abstract class NonValue {}

/**
 * The third truth value: what an operand is when its fact cannot be used. Immutable.
 *
 * May stand anywhere in bindings; selecting through it gives an unknown of the longer path.
 */
export class Unknown extends NonValue {
  readonly causes: readonly Cause[];

  constructor(causes: readonly Cause[]) {
    super();
    this.causes = causes;
  }

  /** The unknown of something below this one (`suffix` is `.name` or `[0]`). */
  below(suffix: string): Unknown {
    const [only] = this.causes;
    if (this.causes.length !== 1 || only === undefined || only.reason === "cost") return this;
    return new Unknown([{ path: only.path + suffix, reason: only.reason }]);
  }
}

/** A marker for bindings: this fact is there but must not be used, for example because it is stale. */
export function unknown(path: string, reason: Reason): Unknown {
  return new Unknown([{ path, reason }]);
}

/**
 * A fact that is JSON null, bound so that it is no key of its map: as good as missing, save that it compares definitely with
 * the literal null. What lies below it is unknown.
 */
export class NullFact extends Unknown {}

/** A marker for bindings: this fact is null, which counts as missing. */
export function nullFact(path: string): Unknown {
  return new NullFact([{ path, reason: "null" }]);
}

/** An expression that has no value: a division by zero, an overflow, text that is not a timestamp. */
export class Failure extends NonValue {
  readonly message: string;

  constructor(message: string) {
    super();
    this.message = message;
  }
}

/** The budget is used up. */
export const SPENT = new Unknown([{ path: "", reason: "cost" }]);

/** True for both kinds of non-value. */
export function isNonValue(v: unknown): v is Unknown | Failure {
  return v instanceof NonValue;
}

/** True when the only thing known against a value is that it is missing or null. */
export function isAbsence(v: unknown): boolean {
  return v instanceof Unknown && v.causes.every((c) => c.reason === "missing" || c.reason === "null");
}

/** Both operands' causes; an unknown outweighs a failure, since its fact might make the failure irrelevant. */
export function merge(a: Unknown | Failure, b: Unknown | Failure): Unknown | Failure {
  // What a cut-off evaluation happened to have seen is no reason.
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

/** What a strict operation gives when at least one operand is no value: all its unknowns, or else the first failure. */
export function combine(values: readonly unknown[]): Unknown | Failure | null {
  let found: Unknown | Failure | null = null;
  for (const v of values) if (isNonValue(v)) found = found === null ? v : merge(found, v);
  return found;
}
