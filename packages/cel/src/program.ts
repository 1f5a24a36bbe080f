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

/** A shared allowance: every node evaluated takes one unit from `left`, work on long texts and lists takes more. */
export interface Budget {
  left: number;
}

/** What an evaluation may be given besides the bindings. */
export interface EvaluateOptions {
  /** The instant `now` stands for; without it `now` is unknown. */
  readonly now?: Now | null;
  /** Shared with other evaluations, and counted down; without it this evaluation has 100,000 units of its own. */
  readonly budget?: Budget;
}

/** The three outcomes of an evaluation. */
export type Result =
  | { readonly kind: "value"; readonly value: unknown }
  | {
      readonly kind: "unknown";
      /** Exactly the facts that kept the result from being definite, sorted by path. */
      readonly unknowns: readonly Cause[];
    }
  | { readonly kind: "error"; readonly message: string };

/** Units an evaluation has when the host shares no budget. */
export const budget_default = 100_000;

const TRUE: Result = Object.freeze({ kind: "value", value: true });
const FALSE: Result = Object.freeze({ kind: "value", value: false });
const SPENT_RESULT: Result = Object.freeze({ kind: "unknown", unknowns: Object.freeze([...SPENT.causes]) });

/** A compiled expression: immutable, without state, usable for any number of evaluations. */
export class Program {
  readonly source: string;
  /** What `evaluate` gives when it gives a value. */
  readonly type: Type;
  /** Warnings and hints; errors keep a program from existing. */
  readonly diagnostics: readonly Diagnostic[];
  private readonly code: Code;
  private readonly slots: number;
  private readonly wanted: Type | null;
  private readonly takesBool: boolean;
  private readonly prefixes: Prefixes;
  /** Slots of `prefixes` that it may use are below. */
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
   * Evaluates over bindings (plain JSON-like objects, which are neither copied nor changed); throws only what a host
   * function throws.
   *
   * Past the budget the result is unknown with the one reason `cost`. For several expressions over the same bindings
   * `Environment.begin` and `evaluateIn` are faster.
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

  /** As `evaluate`, in an evaluation begun with `Environment.begin`: the budget is what that has left. */
  evaluateIn(context: Frame): Result {
    const value = this.resolve(context);
    if (this.takesBool) {
      if (value === true) return TRUE;
      if (value === false) return FALSE;
    }
    return settle(value, context);
  }

  /**
   * The value itself, for lazy variables and host functions that compute within an evaluation.
   *
   * It is internal: it may be an `Unknown`, an int as bigint, or share structure with the bindings; it must not be changed.
   */
  resolve(context: Frame): Value {
    // A program of another environment has other slots.
    if (!context.table.holds(this.prefixes, this.reach)) return this.elsewhere(context);
    context.left -= this.code.cost;
    if (context.left < 0) return SPENT;
    const found = this.slots === 0 ? this.code.run(context) : this.withLocals(context);
    // A lazy variable reads as a binding does: null it is only where its whole expression reads a null fact.
    const value = found instanceof NullFact && !this.code.fromBindings ? new Unknown(found.causes) : found;
    if (this.wanted === null || (this.takesBool && (value === true || value === false))) return value;
    return value instanceof NonValue || fits(value, this.wanted) ? value : blame(value, this.code, context);
  }

  /** Keeps the variables of a comprehension that this evaluation may be nested in. */
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
