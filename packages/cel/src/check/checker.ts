import { type Diagnostic, diagnostic, type Finding, type Severity } from "../diagnostics.ts";
import type { FunctionDeclaration, Functions } from "../library.ts";
import { type Ast, dottedName, type Expr } from "../syntax/ast.ts";
import { checkCall } from "./calls.ts";
import { checkFold, checkIndex, checkMap } from "./containers.ts";
import { type Guards, guardsOf, isNull, NO_GUARDS, union } from "./guards.ts";
import { checkName, checkSelect } from "./names.ts";
import { checkBinary, isIntLiteral } from "./operators.ts";
import { type Local, type Reference, slotsUsed } from "./scope.ts";
import { BOOL, DYN, ERROR, listOf, optionalOf, type Type, typeName } from "./type.ts";
import { Substitution } from "./unify.ts";

export interface Declarations {
  readonly container: string;
  readonly variables: ReadonlyMap<string, Type>;
  readonly types: ReadonlyMap<string, Type>;
  readonly functions: Functions;
  /** First segments of all dotted variable and type names. Other chains cannot be qualified names. */
  readonly roots: ReadonlySet<string>;
}

/** Findings, and the compiler's input by node id. */
export interface Checked {
  readonly type: Type;
  readonly diagnostics: readonly Diagnostic[];
  readonly types: readonly Type[];
  readonly references: ReadonlyMap<number, Reference>;
  readonly functions: ReadonlyMap<number, FunctionDeclaration>;
  /** Int literals to read as doubles. */
  readonly promoted: ReadonlySet<number>;
  /** First slot of each comprehension's or bind's variables. */
  readonly slots: ReadonlyMap<number, number>;
  readonly slotCount: number;
}

const findings_max = 200;

/** Sums `patternWork` over literal patterns. */
export interface PatternMeter {
  work: number;
}

/** Never throws. `result` is the required type; null allows any. */
export function check(ast: Ast, declarations: Declarations, result: Type | null, patterns?: PatternMeter): Checked {
  const checker = new Checker(ast, declarations, patterns);
  const type = checker.visit(ast.root, null, NO_GUARDS);
  if (result !== null && type.kind !== "error" && !checker.unify.assignable(type, result)) {
    const found = typeName(checker.unify.resolve(type, true));
    checker.report({
      code: "wrong_result",
      message: `the expression must be ${typeName(result)}, but is ${found}`,
      ...place(ast.root),
      help: result.kind === "bool" ? "compare it with something" : null,
    });
  }
  return checker.finish(type);
}

export class Checker {
  readonly ast: Ast;
  readonly declarations: Declarations;
  readonly unify = new Substitution();
  readonly functions = new Map<number, FunctionDeclaration>();
  readonly promoted = new Set<number>();
  readonly diagnostics: Diagnostic[] = [];
  private readonly told = new Map<Severity, number>();
  private readonly types: Type[] = [];
  readonly references = new Map<number, Reference>();
  private readonly slots = new Map<number, number>();
  private slotCount = 0;
  readonly unguarded = new Map<string, Diagnostic>();
  readonly patterns: PatternMeter;

  constructor(ast: Ast, declarations: Declarations, patterns: PatternMeter = { work: 0 }) {
    this.ast = ast;
    this.declarations = declarations;
    this.patterns = patterns;
  }

  finish(type: Type): Checked {
    return {
      type: this.unify.resolve(type, true),
      diagnostics: this.diagnostics.sort((a, b) => a.start - b.start || a.end - b.end),
      types: this.types.map((t) => this.unify.resolve(t, true)),
      references: this.references,
      functions: this.functions,
      promoted: this.promoted,
      slots: this.slots,
      slotCount: this.slotCount,
    };
  }

  report(finding: Finding): Type {
    // Separate limits, so that hints cannot hide an error.
    const severity = finding.severity ?? "error";
    const told = this.told.get(severity) ?? 0;
    this.told.set(severity, told + 1);
    if (told < findings_max) this.diagnostics.push(diagnostic(this.ast.source, finding));
    return ERROR;
  }

  /** Returns the type of an expression. Reports problems and continues. */
  visit(e: Expr, scope: Local | null, guards: Guards): Type {
    const type = this.infer(e, scope, guards);
    this.types[e.id] = type;
    return type;
  }

