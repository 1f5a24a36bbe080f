import { BOOL, type Environment, type Expr, type Program, parse, type Type } from "@countersign/cel";
import type { CompiledPolicy } from "../policy/compile.ts";
import { declareVariables } from "../policy/expressions.ts";
import { type ChangePlace, placeOf } from "./change.ts";

/** Split at `&&`, `||`, `!` and `?:`, with variables expanded. */
export type Condition =
  | { readonly kind: "leaf"; readonly program: Program; readonly clues: readonly Clue[] }
  | { readonly kind: "not"; readonly of: Condition }
  | { readonly kind: "all" | "any"; readonly of: readonly Condition[] }
  | { readonly kind: "if"; readonly test: Condition; readonly yes: Condition; readonly no: Condition };

export type Clue = PlacedClue | CountedClue;

/** A place read by a leaf, with a hint at suitable values. */
type PlacedClue = { readonly place: ChangePlace } & (
  | { readonly kind: "truth" | "presence" }
  | { readonly kind: "bound"; readonly side: "at_most" | "at_least"; readonly other: Program }
  | { readonly kind: "equal"; readonly other: Program }
  | { readonly kind: "one_of"; readonly other: Program }
  | { readonly kind: "member"; readonly other: Program }
  | { readonly kind: "argument"; readonly of: string }
);

/** A leaf that compares a counter with a limit. */
export interface CountedClue {
  readonly kind: "counted";
  /** `count.<name>` */
  readonly name: string;
  readonly field: "n" | "sum";
  /** The comparison with the counter on the left side. */
  readonly op: CountedOp;
  readonly count: Program;
  readonly limit: Program;
}

type CountedOp = ">" | ">=" | "<" | "<=";

/** The same comparison with its sides exchanged. */
const exchanged: ReadonlyMap<string, CountedOp> = new Map([
  [">", "<"],
  [">=", "<="],
  ["<", ">"],
  ["<=", ">="],
]);

export interface PolicyConditions {
  readonly when: Condition | null;
  readonly require: Condition | null;
}

const known = new WeakMap<CompiledPolicy, PolicyConditions>();

/** Cached as long as the policy lives. */
export function conditionsOf(policy: CompiledPolicy): PolicyConditions {
  const found = known.get(policy);
  if (found !== undefined) return found;
  const made = takeApart(policy);
  known.set(policy, made);
  return made;
}

interface Scope {
  readonly source: string;
  readonly environment: Environment;
}

interface Variable extends Scope {
  readonly root: Expr;
}

function takeApart({ document, when, require }: CompiledPolicy): PolicyConditions {
  const variables = new Map<string, Variable>();
  const environment = declareVariables(document, (name, { source }, before): Type => {
    variables.set(name, { source, environment: before, root: parse(source).root });
    return before.check(source).type;
  });
  const condition = (program: Program | null): Condition | null => {
    if (program === null) return null;
    const { source } = program;
    return new Splitter(variables).split(parse(source).root, { source, environment });
  };
  return { when: condition(when), require: condition(require) };
}

const conditions_max = 256;

class Splitter {
  private readonly variables: ReadonlyMap<string, Variable>;
  private made = 0;

  constructor(variables: ReadonlyMap<string, Variable>) {
    this.variables = variables;
  }

  split(expr: Expr, scope: Scope): Condition {
    this.made += 1;
    if (this.made > conditions_max) return this.leaf(expr, scope);
    switch (expr.kind) {
      case "logic":
        return { kind: expr.op === "&&" ? "all" : "any", of: expr.args.map((arg) => this.split(arg, scope)) };
      case "unary":
        return expr.op === "!" ? { kind: "not", of: this.split(expr.operand, scope) } : this.leaf(expr, scope);
      case "conditional":
        return {
          kind: "if",
          test: this.split(expr.test, scope),
          yes: this.split(expr.yes, scope),
          no: this.split(expr.no, scope),
        };
      default: {
        const variable = this.variable(expr);
        return variable === undefined ? this.leaf(expr, scope) : this.split(variable.root, variable);
      }
    }
  }

