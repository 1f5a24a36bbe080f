import type { Checked } from "../check/checker.ts";
import type { Reference } from "../check/scope.ts";
import { DYN, type Type } from "../check/type.ts";
import { excerpt } from "../excerpt.ts";
import type { Ast, Expr, Index, Select } from "../syntax/ast.ts";
import { Failure, unknown } from "../value/unknown.ts";
import { TypeValue, Uint, type Value } from "../value/value.ts";
import { has, hasPath, index, select, selectOptional } from "./access.ts";
import { arithmetic, negate } from "./arithmetic.ts";
import { call } from "./calls.ts";
import { type Code, code, type Run } from "./code.ts";
import { comparison } from "./compare.ts";
import { equality, exactNumber, membership } from "./equality.ts";
import { bind, fold, list, map, optionalMap } from "./folds.ts";
import type { Frame } from "./frame.ts";
import { conditional, logic, not } from "./logic.ts";
import { isRisky, Path, readSlowly } from "./paths.ts";
import type { Prefixes } from "./prefixes.ts";

/** Compiles a checked expression. A part with an error of the checker compiles to code that fails when it is evaluated. */
export function compileExpression(ast: Ast, checked: Checked, prefixes: Prefixes): Code {
  return new Compiler(ast, checked, prefixes).compile(ast.root);
}

type Describe = (f: Frame) => string;

class Compiler {
  private readonly ast: Ast;
  private readonly checked: Checked;
  private readonly names = new Map<number, { describe: Describe; fromBindings: boolean }>();

  private readonly prefixes: Prefixes;
  private readonly paths = new Map<string, Path>();

  constructor(ast: Ast, checked: Checked, prefixes: Prefixes) {
    this.ast = ast;
    this.checked = checked;
    this.prefixes = prefixes;
  }

  compile(e: Expr): Code {
    const type = this.checked.types[e.id] ?? DYN;
    const text = () => excerpt(this.ast.source.slice(e.start, e.end), 80);
    switch (e.kind) {
      case "literal":
        return this.literal(e, type);
      case "ident":
        return this.path(e, type) ?? this.undeclared(e.name, type);
      case "select":
        return this.path(e, type) ?? this.select(e, type);
      case "has": {
        const { operand, field } = e.target;
        const general = () => has(this.compile(operand), field, type, text);
        const at = this.variablePath(operand);
        if (at === null || [at.root, ...at.keys, field].some(isRisky)) return general();
        return hasPath(this.pathOf(at.root, [...at.keys, field]), general, type, text);
      }
      case "index":
        return this.coerce(this.index(e, type), type);
      case "call": {
        const f = this.checked.functions.get(e.id);
        if (f === undefined) return failing(new Failure(`no such function: ${e.name}`), type, text);
        // In a namespaced call such as `math.abs(x)`, the target `math` is part of the name and no argument.
        const receiver = e.target !== null && (f.style === "member" || !f.name.includes(".")) ? [e.target] : [];
        return call(
          f,
          [...receiver, ...e.args].map((a) => this.compile(a)),
          type,
          text,
        );
      }
      case "unary":
        return e.op === "!" ? not(this.compile(e.operand)) : negate(this.compile(e.operand), type);
      case "binary": {
        const a = this.compile(e.left);
        const b = this.compile(e.right);
        switch (e.op) {
          case "==":
          case "!=":
            return equality(a, b, e.op === "==", text);
          case "in":
            return membership(a, b, text);
          case "<":
          case "<=":
          case ">":
          case ">=":
            return comparison(a, e.op, b, text);
          default:
            return arithmetic(a, e.op, b, type, text);
        }
      }
      case "logic":
        return logic(
          e.args.map((a) => this.compile(a)),
          e.op === "||",
          text,
        );
      case "conditional":
        return conditional(this.compile(e.test), this.compile(e.yes), this.compile(e.no), type, text);
      case "list":
        return list(
          e.elements.map((x) => ({ value: this.compile(x.value), optional: x.optional })),
          type,
          text,
        );
      case "map":
        return map(
          e.entries.map((x) => ({ key: this.compile(x.key), value: this.compile(x.value), optional: x.optional })),
          type,
          text,
        );
      case "message":
        return failing(new Failure(`unknown message type: ${e.name}`), type, text);
      case "fold": {
        const slot = this.checked.slots.get(e.id) ?? 0;
        const range = this.compile(e.range);
        const element: Describe = (f) => `${range.describe(f)}[${String(f.positions[slot])}]`;
        const named = { describe: element, fromBindings: range.fromBindings };
        this.names.set(slot, named);
        if (e.names.length === 2) this.names.set(slot + 1, named);
        const filter = e.filter === null ? null : this.compile(e.filter);
        const body = e.body === null ? null : this.compile(e.body);
        return fold(e, range, filter, body, slot, type, text);
      }
      case "bind": {
        const slot = this.checked.slots.get(e.id) ?? 0;
        const value = this.compile(e.value);
        this.names.set(slot, { describe: value.describe, fromBindings: value.fromBindings });
        return bind(value, this.compile(e.body), slot, type, text);
      }
      case "optional_map": {
        const slot = this.checked.slots.get(e.id) ?? 0;
        const target = this.compile(e.target);
        this.names.set(slot, { describe: target.describe, fromBindings: false });
        return optionalMap(target, this.compile(e.body), slot, e.flat, type, text);
      }
      default:
        return e satisfies never;
    }
  }

