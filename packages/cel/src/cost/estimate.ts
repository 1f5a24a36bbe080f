import type { Checked } from "../check/checker.ts";
import { DYN, type Type } from "../check/type.ts";
import type { Ast, Binary, Call, Expr, Fold, Literal, Logic } from "../syntax/ast.ts";
import { chars_a_unit } from "../value/equal.ts";
import { libraryCall } from "./functions.ts";
import {
  additive,
  type Bounds,
  containing,
  either,
  finite,
  merged,
  narrowed,
  SCALAR,
  type Size,
  textOf,
  tight,
} from "./size.ts";
import { adding, comparing, ordering, reading, searching } from "./work.ts";

/** Upper bounds of the budget that an evaluation takes, and of its value's size. */
export interface Estimate {
  readonly units: number;
  readonly size: Size;
}

export type SizeOf = (names: readonly string[]) => Size;

/** `naming` is the cost of the node's name in a reason, which only indexing by an expression has. */
interface Node {
  readonly units: number;
  readonly size: Size;
  readonly naming: number;
  /** The sure kind. `bare` is a bool or null. Searches look only inside `any`. */
  readonly kind: "number" | "text" | "bare" | "any";
  readonly entries: "number" | "text" | "bare" | "any";
  readonly scalar?: boolean;
}

type Locals = ReadonlyMap<string, Node>;

const NO_LOCALS: Locals = new Map();

/**
 * Returns the worst case: all operands, both arms of `?:`, every step. No evaluation takes more; most take far less.
 */
export function estimateExpression(ast: Ast, checked: Checked, sizeOf: SizeOf): Estimate {
  const node = new Estimator(checked, sizeOf, tight).visit(ast.root, new Map());
  // A container as a result is copied for the host.
  return { units: Math.ceil(node.units + node.size.values + node.size.text / 16), size: node.size };
}

class Estimator {
  private readonly checked: Checked;
  private readonly sizeOf: SizeOf;
  private readonly bounds: Bounds;
  private readonly additive: Estimator;
  private depth = 0;

  constructor(checked: Checked, sizeOf: SizeOf, bounds: Bounds) {
    this.checked = checked;
    this.sizeOf = sizeOf;
    this.bounds = bounds;
    this.additive = bounds === additive ? this : new Estimator(checked, sizeOf, additive);
  }

  visit(e: Expr, locals: Locals): Node {
    const node = this.work(e, locals);
    return { ...node, units: node.units + node.naming };
  }

  private work(e: Expr, locals: Locals): Node {
    switch (e.kind) {
      case "literal":
        return literal(e);
      case "ident":
        return this.read(e, [e.name], e.absolute ? NO_LOCALS : locals);
      case "select":
      case "has": {
        const target = e.kind === "has" ? e.target : e;
        const names = namesOf(target);
        const made = names === null ? below(this.visit(target.operand, locals)) : this.read(target, names, locals);
        return e.kind === "has" ? { ...made, size: SCALAR, kind: "bare" } : made;
      }
      case "index": {
        const operand = this.visit(e.operand, locals);
        const at = this.visit(e.index, locals);
        // Naming a missing or wrong entry computes the index again.
        const naming = operand.naming + at.units;
        return {
          units: operand.units + at.units + 1 + at.size.chars / chars_a_unit,
          size: operand.entries === "text" ? textOf(operand.size.chars) : operand.size,
          naming,
          kind: operand.entries,
          entries: "any",
        };
      }
      case "call":
        return this.call(e, locals);
      case "unary":
        return plain(1, [this.visit(e.operand, locals)], SCALAR, e.op === "!" ? "bare" : "number");
      case "binary":
        return this.binary(e, locals);
      case "logic":
        return this.logic(e, locals);
      case "conditional": {
        const [test, yes, no] = [e.test, e.yes, e.no].map((x) => this.visit(x, locals)) as [Node, Node, Node];
        return plain(1, [test, yes, no], either(yes.size, no.size, this.bounds));
      }
      case "list": {
        const parts = e.elements.map((x) => this.visit(x.value, locals));
        const [kind = "any", ...others] = new Set(parts.map((p) => p.kind));
        const entries = kind === "any" || others.includes("any") ? "any" : others.length === 0 ? kind : "bare";
        return {
          ...plain(
            1,
            parts,
            containing(
              parts.map((p) => p.size),
              this.bounds,
            ),
          ),
          entries,
        };
      }
      case "map": {
        const parts = e.entries.flatMap((x) => [this.visit(x.key, locals), this.visit(x.value, locals)]);
        return plain(
          1 + parts.reduce((sum, p) => sum + p.size.chars, 0) / chars_a_unit,
          parts,
          containing(
            parts.map((p) => p.size),
            this.bounds,
          ),
        );
      }
      case "message":
        return leaf(SCALAR);
      case "fold":
        return this.fold(e, locals);
      case "bind": {
        const value = this.visit(e.value, locals);
        const body = this.visit(e.body, new Map(locals).set(e.name, { ...value, units: 1 }));
        return plain(1, [value, body], body.size);
      }
      case "optional_map": {
        const target = this.visit(e.target, locals);
        const body = this.visit(e.body, new Map(locals).set(e.name, { ...target, units: 1 }));
        return plain(1, [target, body], containing([body.size], this.bounds));
      }
      default:
        return e satisfies never;
    }
  }

