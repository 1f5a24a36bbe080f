import { type Checked, check, type Declarations, type PatternMeter } from "./check/checker.ts";
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  NULL,
  optionalOf,
  STRING,
  TIMESTAMP,
  type Type,
  UINT,
} from "./check/type.ts";
import { Frame, type Now } from "./compile/frame.ts";
import { Prefixes } from "./compile/prefixes.ts";
import { type Estimate, estimateExpression, type SizeOf } from "./cost/estimate.ts";
import type { Size } from "./cost/size.ts";
import { CelCheckError, CelSyntaxError, type Diagnostic } from "./diagnostics.ts";
import { type CallContext, type FunctionDeclaration, functionTable } from "./library.ts";
import { budget_default, Program } from "./program.ts";
import { finiteDouble } from "./stdlib/conversions.ts";
import { STANDARD } from "./stdlib/standard.ts";
import type { Ast } from "./syntax/ast.ts";
import { parse } from "./syntax/parser.ts";

export interface HostFunction {
  /** The name in calls; may have dots. */
  readonly name: string;
  /** Arguments of other types make the result unknown (reason `type` or `null`). */
  readonly parameters: readonly Type[];
  readonly result: Type;
  /** Called as `x.name(…)` instead of `name(x, …)`. */
  readonly member?: boolean;
  /** Also called with `Unknown`, null, and values of wrong types. */
  readonly acceptsUnknown?: boolean;
  /** Upper bound of its charge: a sum of multiples of the sizes and constants. Default: 0. */
  readonly cost?: (sizes: readonly Size[]) => number;
  /** Upper bounds of its result's size. Default: as large as the arguments, and some entries of its own. */
  readonly size?: (sizes: readonly Size[]) => Size;
  /**
   * Must not throw, keep state, or read a clock: `context.now` is the instant of the decision. A double arrives as
   * number, an int as bigint or whole number. May return an `Unknown`, or a whole number where int is declared.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the host narrows its own arguments
  readonly implementation: (context: CallContext, ...args: any[]) => unknown;
}

export interface EnvironmentOptions {
  readonly variables?: Readonly<Record<string, Type>>;
  readonly functions?: readonly HostFunction[];
  /** Names are looked up inside this dotted prefix first. */
  readonly container?: string;
  /** Programs of `beside` share evaluations with this environment. */
  readonly beside?: Environment;
  /**
   * An environment with common programs, compiled once. Evaluations may run them; `base` does not see this
   * environment's programs.
   */
  readonly base?: Environment;
  /** If true, texts such as "NaN" are no doubles: comparing with them is an error, not false. */
  readonly finite_texts?: boolean;
  /** Required type: `BOOL` for conditions. Another type is unknown. */
  readonly result?: Type;
}

export interface CheckResult {
  readonly type: Type;
  /** Sorted by place; may be empty. */
  readonly diagnostics: readonly Diagnostic[];
}

export interface ExpressionOptions {
  readonly result?: Type | null;
  /** Expressions with the same meter share one limit for literal patterns. Default: one each. */
  readonly patterns?: PatternMeter;
}

const TYPES: ReadonlyMap<string, Type> = new Map([
  ["bool", BOOL],
  ["int", INT],
  ["uint", UINT],
  ["double", DOUBLE],
  ["string", STRING],
  ["bytes", BYTES],
  ["null_type", NULL],
  ["list", listOf(DYN)],
  ["map", mapOf(DYN, DYN)],
  ["type", { kind: "type", of: null }],
  ["optional_type", optionalOf(DYN)],
  ["google.protobuf.Timestamp", TIMESTAMP],
  ["google.protobuf.Duration", DURATION],
]);

export class Environment {
  private readonly declarations: Declarations;
  private readonly result: Type | null;
  private readonly prefixes: Prefixes;

