import type { Checked } from "./check/checker.ts";
import type { Type } from "./check/type.ts";
import { blame, type Code } from "./compile/code.ts";
import { compileExpression } from "./compile/compiler.ts";
import { fits } from "./compile/fits.ts";
import { Frame, type Now } from "./compile/frame.ts";
import type { Prefixes } from "./compile/prefixes.ts";
import type { Diagnostic } from "./diagnostics.ts";
import type { Ast } from "./syntax/ast.ts";
import { toHost } from "./value/host.ts";
import { type Cause, Failure, NonValue, NullFact, SPENT, Unknown } from "./value/unknown.ts";
import type { Value } from "./value/value.ts";

/** Each node takes one unit from `left`; long texts and lists take more. */
export interface Budget {
  left: number;
}

export interface EvaluateOptions {
  /** If absent, `now` is unknown. */
  readonly now?: Now | null;
  /** Shared with other evaluations. Default: 100,000 units for this one. */
  readonly budget?: Budget;
}

export type Result =
  | { readonly kind: "value"; readonly value: unknown }
  | {
      readonly kind: "unknown";
      /** Facts that prevented a definite result, sorted by path. */
      readonly unknowns: readonly Cause[];
    }
  | { readonly kind: "error"; readonly message: string };

export const budget_default = 100_000;

const TRUE: Result = Object.freeze({ kind: "value", value: true });
const FALSE: Result = Object.freeze({ kind: "value", value: false });
const SPENT_RESULT: Result = Object.freeze({ kind: "unknown", unknowns: Object.freeze([...SPENT.causes]) });

/** A compiled expression: immutable and reusable. */
export class Program {
  readonly source: string;
  readonly type: Type;
  /** Warnings and hints. An expression with errors has no program. */
  readonly diagnostics: readonly Diagnostic[];
  private readonly code: Code;
  private readonly slots: number;
  private readonly wanted: Type | null;
  private readonly takesBool: boolean;
  private readonly prefixes: Prefixes;
  /** The program uses slots of `prefixes` below this number. */
  private readonly reach: number;

  constructor(ast: Ast, checked: Checked, wanted: Type | null, prefixes: Prefixes) {
    this.source = ast.source;
    this.type = checked.type;
    this.diagnostics = checked.diagnostics;
    this.code = compileExpression(ast, checked, prefixes);
    this.slots = checked.slotCount;
    this.wanted = wanted;
    this.takesBool = wanted === null || wanted.kind === "bool";
    this.prefixes = prefixes;
    this.reach = prefixes.size;
  }

  /**
   * Neither copies nor changes the bindings. Throws only what a host function throws. Over budget, the result is
   * unknown with the one reason `cost`.
   */
  evaluate(bindings: Readonly<Record<string, unknown>>, options?: EvaluateOptions): Result {
    const budget = options?.budget;
    const now = options?.now ?? null;
    const left = budget === undefined ? budget_default : budget.left;
    const frame = new Frame(bindings, now, left, this.prefixes, false);
    const result = this.evaluateIn(frame);
    if (budget !== undefined) budget.left = frame.left;
    return result;
  }

  evaluateIn(context: Frame): Result {
    const value = this.resolve(context);
    if (this.takesBool) {
      if (value === true) return TRUE;
      if (value === false) return FALSE;
    }
    return settle(value, context);
  }

  /** Returns the internal value: perhaps an `Unknown`, a bigint, or a part of the bindings. Do not change it. */
  resolve(context: Frame): Value {
    // A program of another environment has other slots.
    if (!context.table.holds(this.prefixes, this.reach)) return this.elsewhere(context);
    context.left -= this.code.cost;
    if (context.left < 0) return SPENT;
    const found = this.slots === 0 ? this.code.run(context) : this.withLocals(context);
    // A lazy variable, like a binding, is null only if its whole expression reads a null fact.
    const value = found instanceof NullFact && !this.code.fromBindings ? new Unknown(found.causes) : found;
    if (this.wanted === null || (this.takesBool && (value === true || value === false))) return value;
    return value instanceof NonValue || fits(value, this.wanted) ? value : blame(value, this.code, context);
  }

  private withLocals(context: Frame): Value {
    const { locals, positions } = context;
    context.locals = new Array<Value>(this.slots).fill(null);
    context.positions = new Array<Value>(this.slots).fill(null);
    const value = this.code.run(context);
    context.locals = locals;
    context.positions = positions;
    return value;
  }

  private elsewhere(context: Frame): Value {
    const frame = new Frame(context.bindings, context.now, context.left, this.prefixes, false);
    const value = this.resolve(frame);
    context.left = frame.left;
    return value;
  }
}

function settle(value: Value, frame: Frame): Result {
  if (value === SPENT) return SPENT_RESULT;
  const out = typeof value === "number" || typeof value === "string" ? value : toHost(value, frame);
  if (out instanceof Unknown) return out === SPENT ? SPENT_RESULT : { kind: "unknown", unknowns: sorted(out.causes) };
  if (out instanceof Failure) return { kind: "error", message: out.message };
  return { kind: "value", value: out };
}

function sorted(causes: readonly Cause[]): readonly Cause[] {
  if (causes.length < 2) return causes;
  const by = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  return [...causes].sort((a, b) => by(a.path, b.path) || by(a.reason, b.reason));
}