  private literal(e: Expr & { kind: "literal" }, type: Type): Code {
    let constant: Value = e.type === "uint" ? new Uint(e.value as bigint) : e.value;
    if (this.checked.promoted.has(e.id)) constant = Number(constant);
    const value = constant;
    const exact = typeof value === "bigint" ? exactNumber(value) : value;
    const small = typeof value === "bigint" && typeof exact === "number" ? () => exact : null;
    return code({
      run: () => value,
      small,
      constant,
      cost: 1,
      type,
      describe: () => excerpt(this.ast.source.slice(e.start, e.end), 80),
    });
  }

  private path(e: Expr, type: Type): Code | null {
    const found = this.chain(e);
    if (found === null) return null;
    const made = this.reference(found.reference, found.keys, type);
    return made === null ? null : this.coerce({ ...made, cost: found.keys.length + 1 }, type);
  }

  private chain(e: Expr): { reference: Reference; keys: string[] } | null {
    const keys: string[] = [];
    for (let at = e; ; at = at.operand) {
      const reference = this.checked.references.get(at.id);
      if (reference !== undefined) return { reference, keys: keys.reverse() };
      if (at.kind !== "select" || at.optional) return null;
      keys.push(at.field);
    }
  }

  private variablePath(e: Expr): { root: string; keys: string[] } | null {
    const found = this.chain(e);
    return found?.reference.kind === "variable" ? { root: found.reference.name, keys: found.keys } : null;
  }

  private reference(r: Reference, keys: readonly string[], type: Type): Code | null {
    if (r.kind === "type") {
      if (keys.length > 0) return null;
      const constant = new TypeValue(r.name);
      return code({ run: () => constant, constant, cost: 1, type, describe: () => r.name });
    }
    if (r.kind === "local") {
      if (keys.length > 0) return null;
      const slot = r.local.slot;
      const named = this.names.get(slot);
      const describe = named?.describe ?? (() => r.local.name);
      return code({
        run: (f) => f.locals[slot] as Value,
        cost: 1,
        type,
        describe,
        isPath: true,
        fromBindings: named?.fromBindings ?? false,
      });
    }
    const text = [r.name, ...keys].join(".");
    const common = { cost: 1, type, describe: () => text, isPath: true, fromBindings: true };
    if (keys.length === 0 || [r.name, ...keys].some(isRisky)) {
      const read = readSlowly(r.name, keys);
      return code({ run: r.name === "now" && keys.length === 0 ? readNow(read) : read, ...common });
    }
    const path = this.pathOf(r.name, keys);
    return code({ run: (f) => path.read(f), path, ...common });
  }

  private pathOf(root: string, keys: readonly string[]): Path {
    // NUL separates the keys. A dot would be ambiguous, because a quoted field may contain a dot.
    const key = `${root}\0${keys.join("\0")}`;
    const known = this.paths.get(key);
    if (known !== undefined) return known;
    const made = new Path(root, keys, this.prefixes);
    this.paths.set(key, made);
    return made;
  }

  private select(e: Select, type: Type): Code {
    const operand = this.compile(e.operand);
    const made = e.optional ? selectOptional(operand, e.field, type) : select(operand, e.field, type);
    return this.coerce(made, type);
  }

  private index(e: Index, type: Type): Code {
    return index(this.compile(e.operand), this.compile(e.index), e.optional, type, e);
  }

  private undeclared(name: string, type: Type): Code {
    return code({
      run: readSlowly(name, []),
      cost: 1,
      type,
      describe: () => name,
      isPath: true,
      fromBindings: true,
    });
  }

  /**
   * Converts whole numbers of the bindings to int or uint if the type of the expression asks for it, because JSON has no
   * ints. Any other number is unknown, with the reason "type".
   */
  private coerce(c: Code, type: Type): Code {
    if ((type.kind !== "int" && type.kind !== "uint") || !c.fromBindings) return c;
    const inner = c.run;
    const wrong = (f: Frame) => unknown(c.describe(f), "type");
    const make = type.kind === "int" ? BigInt : (v: number) => new Uint(BigInt(v));
    const whole = (v: Value) => Number.isSafeInteger(v) && (type.kind === "int" || (v as number) >= 0);
    const run: Run = (f) => {
      const v = inner(f);
      return typeof v !== "number" ? v : whole(v) ? make(v) : wrong(f);
    };
    const small: Run = (f) => {
      const v = inner(f);
      return typeof v !== "number" || whole(v) ? v : wrong(f);
    };
    return { ...c, run, small, path: null };
  }
}

/** Returns the time of the decision, or the binding `now` if the host supplies one. */
function readNow(read: Run): Run {
  return (f) => {
    if (Object.hasOwn(f.bindings, "now")) return read(f);
    return f.now ?? unknown("now", "missing");
  };
}

function failing(failure: Failure, type: Type, describe: Describe): Code {
  return code({ run: () => failure, cost: 1, type, describe });
}