  private read(e: Expr, names: readonly string[], locals: Locals): Node {
    const local = locals.get(names[0] as string);
    const units = names.length;
    if (local !== undefined) return units === 1 ? local : { ...below(local), units };
    // Only a declared type is reliable: the checker infers one of several for `a + b`.
    const type = this.checked.types[e.id] ?? DYN;
    return { units, size: narrowed(this.sizeOf(names), type), naming: 0, kind: kindOf(type), entries: entriesOf(type) };
  }

  private call(e: Call, locals: Locals): Node {
    const declared = this.checked.functions.get(e.id);
    const written = e.target === null ? e.args : [e.target, ...e.args];
    const parts = written.map((x) => this.visit(x, locals));
    const name = declared?.name ?? e.name;
    const isNamespaced = name.includes(".") && e.target !== null;
    // Only map keys are counted one by one.
    const isListCounted = name === "size" && parts[0]?.entries !== "any";
    const sizes = (isNamespaced ? parts.slice(1) : parts).map(({ size }) =>
      isListCounted ? { ...size, items: 0 } : size,
    );
    const found = libraryCall(name, sizes, isNamespaced ? e.args : written, this.bounds);
    const [kind, entries] = [kindOf, entriesOf].map((of) => {
      const all = new Set((declared?.overloads ?? []).map((o) => of(o.result)));
      const [only = "any"] = all.size === 1 ? all : [];
      return only;
    }) as [Node["kind"], Node["kind"]];
    if (found !== undefined && declared?.checked !== true)
      return { ...plain(1 + found.work, parts, found.size, kind), entries };
    // A host function builds its result from its arguments and its own tables.
    const whole = containing(sizes, this.bounds);
    const items = this.bounds.most(whole.items, whole.chars, host_items);
    const made = { ...whole, items, chars: whole.chars + host_items };
    const larger = { ...made, values: whole.values + made.items + 1, text: whole.text + host_text };
    const size = declared?.size?.(sizes) ?? larger;
    const work = declared?.cost?.(sizes) ?? 0;
    return { ...plain(1 + work, parts, kind === "number" || kind === "bare" ? SCALAR : size, kind), entries };
  }

  private binary(e: Binary, locals: Locals): Node {
    const a = this.visit(e.left, locals);
    const b = this.visit(e.right, locals);
    const test = (work: number): Node => plain(1 + work, [a, b], SCALAR, "bare");
    switch (e.op) {
      case "==":
      case "!=":
        return test(
          isScalar(a) || isScalar(b)
            ? reading(a.size.chars, b.size.chars, this.bounds)
            : comparing(a.size, b.size, this.bounds),
        );
      case "in": {
        const isPlain = isScalar(a) || holdsScalars(b);
        const work = isPlain
          ? reading(b.size.items * a.size.chars, b.size.text, this.bounds)
          : searching(a.size, b.size);
        return test(b.size.items / 2 + work + a.size.chars / chars_a_unit);
      }
      case "+": {
        if (a.kind === "number" || b.kind === "number") return plain(1, [a, b], SCALAR, "number");
        const isText = a.kind === "text" || b.kind === "text";
        const size = isText ? textOf(a.size.chars + b.size.chars) : sum(a.size, b.size);
        return plain(1 + adding(a.size, b.size), [a, b], size, isText ? "text" : "any");
      }
      case "<":
      case "<=":
      case ">":
      case ">=":
        return test(ordering(a.size, b.size, isScalar(a) || isScalar(b), this.bounds));
      default:
        return plain(1, [a, b], SCALAR, a.kind === "number" || b.kind === "number" ? "number" : "any");
    }
  }

  private logic(e: Logic, locals: Locals): Node {
    const parts = e.args.map((x) => this.visit(x, locals));
    // After an unusual value on the path, the second half of `has(a) && a == …` is charged twice.
    const again = e.args.slice(1).map((_, at) => (e.args[at]?.kind === "has" ? (parts[at + 1] as Node) : leaf(SCALAR)));
    return plain(1, [...parts, ...again], SCALAR, "bare");
  }

