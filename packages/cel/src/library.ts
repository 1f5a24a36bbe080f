import type { Type } from "./check/type.ts";
import type { Size } from "./cost/size.ts";
import type { Timestamp } from "./value/timestamp.ts";
import type { Value } from "./value/value.ts";

export interface CallContext {
  /** Instant of the decision; null if the host gave none. */
  readonly now: Timestamp | null;
  readonly bindings: Readonly<Record<string, unknown>>;
  /** Budget in units. Below zero the result is not used, so a function may stop. */
  readonly left: number;
  /** One unit is about one node. */
  charge(units: number): void;
}

/**
 * Returns undefined if no overload accepts these arguments. The caller makes it an unknown that names the argument at
 * fault. May return an `Unknown` or a `Failure`.
 */
// biome-ignore lint/suspicious/noExplicitAny: implementations narrow their own arguments
export type Implementation = (call: CallContext, ...args: any[]) => Value | undefined;

export interface Overload {
  readonly parameters: readonly Type[];
  readonly result: Type;
  /** Default: the function's own style. */
  readonly style?: "global" | "member";
}

export interface FunctionDeclaration {
  readonly name: string;
  readonly style: "global" | "member" | "both";
  readonly overloads: readonly Overload[];
  readonly implementation: Implementation;
  /** The last parameter repeats once or more. */
  readonly variadic?: boolean;
  /** Passes missing, null and stale arguments unchanged. */
  readonly acceptsUnknown?: boolean;
  readonly checked?: boolean;
  /** Maximum charge of a host function. Default: 0. */
  readonly cost?: (sizes: readonly Size[]) => number;
  /** Upper bounds of its result's size. Default: as large as the arguments, and some entries of its own. */
  readonly size?: (sizes: readonly Size[]) => Size;
  /** Returns the result if the first argument decides it, and undefined otherwise. */
  readonly decides?: (first: Value) => Value | undefined;
  /** A cheaper form that returns a number, for functions that always return a safe int. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly small?: (call: CallContext, ...args: any[]) => number | Value | undefined;
}

export type Functions = ReadonlyMap<string, FunctionDeclaration>;

/** A later declaration replaces an earlier one of the same name. */
export function functionTable(...libraries: readonly (readonly FunctionDeclaration[])[]): Functions {
  return new Map(libraries.flat().map((f) => [f.name, f]));
}

export function overload(result: Type, ...parameters: Type[]): Overload {
  return { parameters, result };
}
