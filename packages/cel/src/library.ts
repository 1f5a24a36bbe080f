import type { Type } from "./check/type.ts";
import type { Size } from "./cost/size.ts";
import type { Timestamp } from "./value/timestamp.ts";
import type { Value } from "./value/value.ts";

/** What a function may know of the evaluation it is called from. */
export interface CallContext {
  /** The instant of the decision, or null when the host gave none. */
  readonly now: Timestamp | null;
  /** The bindings of the evaluation, as the host gave them. */
  readonly bindings: Readonly<Record<string, unknown>>;
  /** Units of budget left; below zero the result will not be used, so a function may stop early. */
  readonly left: number;
  /** Counts work against the budget: one unit is about one node. */
  charge(units: number): void;
}

/**
 * Computes a function; the receiver of a member call is the first argument.
 *
 * `undefined` means that there is no overload for these arguments: the caller turns it into an unknown that names the
 * argument at fault. May return an `Unknown` or a `Failure`.
 */
// biome-ignore lint/suspicious/noExplicitAny: implementations narrow their own arguments
export type Implementation = (call: CallContext, ...args: any[]) => Value | undefined;

/** One way to call a function; the receiver of a member call is the first parameter. */
export interface Overload {
  readonly parameters: readonly Type[];
  readonly result: Type;
  /** Restricts the overload to `f(x)` or `x.f()`; otherwise the function's own style holds. */
  readonly style?: "global" | "member";
}

/** A function of the language, an extension or the host. */
export interface FunctionDeclaration {
  /** The name in calls; may be dotted: `math.abs`. */
  readonly name: string;
  readonly style: "global" | "member" | "both";
  readonly overloads: readonly Overload[];
  readonly implementation: Implementation;
  /** The last parameter may be given any number of times from one. */
  readonly variadic?: boolean;
  /** Missing, null and stale arguments are passed in as they are instead of making the result unknown. */
  readonly acceptsUnknown?: boolean;
  /** Arguments are checked against the declared parameter types before the call (host functions). */
  readonly checked?: boolean;
  /** What a host function charges at most for arguments of these sizes; nothing without it. */
  readonly cost?: (sizes: readonly Size[]) => number;
  /** Given the first argument, the result when the others are not needed (and must not be evaluated), else undefined. */
  readonly decides?: (first: Value) => Value | undefined;
  /** A cheaper form for functions whose result is always an int in the safe range: gives it as a number. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly small?: (call: CallContext, ...args: any[]) => number | Value | undefined;
}

/** The functions an environment knows, by name. */
export type Functions = ReadonlyMap<string, FunctionDeclaration>;

/** Gathers libraries into one table; a later declaration of the same name replaces the earlier one. */
export function functionTable(...libraries: readonly (readonly FunctionDeclaration[])[]): Functions {
  return new Map(libraries.flat().map((f) => [f.name, f]));
}

/** Short form for declaring an overload. */
export function overload(result: Type, ...parameters: Type[]): Overload {
  return { parameters, result };
}
