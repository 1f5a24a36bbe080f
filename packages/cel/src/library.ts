import type { Type } from "./check/type.ts";
import type { Size } from "./cost/size.ts";
import type { Timestamp } from "./value/timestamp.ts";
import type { Value } from "./value/value.ts";

/** The parts of an evaluation that a function may use. */
export interface CallContext {
  /** The instant of the decision; null if the host gave none. */
  readonly now: Timestamp | null;
  /** The bindings of the evaluation, unchanged. */
  readonly bindings: Readonly<Record<string, unknown>>;
  /** Units of budget left. Below zero the result is not used, so a function may stop early. */
  readonly left: number;
  /** Takes units from the budget. One unit is about one node. */
  charge(units: number): void;
}

/**
 * Computes a function; the receiver of a member call is the first argument.
 *
 * `undefined` means that no overload accepts these arguments. The caller turns it into an unknown that names the
 * argument at fault. May return an `Unknown` or a `Failure`.
 */
// biome-ignore lint/suspicious/noExplicitAny: implementations narrow their own arguments
export type Implementation = (call: CallContext, ...args: any[]) => Value | undefined;

/** One signature of a function. The receiver of a member call is the first parameter. */
export interface Overload {
  readonly parameters: readonly Type[];
  readonly result: Type;
  /** Restricts the overload to `f(x)` or `x.f()`. Default: the function's own style. */
  readonly style?: "global" | "member";
}

export interface FunctionDeclaration {
  /** The name in calls; may have dots: `math.abs`. */
  readonly name: string;
  readonly style: "global" | "member" | "both";
  readonly overloads: readonly Overload[];
  readonly implementation: Implementation;
  /** The last parameter repeats once or more. */
  readonly variadic?: boolean;
  /** Missing, null and stale arguments are passed unchanged, instead of making the result unknown. */
  readonly acceptsUnknown?: boolean;
  /** For host functions: the caller checks arguments against the declared types. */
  readonly checked?: boolean;
  /** Upper bound of a host function's charge for arguments of these sizes. Default: 0. */
  readonly cost?: (sizes: readonly Size[]) => number;
  /**
   * Returns the result if the first argument decides it, so that the others must not be evaluated; otherwise undefined.
   */
  readonly decides?: (first: Value) => Value | undefined;
  /** A cheaper form for functions that always return an int in the safe range. Returns a number. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly small?: (call: CallContext, ...args: any[]) => number | Value | undefined;
}

export type Functions = ReadonlyMap<string, FunctionDeclaration>;

/** Merges libraries into one table. A later declaration replaces an earlier one of the same name. */
export function functionTable(...libraries: readonly (readonly FunctionDeclaration[])[]): Functions {
  return new Map(libraries.flat().map((f) => [f.name, f]));
}

export function overload(result: Type, ...parameters: Type[]): Overload {
  return { parameters, result };
}
