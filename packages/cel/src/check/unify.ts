import { DYN, sameType, type Type } from "./type.ts";

/**
 * Finds the type parameters of one expression. `dyn` fits everything. A parameter takes the more general of its types.
 * Null fits objects, timestamps, durations and opaque types.
 */
export class Substitution {
  private bound: Map<string, Type>;
  private fresh = 0;

  constructor() {
    this.bound = new Map();
  }

  /** Copies types with fresh parameters, so that two calls share none. */
  instantiate(types: readonly Type[]): Type[] {
    const names = new Map<string, Type>();
    const rename = (t: Type): Type =>
      transform(t, (p) => {
        let own = names.get(p.name);
        if (own === undefined) {
          own = { kind: "parameter", name: `_${this.fresh++}` };
          names.set(p.name, own);
        }
        return own;
      });
    return types.map(rename);
  }

  /** Returns the element type of an empty list. */
  unknownType(): Type {
    return { kind: "parameter", name: `_${this.fresh++}` };
  }

  /** Returns whether `from` fits, and binds parameters only then. */
  assignable(from: Type, to: Type): boolean {
    if (from === to) return true;
    if ((isAny(from) || from.kind === "error") && to.kind !== "parameter" && to.kind !== "dyn") return true;
    return this.assignableAll([from], [to]);
  }

  assignableAll(from: readonly Type[], to: readonly Type[]): boolean {
    if (from.length !== to.length) return false;
    const saved = this.bound.size === 0 ? null : new Map(this.bound);
    if (from.every((t, i) => this.fits(t, to[i] as Type))) return true;
    if (saved !== null) this.bound = saved;
    else this.bound.clear();
    return false;
  }

  /** Replaces every known parameter. Unknown ones remain, or become `dyn`. */
  resolve(t: Type, freeToDyn: boolean): Type {
    return transform(t, (p) => {
      const found = this.bound.get(p.name);
      if (found !== undefined) return this.resolve(found, freeToDyn);
      return freeToDyn ? DYN : p;
    });
  }

  /** Returns a type that accepts both, or null if only `dyn` does. */
  join(a: Type, b: Type): Type | null {
    const x = this.resolve(a, false);
    const y = this.resolve(b, false);
    if (x.kind === "null" && nullFits(y)) return y;
    if (y.kind === "null" && nullFits(x)) return x;
    return this.assignable(x, y) ? mostGeneral(this.resolve(x, false), this.resolve(y, false)) : null;
  }

  private fits(from: Type, to: Type): boolean {
    if (to.kind === "parameter") {
      const known = this.bound.has(to.name);
      if (this.substitutes(from, to)) return true;
      if (known) return false;
    }
    if (from.kind === "parameter") return this.substitutes(to, from);
    if (from.kind === "error" || to.kind === "error") return true;
    if (from.kind === "dyn")
      return isAny(from) || isAny(to) || from.among?.some((each) => this.fits(each, to)) === true;
    if (to.kind === "dyn") return isAny(to) || to.among?.some((each) => this.fits(from, each)) === true;
    if (from.kind === "null") return nullFits(to);
    if (to.kind === "null") return nullFits(from);
    switch (from.kind) {
      case "list":
        return to.kind === "list" && this.fits(from.element, to.element);
      case "map":
        if (to.kind === "object") return from.key.kind !== "string" ? this.fits(from.key, { kind: "string" }) : true;
        return to.kind === "map" && this.fits(from.key, to.key) && this.fits(from.value, to.value);
      case "object":
        if (to.kind === "map") return this.fits({ kind: "string" }, to.key) && this.fits(DYN, to.value);
        return to.kind === "object";
      case "opaque":
        return (
          to.kind === "opaque" &&
          from.name === to.name &&
          from.parameters.length === to.parameters.length &&
          from.parameters.every((p, i) => this.fits(p, to.parameters[i] as Type))
        );
      default:
        return from.kind === to.kind;
    }
  }

  private substitutes(t: Type, p: Type & { kind: "parameter" }): boolean {
    if (t.kind === "parameter" && t.name === p.name) return true;
    const found = this.bound.get(p.name);
    if (found !== undefined) {
      if (sameType(t, found)) return true;
      if (!this.fits(t, found)) return false;
      const general = mostGeneral(t, found);
      if (!this.mentions(general, p.name)) this.bound.set(p.name, general);
      return true;
    }
    if (this.mentions(t, p.name)) return false;
    this.bound.set(p.name, t);
    return true;
  }

  private mentions(t: Type, name: string): boolean {
    let seen = false;
    transform(this.resolve(t, false), (p) => {
      if (p.name === name) seen = true;
      return p;
    });
    return seen;
  }
}

function isAny(t: Type): boolean {
  return t.kind === "dyn" && t.among === undefined;
}

function nullFits(t: Type): boolean {
  return (
    t.kind === "null" || t.kind === "object" || t.kind === "timestamp" || t.kind === "duration" || t.kind === "opaque"
  );
}

function transform(t: Type, parameter: (p: Type & { kind: "parameter" }) => Type): Type {
  switch (t.kind) {
    case "parameter":
      return parameter(t);
    case "list":
      return { kind: "list", element: transform(t.element, parameter) };
    case "map":
      return { kind: "map", key: transform(t.key, parameter), value: transform(t.value, parameter) };
    case "opaque":
      return { ...t, parameters: t.parameters.map((p) => transform(p, parameter)) };
    case "type":
      return t.of === null ? t : { kind: "type", of: transform(t.of, parameter) };
    default:
      return t;
  }
}

function mostGeneral(a: Type, b: Type): Type {
  return lessSpecific(a, b) ? a : b;
}

function lessSpecific(a: Type, b: Type): boolean {
  if (a.kind === "dyn" || a.kind === "parameter") return true;
  if (b.kind === "dyn" || b.kind === "parameter") return false;
  if (a.kind !== b.kind) return false;
  switch (a.kind) {
    case "list":
      return b.kind === "list" && lessSpecific(a.element, b.element);
    case "map":
      return b.kind === "map" && lessSpecific(a.key, b.key) && lessSpecific(a.value, b.value);
    case "opaque":
      return (
        b.kind === "opaque" &&
        a.name === b.name &&
        a.parameters.every((p, i) => lessSpecific(p, b.parameters[i] as Type))
      );
    case "type":
      return true;
    default:
      return sameType(a, b);
  }
}
