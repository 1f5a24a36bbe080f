import type { Type } from "../check/type.ts";
import { type Failure, NonValue, type Unknown, unknown } from "../value/unknown.ts";
import type { Value } from "../value/value.ts";
import type { Frame } from "./frame.ts";
import type { Path } from "./paths.ts";

/** Evaluates one node. */
export type Run = (f: Frame) => Value;

/** Evaluates one node whose value is a whole number within the safe range, without making a bigint of it. */
type SmallRun = (f: Frame) => Value;

/** Judges a value that was read. */
export type Test = (x: Value, f: Frame) => Value;

/** A compiled node. */
export interface Code {
  readonly run: Run;
  /** Nodes that are evaluated whenever this one is; arms of `&&`, `||`, `?:` and loops are charged when they are entered. */
  readonly cost: number;
  /** The checker's type; what a binding really holds may differ. */
  readonly type: Type;
  /** The value of a constant, else undefined. */
  readonly constant: Value | undefined;
  /** An int as a JavaScript number where that is exact. */
  readonly small: SmallRun | null;
  /** True for names, selections and indexing: what is unknown here has a path of its own. */
  readonly isPath: boolean;
  /** The path this node does nothing but read. */
  readonly path: Path | null;
  /** For `has(path)` the path it asks for. */
  readonly asksFor: Path | null;
  /** For a test of one path against a constant: the path, and the test of a value read from it. */
  readonly tests: { readonly path: Path; readonly test: Test } | null;
  /** How reasons name this operand: the path of a fact, or else the source text. */
  readonly describe: (f: Frame) => string;
  /** Whether the value is read from the bindings, so that null means "not known". */
  readonly fromBindings: boolean;
  /** What is read from the bindings and may be this node's value as it is: an arm of a conditional, or what an optional holds. */
  readonly handsOn: Pick<Code, "fromBindings" | "type" | "describe"> | null;
  /** The entries of a list literal. */
  readonly entries: readonly Code[] | null;
}

/** Fills in what most nodes have in common. */
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

/** A test of one operand; when that is a path, `has` before it can hand its value over. */
export function testOf(a: Code, test: Test): Pick<Code, "run" | "tests"> {
  const { path, run } = a;
  if (path === null) return { run: (f) => test(run(f), f), tests: null };
  return { run: (f) => test(path.read(f), f), tests: { path, test } };
}

/** The unknown of an operand that cannot be used as it is: null, or of the wrong type. A non-value stays what it is. */
export function blame(value: Value, operand: Code, f: Frame): Unknown | Failure {
  if (value instanceof NonValue) return value as Unknown | Failure;
  return unknown(operand.describe(f), value === null ? "null" : "type");
}
