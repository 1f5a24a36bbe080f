import { Duration } from "../value/duration.ts";
import { mapGet } from "../value/equal.ts";
import { LazyObject } from "../value/lazy.ts";
import { Timestamp } from "../value/timestamp.ts";
import { NonValue, Unknown, unknown } from "../value/unknown.ts";
import { CelMap, isRecord, Optional, TypeValue, Uint, type Value } from "../value/value.ts";
import type { Run } from "./code.ts";
import type { Frame, Plain } from "./frame.ts";
import type { Prefixes } from "./prefixes.ts";

const FOREIGN: readonly object[] = [
  Object.prototype,
  Array.prototype,
  [],
  Uint8Array.prototype,
  new CelMap(new Map()),
  new LazyObject(new Map()),
  new Unknown([]),
  new Uint(0n),
  new TypeValue(""),
  Optional.NONE,
  new Timestamp(0, 0),
  new Duration(0, 0),
];

const RISKY: ReadonlySet<string> = new Set(FOREIGN.flatMap(namesOf));

function namesOf(o: object): string[] {
  const up: unknown = Object.getPrototypeOf(o);
  return [...Object.getOwnPropertyNames(o), ...(up === null ? [] : namesOf(up as object))];
}

/**
 * Returns true if `object[key]` could find something other than an own field. Checking each key would double the time
 * of a read (10 ns).
 */
export function isRisky(key: string): boolean {
  return RISKY.has(key);
}

type Find = (f: Frame) => Plain | null;

/**
 * A path into the bindings: `root.key1.key2…`, without risky keys. Programs of one evaluation look up the object of the
 * last field once and keep it in a slot. A class, so that the engine inlines its methods.
 */
export class Path {
  readonly key: string;
  readonly text: string;
  /** Created once, because missing facts are common. */
  readonly missing: Unknown;
  readonly nodes: number;
  private readonly root: string;
  private readonly keys: readonly string[];
  private readonly slot: number;
  private readonly find: Find;

  constructor(root: string, keys: readonly string[], prefixes: Prefixes) {
    this.root = root;
    this.keys = keys;
    this.key = keys.at(-1) as string;
    this.text = [root, ...keys].join(".");
    this.nodes = keys.length + 1;
    this.missing = unknown(this.text, "missing");
    const above = keys.slice(0, -1);
    this.find = finder(root, above);
    this.slot = prefixes.slot(root, above);
  }

  owner(f: Frame): Plain | null {
    const known = f.prefixes;
    if (known === null) return this.find(f);
    const o = known[this.slot];
    return o !== undefined ? o : this.look(f, known);
  }

  read(f: Frame): Value {
    const o = this.owner(f);
    if (o === null) return this.walk(f);
    const v = o[this.key];
    return v === undefined ? this.missing : v;
  }

  /** Same as `read`, for any values along the path. */
  walk(f: Frame): Value {
    return walk(f, this.root, this.keys, this.text, this.missing);
  }

  private look(f: Frame, known: (Plain | undefined)[]): Plain | null {
    const found = this.find(f);
    if (found !== null && this.slot >= 0) known[this.slot] = found;
    return found;
  }
}

export function readSlowly(root: string, keys: readonly string[]): Run {
  const text = [root, ...keys].join(".");
  const missing = unknown(text, "missing");
  if (keys.length > 0 || isRisky(root)) return (f) => walk(f, root, keys, text, missing);
  return (f) => {
    const v = (f.bindings as Plain)[root];
    return v === undefined ? missing : v;
  };
}

function finder(root: string, keys: readonly string[]): Find {
  const [a, b] = keys;
  if (a === undefined) {
    return (f) => {
      const o = (f.bindings as Plain)[root];
      return isRecord(o) ? o : null;
    };
  }
  if (b === undefined) {
    return (f) => {
      const o = (f.bindings as Plain)[root];
      if (typeof o !== "object" || o === null) return null;
      const p = (o as Plain)[a];
      return isRecord(p) ? p : null;
    };
  }
  return (f) => {
    let o = (f.bindings as Plain)[root];
    for (const key of keys) {
      if (typeof o !== "object" || o === null) return null;
      o = (o as Plain)[key] as Value;
    }
    return isRecord(o) ? o : null;
  };
}

function walk(f: Frame, root: string, keys: readonly string[], text: string, missing: Unknown): Value {
  let value: Value | undefined = Object.hasOwn(f.bindings, root) ? (f.bindings as Plain)[root] : undefined;
  if (value === undefined) return missing;
  for (let i = 0; i < keys.length; i++) {
    const prefix = () => [root, ...keys.slice(0, i)].join(".");
    if (value instanceof LazyObject) {
      value = value.get(keys[i] as string, `${prefix()}.${keys[i]}`, f) as Value;
      // Keeps the variable's own reasons.
      if (value instanceof NonValue) return value;
      continue;
    }
    if (value instanceof Unknown) return value.below(`.${keys.slice(i).join(".")}`);
    if (value === null) return unknown(text, "null");
    const next = field(value, keys[i] as string);
    if (next === undefined) return missing;
    if (next === NOT_A_MAP) return unknown(prefix(), "type");
    value = next as Value;
  }
  return value;
}

export const NOT_A_MAP = Symbol("not a map");

/** Returns undefined if the field is absent, `NOT_A_MAP` if the value is not a map. */
export function field(value: Value, key: string): Value | undefined | typeof NOT_A_MAP {
  if (isRecord(value)) return Object.hasOwn(value, key) ? value[key] : undefined;
  return value instanceof CelMap ? mapGet(value, key) : NOT_A_MAP;
}