  private leaf(expr: Expr, scope: Scope): Condition {
    return { kind: "leaf", program: compilePart(expr, scope, BOOL), clues: this.cluesOf(expr, scope) };
  }

  private variable(expr: Expr): Variable | undefined {
    const names = namesOf(expr);
    return names?.length === 2 && names[0] === "vars" ? this.variables.get(names[1] as string) : undefined;
  }

  /** Returns the place that the expression reads. Null if it does more. */
  private placed(expr: Expr): ChangePlace | null {
    const names = this.read(expr);
    return names === null ? null : placeOf(names);
  }

  /** Returns the names that the expression reads, also through variables. */
  private read(expr: Expr): string[] | null {
    let at = expr;
    for (let step = 0; step < this.variables.size + 1; step += 1) {
      const variable = this.variable(at);
      if (variable === undefined) break;
      at = variable.root;
    }
    return namesOf(at);
  }

  private counted(
    side: Expr,
    op: CountedOp | undefined,
    compile: (part: Expr) => Program,
    limit: Expr,
  ): CountedClue | null {
    const [root, name, field, ...rest] = this.read(side) ?? [];
    if (op === undefined || root !== "count" || rest.length > 0 || (field !== "n" && field !== "sum")) return null;
    return { kind: "counted", name: `count.${name}`, field, op, count: compile(side), limit: compile(limit) };
  }

  private cluesOf(expr: Expr, scope: Scope): Clue[] {
    const place = this.placed(expr);
    if (place !== null) return [{ kind: "truth", place }];
    switch (expr.kind) {
      case "has": {
        const asked = this.placed(expr.target);
        return asked === null ? [] : [{ kind: "presence", place: asked }];
      }
      case "binary":
        return this.cluesOfComparison(expr, scope);
      case "call":
        return this.cluesOfCall(expr);
      default:
        return [];
    }
  }

  private cluesOfComparison(expr: Expr & { kind: "binary" }, scope: Scope): Clue[] {
    const { op, left, right } = expr;
    const clues: Clue[] = [];
    const about = (side: Expr, other: Expr, isLeft: boolean): void => {
      const place = this.placed(side);
      if (place === null) {
        if (side.kind === "call") clues.push(...this.cluesOfCall(side));
        return;
      }
      const program = compilePart(other, scope, null);
      if (op === "==" || op === "!=") clues.push({ kind: "equal", place, other: program });
      else if (op === "in") clues.push({ kind: isLeft ? "one_of" : "member", place, other: program });
      else if (op.startsWith("<") || op.startsWith(">")) {
        // Both directions are tried, and the suitable one is kept.
        clues.push({ kind: "bound", side: "at_most", place, other: program });
        clues.push({ kind: "bound", side: "at_least", place, other: program });
      }
    };
    about(left, right, true);
    about(right, left, false);
    const compile = (part: Expr): Program => compilePart(part, scope, null);
    const turned = exchanged.get(op);
    const counted = [
      this.counted(left, turned === undefined ? undefined : exchanged.get(turned), compile, right),
      this.counted(right, turned, compile, left),
    ];
    return [...clues, ...counted.filter((clue) => clue !== null)];
  }

  private cluesOfCall(expr: Expr & { kind: "call" }): Clue[] {
    return expr.args.flatMap((arg): Clue[] => {
      const place = this.placed(arg);
      return place === null ? [] : [{ kind: "argument", place, of: expr.name }];
    });
  }
}

function compilePart(root: Expr, { source, environment }: Scope, result: Type | null): Program {
  // Node numbers stay those of the whole source.
  return environment.compileUnchecked({ source, root, nodes: 0 }, { result });
}

/** Null for any other chain than `a.b["c"].d`. */
function namesOf(expr: Expr): string[] | null {
  if (expr.kind === "ident") return [expr.name];
  if (expr.kind === "select") {
    if (expr.optional) return null;
    const before = namesOf(expr.operand);
    return before === null ? null : [...before, expr.field];
  }
  if (expr.kind !== "index" || expr.optional || expr.index.kind !== "literal" || expr.index.type !== "string")
    return null;
  const before = namesOf(expr.operand);
  return before === null ? null : [...before, String(expr.index.value)];
}
