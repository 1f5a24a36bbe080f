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

/** A function of the host. */
export interface HostFunction {
  /** The name in calls; may be dotted. */
  readonly name: string;
  /** Declared parameter types; arguments that do not fit make the result unknown (reason `type` or `null`). */
  readonly parameters: readonly Type[];
  readonly result: Type;
  /** Called as `x.name(…)` instead of `name(x, …)`. */
  readonly member?: boolean;
  /**
   * Called also with missing, null, stale and wrongly typed arguments: an `Unknown` is passed as it is, and types are not
   * checked. For total functions.
   */
  readonly acceptsUnknown?: boolean;
  /**
   * What it charges at most for arguments of these sizes: a sum of shares of them, and of constants. Without it, nothing.
   */
  readonly cost?: (sizes: readonly Size[]) => number;
  /**
   * Computes the function. Must not throw, keep state, or read a clock: `context.now` is the instant of the decision.
   *
   * A parameter declared double arrives as number, int as bigint or whole number. May return an `Unknown`; a whole number
   * is fine where int is declared.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the host narrows its own arguments
  readonly implementation: (context: CallContext, ...args: any[]) => unknown;
}

/** What expressions may use. */
export interface EnvironmentOptions {
  readonly variables?: Readonly<Record<string, Type>>;
  readonly functions?: readonly HostFunction[];
  /** Names are looked up inside this dotted prefix first. */
  readonly container?: string;
  /** An environment whose programs are evaluated together with this one's: see `Environment.begin`. */
  readonly beside?: Environment;
  /**
   * An environment whose programs, as far as they are compiled by now, may be evaluated in evaluations of this one as well,
   * while it does not come to know of this one's: what many environments have in common is compiled there once.
   */
  readonly base?: Environment;
  /** Whether texts that name NaN or an infinity are no doubles: then a comparison with one has no value, instead of being false. */
  readonly finite_texts?: boolean;
  /** The type every expression must have: `BOOL` for conditions. A result of another type is unknown. */
  readonly result?: Type;
}

/** What `check` found. */
export interface CheckResult {
  readonly type: Type;
  /** Sorted by place; empty when there is nothing to say. */
  readonly diagnostics: readonly Diagnostic[];
}

/** Overrides for one expression. */
export interface ExpressionOptions {
  /** As `EnvironmentOptions.result`; null lifts it. */
  readonly result?: Type | null;
  /** Shared by expressions whose literal patterns are to be bounded together; alone, an expression has the whole bound. */
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

/** Declarations against which expressions are checked and compiled; see `environment`. */
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

  /** Everything that is wrong or doubtful about an expression, syntax included, and its type; never throws. */
  check(expression: string | Ast, options: ExpressionOptions = {}): CheckResult {
    try {
      const { type, diagnostics } = this.analyse(parsed(expression), options);
      return { type, diagnostics };
    } catch (e) {
      if (e instanceof CelSyntaxError) return { type: { kind: "error" }, diagnostics: e.diagnostics };
      throw e;
    }
  }

  /** The program of an expression; throws `CelSyntaxError` or, when the checker finds an error, `CelCheckError`. */
  compile(expression: string | Ast, options: ExpressionOptions = {}): Program {
    const ast = parsed(expression);
    const checked = this.analyse(ast, options);
    if (checked.diagnostics.some((d) => d.severity === "error"))
      throw new CelCheckError(ast.source, checked.diagnostics);
    return new Program(ast, checked, this.wanted(options), this.prefixes);
  }

  /** As `compile`, but what the checker refuses becomes an operand that is unknown or fails when it is evaluated. */
  compileUnchecked(expression: string | Ast, options: ExpressionOptions = {}): Program {
    const ast = parsed(expression);
    return new Program(ast, this.analyse(ast, options), this.wanted(options), this.prefixes);
  }

  /**
   * The most units that evaluating an expression can take, for bindings within these sizes; see `estimateExpression`. Throws
   * `CelSyntaxError`.
   */
  estimate(expression: string | Ast, sizeOf: SizeOf, options: ExpressionOptions = {}): Estimate {
    const ast = parsed(expression);
    return estimateExpression(ast, this.analyse(ast, options), sizeOf);
  }

  /**
   * Begins an evaluation of several programs of this environment (and those `beside` it) over the same bindings, with one `now` and one budget
   * (`left` of the result; 100,000 units unless given).
   *
   * The bindings must not change until the last of them is done: what was read once is remembered. `declared`: paths that no type of
   * the environment says, although their values have one type in this evaluation, such as `params.amount`. Comparing one with a
   * value of another kind is unknown.
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

/** The environment of these declarations, the standard library and the extensions. `now` is declared unless the host does. */
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
  };
}