  private infer(e: Expr, scope: Local | null, guards: Guards): Type {
    switch (e.kind) {
      case "literal":
        return { kind: e.type };
      case "ident":
        return checkName(this, e, scope);
      case "select":
        return checkSelect(this, e, scope, guards, true);
      case "has": {
        const t = checkSelect(this, e.target, scope, guards, false);
        this.types[e.target.id] = t;
        return BOOL;
      }
      case "index":
        return checkIndex(this, e, scope, guards);
      case "call":
        return checkCall(this, e, scope, guards);
      case "unary":
        return this.unary(e, scope, guards);
      case "binary": {
        const free = e.op === "==" || e.op === "!=" ? guardsOfNullTest(e.left, e.right) : NO_GUARDS;
        const all = free === NO_GUARDS ? guards : union([guards, free]);
        return checkBinary(this, e, this.visit(e.left, scope, all), this.visit(e.right, scope, all));
      }
      case "logic": {
        const proved = e.args.map((a) => guardsOf(a, e.op === "&&"));
        e.args.forEach((arg, i) => {
          // Operands in either order: `a.b > 1 && has(a.b)` is definite.
          this.wantBool(arg, this.visit(arg, scope, union([guards, ...proved.filter((_, j) => j !== i)])), e.op);
        });
        return BOOL;
      }
      case "conditional": {
        this.wantBool(e.test, this.visit(e.test, scope, guards), "?:");
        const yes = this.visit(e.yes, scope, union([guards, guardsOf(e.test, true)]));
        const no = this.visit(e.no, scope, union([guards, guardsOf(e.test, false)]));
        return (
          this.joined(e.yes, yes, e.no, no) ??
          this.report({
            code: "wrong_operand",
            message: `the two results differ in type: ${this.show(yes)} and ${this.show(no)}`,
            start: e.yes.start,
            end: e.no.end,
            help: "wrap one in `dyn(…)` if this is intended",
          })
        );
      }
      case "list": {
        const elements = e.elements.map((x) => {
          const t = this.visit(x.value, scope, guards);
          return x.optional ? this.unwrapOptional(t, x.value) : t;
        });
        return listOf(this.common(elements));
      }
      case "map":
        return checkMap(this, e, scope, guards);
      case "message":
        for (const f of e.fields) this.visit(f.value, scope, guards);
        return this.report({
          code: "undeclared_name",
          message: `unknown message type \`${e.name}\``,
          start: e.start,
          end: e.start + e.name.length,
          help: 'protobuf messages are not supported; write a map: {"key": value}',
        });
      case "fold":
        return checkFold(this, e, scope, guards);
      case "bind": {
        const type = this.visit(e.value, scope, guards);
        return this.visit(e.body, this.declare(e, scope, e.name, type), guards);
      }
      case "optional_map": {
        const inner = this.unwrapOptional(this.visit(e.target, scope, guards), e.target);
        const body = this.visit(e.body, this.declare(e, scope, e.name, inner), guards);
        return optionalOf(e.flat ? this.unwrapOptional(body, e.body) : body);
      }
      default:
        return e satisfies never;
    }
  }

  /** The first variable of a node decides where its slots begin. */
  declare(e: Expr, scope: Local | null, name: string, type: Type): Local {
    const slot = slotsUsed(scope);
    if (!this.slots.has(e.id)) this.slots.set(e.id, slot);
    this.slotCount = Math.max(this.slotCount, slot + 1);
    return { name, type, slot, outer: scope };
  }

  private unary(e: Expr & { kind: "unary" }, scope: Local | null, guards: Guards): Type {
    const t = this.unify.resolve(this.visit(e.operand, scope, guards), false);
    if (e.op === "!") {
      this.wantBool(e.operand, t, "!");
      return BOOL;
    }
    if (t.kind === "int" || t.kind === "double" || t.kind === "dyn" || t.kind === "error" || t.kind === "parameter")
      return t.kind === "parameter" ? DYN : t;
    return this.report({
      code: "wrong_operand",
      message: `\`-\` needs a number, this is ${this.show(t)}`,
      ...place(e.operand),
    });
  }

  wantBool(e: Expr, t: Type, where: string): void {
    if (this.unify.assignable(t, BOOL)) return;
    this.report({
      code: "wrong_operand",
      message: `\`${where}\` needs bool, this is ${this.show(t)}`,
      ...place(e),
      help: boolHelp(this.unify.resolve(t, false)),
    });
  }

  unwrapOptional(t: Type, at: Expr): Type {
    const inner = this.unify.unknownType();
    if (this.unify.assignable(t, optionalOf(inner))) return this.unify.resolve(inner, false);
    return this.report({
      code: "wrong_operand",
      message: `an optional is needed here, this is ${this.show(t)}`,
      ...place(at),
      help: "`a.?b` and `optional.of(x)` are optionals",
    });
  }

  common(types: readonly Type[]): Type {
    let joined: Type | null = null;
    for (const t of types) {
      joined = joined === null ? t : this.unify.join(joined, t);
      if (joined === null) return DYN;
    }
    return joined ?? this.unify.unknownType();
  }

  /** Returns the common type, or null. An int literal beside a double becomes a double. */
  private joined(a: Expr, x: Type, b: Expr, y: Type): Type | null {
    const found = this.unify.join(x, y);
    if (found !== null) return found;
    if (x.kind === "double" && isIntLiteral(b)) return this.promote(b);
    if (y.kind === "double" && isIntLiteral(a)) return this.promote(a);
    if (x.kind === "null") return y;
    return y.kind === "null" ? x : null;
  }

  promote(e: Expr): Type {
    this.promoted.add(e.id);
    return { kind: "double" };
  }

  show(t: Type): string {
    return typeName(this.unify.resolve(t, true));
  }
}

function guardsOfNullTest(left: Expr, right: Expr): Guards {
  const tested = isNull(right) ? left : isNull(left) ? right : null;
  const path = tested === null ? null : dottedName(tested);
  return path === null ? NO_GUARDS : new Set([path]);
}

function boolHelp(t: Type): string | null {
  if (t.kind === "string") return 'compare it: `… == "…"` or `… != ""`';
  if (t.kind === "int" || t.kind === "uint" || t.kind === "double") return "compare it: `… > 0`";
  return t.kind === "list" || t.kind === "map" ? "ask for its size: `size(…) > 0`" : null;
}

export function place(e: Expr): { start: number; end: number } {
  return { start: e.start, end: e.end };
}