  /**
   * Returns the smaller of two bounds. First: each step costs as much as on the largest entry. Second: each step costs
   * as much as on an empty entry, and all together one step on the whole range (see `additive`). The second is far
   * smaller where work grows with the texts.
   */
  private fold(e: Fold, locals: Locals): Node {
    const range = this.visit(e.range, locals);
    const { items } = range.size;
    this.depth += 1;
    this.additive.depth = this.depth;
    const asLargest = () => everyStep(items, this.step(e, range, range.size, locals));
    const asSum = () => {
      const { units, size } = everyStep(items, this.additive.step(e, range, SCALAR, locals));
      const all = this.additive.step(e, range, merged(range.size), locals);
      return {
        units: units + all.units,
        size: { ...all.size, values: size.values + all.size.values, text: size.text + all.size.text },
      };
    };
    // Visits each nested loop once for each bound.
    const ways =
      this.depth > depth_of_sums ? [asLargest()] : this.bounds === additive ? [asSum()] : [asLargest(), asSum()];
    this.depth -= 1;
    this.additive.depth = this.depth;
    const least = (of: (way: Steps) => number) => Math.min(...ways.map(of));
    const size = {
      chars: least((way) => way.size.chars),
      items: least((way) => way.size.items),
      values: least((way) => way.size.values),
      text: least((way) => way.size.text),
    };
    // A map's keys are charged before the first step.
    const units = range.units + 1 + items + least((way) => way.units);
    return { units, size: folded(e, range.size, size, this.bounds), naming: 0, kind: "any", entries: "any" };
  }

  private step(e: Fold, range: Node, entry: Size, locals: Locals): Steps {
    const { naming, entries: kind } = range;
    const scalar = range.size.scalars === true;
    const size = scalar ? { ...entry, scalars: true } : entry;
    const variable: Node = { units: 1, size, naming, kind, entries: "any", scalar };
    const inside = new Map(locals);
    for (const name of e.names) inside.set(name, variable);
    const filter = e.filter === null ? leaf(SCALAR) : this.visit(e.filter, inside);
    const body = e.body === null ? variable : this.visit(e.body, inside);
    const keys = e.macro === "transformMapEntry" ? body.size.items : 0;
    return { units: filter.units + body.units + 1 + keys + filter.naming + body.naming, size: body.size };
  }
}

/** `values` and `text` bound the sum of all results. */
interface Steps {
  readonly units: number;
  readonly size: Size;
}

function everyStep(count: number, { units, size }: Steps): Steps {
  const { values, text } = size;
  return {
    units: finite(count * units),
    size: { ...size, values: finite(count * values), text: finite(count * text) },
  };
}

/** Deeper loops use only the bound of the largest entries. */
const depth_of_sums = 4;

/** Entries that host functions add, such as the US states. */
const host_items = 100;
const host_text = 1_000;

function leaf(size: Size): Node {
  return { units: 1, size, naming: 0, kind: "any", entries: "any" };
}

function entriesOf(type: Type): Node["kind"] {
  return type.kind === "list" ? kindOf(type.element) : "any";
}

function literal({ type, value }: Literal): Node {
  const size = typeof value === "string" || value instanceof Uint8Array ? textOf(value.length) : SCALAR;
  return { ...leaf(size), kind: kindOf({ kind: type }) };
}

/** Uints, times and bytes are objects, so they compare like containers. */
function kindOf({ kind }: Type): Node["kind"] {
  if (kind === "double" || kind === "int") return "number";
  return kind === "string" ? "text" : kind === "bool" || kind === "null" ? "bare" : "any";
}

function below(operand: Node): Node {
  return { ...operand, units: operand.units + 1, kind: "any", entries: "any", scalar: false };
}

function isScalar({ kind, scalar }: Node): boolean {
  return kind !== "any" || scalar === true;
}

/** A reason may name each part once. */
function plain(own: number, parts: readonly Node[], size: Size, kind: Node["kind"] = "any"): Node {
  return { units: parts.reduce((sum, p) => sum + p.units + p.naming, own), size, naming: 0, kind, entries: "any" };
}

function holdsScalars({ entries, size }: Node): boolean {
  return entries !== "any" || size.scalars === true;
}

function namesOf(e: Expr): string[] | null {
  if (e.kind === "ident") return [e.name];
  if (e.kind !== "select" || e.optional) return null;
  const before = namesOf(e.operand);
  return before === null ? null : [...before, e.field];
}

function sum(a: Size, b: Size): Size {
  return {
    chars: a.chars + b.chars,
    items: a.items + b.items,
    values: a.values + b.values,
    text: a.text + b.text,
  };
}

function folded(e: Fold, range: Size, made: Size, { most }: Bounds): Size {
  switch (e.macro) {
    case "all":
    case "exists":
    case "exists_one":
      return SCALAR;
    case "filter":
      return { ...range, values: range.values + 1 };
    case "map":
    case "transformList":
      return { ...made, items: most(range.items, made.items), values: 1 + made.values };
    // Original keys count, too.
    case "transformMap":
      return {
        chars: most(range.chars, made.chars),
        items: most(range.items, made.items),
        values: range.values + made.values,
        text: range.text + made.text,
      };
    case "transformMapEntry":
      return { ...made, items: finite(range.items * made.items), values: 1 + made.values };
    default:
      return e.macro satisfies never;
  }
}
