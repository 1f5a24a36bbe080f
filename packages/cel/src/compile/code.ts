import type { Type } from "../check/type.ts";
import { type Failure, NonValue, type Unknown, unknown } from "../value/unknown.ts";
import type { Value } from "../value/value.ts";
import type { Frame } from "./frame.ts";
import type { Path } from "./paths.ts";

export type Run = (f: Frame) => Value;

type SmallRun = (f: Frame) => Value;

export type Test = (x: Value, f: Frame) => Value;

export interface Code {
  readonly run: Run;
  /** Nodes that every evaluation evaluates. Arms of `&&`, `||`, `?:` and loops are charged when entered. */
  readonly cost: number;
  /** The checker's type. The value may have another. */
  readonly type: Type;
  readonly constant: Value | undefined;
  /** Evaluates to a JavaScript number if that is exact. */
  readonly small: SmallRun | null;
  /** Names, selections and indexing, whose unknowns have their own path. */
  readonly isPath: boolean;
  readonly path: Path | null;
  readonly asksFor: Path | null;
  /** Set for a test of one path against a constant. */
  readonly tests: { readonly path: Path; readonly test: Test } | null;
  /** Returns the name in reasons: the path of a fact, or the source text. */
  readonly describe: (f: Frame) => string;
  /** True if null means "not known", because the value comes from the bindings. */
  readonly fromBindings: boolean;
  /** A binding that may become this node's value unchanged: an arm of a conditional, or an optional's value. */
  readonly handsOn: Pick<Code, "fromBindings" | "type" | "describe"> | null;
  readonly entries: readonly Code[] | null;
}

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

/** If the operand is a path, a preceding `has` can pass its value on. */
export function testOf(a: Code, test: Test): Pick<Code, "run" | "tests"> {
  const { path, run } = a;
  if (path === null) return { run: (f) => test(run(f), f), tests: null };
  return { run: (f) => test(path.read(f), f), tests: { path, test } };
}

/** Returns an unknown for null or a wrong type. Returns non-values unchanged. */
export function blame(value: Value, operand: Code, f: Frame): Unknown | Failure {
  if (value instanceof NonValue) return value as Unknown | Failure;
  return unknown(operand.describe(f), value === null ? "null" : "type");
}
