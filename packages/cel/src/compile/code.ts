import type { Type } from "../check/type.ts";
import { type Failure, NonValue, type Unknown, unknown } from "../value/unknown.ts";
import type { Value } from "../value/value.ts";
import type { Frame } from "./frame.ts";
import type { Path } from "./paths.ts";

export type Run = (f: Frame) => Value;

/** Evaluates a node whose value is a whole number in the safe range, without a bigint. */
type SmallRun = (f: Frame) => Value;

/** Tests a value that was read. */
export type Test = (x: Value, f: Frame) => Value;

/** A compiled node. */
export interface Code {
  readonly run: Run;
  /**
   * Nodes that every evaluation of this node evaluates. Arms of `&&`, `||`, `?:` and loops are charged when they are
   * entered.
   */
  readonly cost: number;
  /** The checker's type. The binding may hold another type. */
  readonly type: Type;
  /** The value of a constant; undefined for other nodes. */
  readonly constant: Value | undefined;
  /** Returns an int as a JavaScript number if that is exact. */
  readonly small: SmallRun | null;
  /** True for names, selections and indexing: an unknown here has its own path. */
  readonly isPath: boolean;
  /** The path that this node reads, if it does nothing else. */
  readonly path: Path | null;
  /** The path of `has(path)`. */
  readonly asksFor: Path | null;
  /** For a test of one path against a constant: the path, and the test. */
  readonly tests: { readonly path: Path; readonly test: Test } | null;
  /** Returns the operand's name in reasons: the path of a fact, or the source text. */
  readonly describe: (f: Frame) => string;
  /** True if the value comes from the bindings, so that null means "not known". */
  readonly fromBindings: boolean;
  /** A binding that may become this node's value unchanged: an arm of a conditional, or an optional's value. */
  readonly handsOn: Pick<Code, "fromBindings" | "type" | "describe"> | null;
  /** The entries of a list literal. */
  readonly entries: readonly Code[] | null;
}

/** Fills in the defaults that most nodes share. */
export function code(parts: Pick<Code, "run" | "cost" | "type" | "describe"> & Partial<Code>): Code {
  return {
    constant: undefined,
    small: null,
    isPath: false,
    fromBindings: false,
    path: null,
    asksFor: null,
    tests: null,
    handsOn: null,
    entries: null,
    ...parts,
  };
}

/** Tests one operand. If the operand is a path, a preceding `has` can pass its value on. */
export function testOf(a: Code, test: Test): Pick<Code, "run" | "tests"> {
  const { path, run } = a;
  if (path === null) return { run: (f) => test(run(f), f), tests: null };
  return { run: (f) => test(path.read(f), f), tests: { path, test } };
}

/** Returns the unknown for an unusable operand: null, or of the wrong type. Returns non-values unchanged. */
export function blame(value: Value, operand: Code, f: Frame): Unknown | Failure {
  if (value instanceof NonValue) return value as Unknown | Failure;
  return unknown(operand.describe(f), value === null ? "null" : "type");
}