  constructor(options: EnvironmentOptions) {
    const variables = new Map(Object.entries(options.variables ?? {}));
    if (!variables.has("now")) variables.set("now", TIMESTAMP);
    const dotted = [...variables.keys(), ...TYPES.keys()].filter((n) => n.includes("."));
    this.declarations = {
      container: options.container ?? "",
      variables,
      types: TYPES,
      functions: functionTable(
        STANDARD,
        options.finite_texts === true ? [finiteDouble] : [],
        (options.functions ?? []).map(declare),
      ),
      roots: new Set(dotted.map((n) => n.slice(0, n.indexOf(".")))),
    };
    this.result = options.result ?? null;
    this.prefixes = options.beside?.prefixes ?? new Prefixes(options.base?.prefixes);
  }

  /** Returns all problems, syntax included. Never throws. */
  check(expression: string | Ast, options: ExpressionOptions = {}): CheckResult {
    try {
      const { type, diagnostics } = this.analyse(parsed(expression), options);
      return { type, diagnostics };
    } catch (e) {
      if (e instanceof CelSyntaxError) return { type: { kind: "error" }, diagnostics: e.diagnostics };
      throw e;
    }
  }

  /** Throws `CelSyntaxError`, or `CelCheckError` if the checker finds an error. */
  compile(expression: string | Ast, options: ExpressionOptions = {}): Program {
    const ast = parsed(expression);
    const checked = this.analyse(ast, options);
    if (checked.diagnostics.some((d) => d.severity === "error"))
      throw new CelCheckError(ast.source, checked.diagnostics);
    return new Program(ast, checked, this.wanted(options), this.prefixes);
  }

  /** Same as `compile`, but parts that the checker refuses are unknown or fail when evaluated. */
  compileUnchecked(expression: string | Ast, options: ExpressionOptions = {}): Program {
    const ast = parsed(expression);
    return new Program(ast, this.analyse(ast, options), this.wanted(options), this.prefixes);
  }

  /** Returns the most units for bindings within these sizes. Throws `CelSyntaxError`. */
  estimate(expression: string | Ast, sizeOf: SizeOf, options: ExpressionOptions = {}): Estimate {
    const ast = parsed(expression);
    return estimateExpression(ast, this.analyse(ast, options), sizeOf);
  }

  /**
   * Begins an evaluation of several programs, also those `beside`, with one `now` and one budget (default 100,000
   * units). The bindings must not change until the last program is done, because reads are cached.
   *
   * `declared` lists paths with one type only in this evaluation, such as `params.amount`. Comparing one with a value
   * of another kind is unknown.
   */
  begin(
    bindings: Readonly<Record<string, unknown>>,
    options: {
      readonly now?: Now | null;
      readonly units?: number;
      readonly declared?: ReadonlySet<string> | null;
    } = {},
  ): Frame {
    return new Frame(
      bindings,
      options.now ?? null,
      options.units ?? budget_default,
      this.prefixes,
      true,
      options.declared,
    );
  }

  private analyse(ast: Ast, options: ExpressionOptions): Checked {
    return check(ast, this.declarations, this.wanted(options), options.patterns);
  }

  private wanted(options: ExpressionOptions): Type | null {
    return options.result === undefined ? this.result : options.result;
  }
}

/** Returns an environment with the standard library, the extensions, and `now` unless the host declares it. */
export function environment(options: EnvironmentOptions = {}): Environment {
  return new Environment(options);
}

function parsed(expression: string | Ast): Ast {
  return typeof expression === "string" ? parse(expression) : expression;
}

function declare(f: HostFunction): FunctionDeclaration {
  return {
    name: f.name,
    style: f.member === true ? "member" : "global",
    overloads: [{ parameters: f.parameters, result: f.result }],
    implementation: f.implementation as FunctionDeclaration["implementation"],
    acceptsUnknown: f.acceptsUnknown === true,
    checked: true,
    ...(f.cost === undefined ? {} : { cost: f.cost }),
    ...(f.size === undefined ? {} : { size: f.size }),
  };
}
