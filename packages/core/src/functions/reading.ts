import { type CallContext, CelMap, type Size, Timestamp, Uint } from "@countersign/cel";
import { copiesOf } from "./tcpa-fallback.ts";
import { at, isRecord } from "./text.ts";

export interface Reading {
  readonly as: (value: unknown) => unknown;
  readonly units: (call: CallContext, args: readonly unknown[]) => number;
  /** Maximum units for these sizes. */
  readonly most: (sizes: readonly Size[]) => number;
  /** Maximum size of the result, if it does not grow with all arguments. */
  readonly size?: (sizes: readonly Size[]) => Size;
}

/** Returns true for values that JSON lacks. */
const isOwnKind = (value: unknown): boolean =>
  typeof value === "bigint" ||
  value instanceof Uint ||
  value instanceof Timestamp ||
  value instanceof CelMap ||
  (Array.isArray(value) && value.some(isOwnKind));

const plainNumber = (value: unknown): unknown => {
  if (value instanceof Uint) return plainNumber(value.unsigned);
  return typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : value;
};

const plainScalar = (value: unknown): unknown =>
  value instanceof Timestamp ? new Date(value.toMilliseconds()) : plainNumber(value);

/** Converts ints to numbers, maps to plain records, timestamps to dates. */
const plain = (value: unknown): unknown => {
  if (!isOwnKind(value)) return value;
  if (Array.isArray(value)) return value.map(plain);
  if (!(value instanceof CelMap)) return plainScalar(value);
  return Object.fromEntries([...value.entries.values()].map(([key, inner]) => [String(key), plain(inner)]));
};

/**
 * Counts one unit for two values, and one for 32 characters of texts and keys (twice `chars_a_half`). Stops after
 * `enough`.
 */
const unitsOf = (value: unknown, enough = Number.POSITIVE_INFINITY, chars_a_half = 16): number => {
  if (typeof value === "string") return Math.floor(value.length / (2 * chars_a_half));
  if (typeof value !== "object" || value === null) return 0;
  // Not recursive, because a value may be nested deeper than the stack.
  const pending: unknown[] = [value];
  let halves = 0;
  while (pending.length > 0 && halves <= enough * 2) {
    const next = pending.pop();
    halves += 1;
    if (typeof next === "string") halves += Math.floor(next.length / chars_a_half);
    else if (Array.isArray(next)) for (const entry of next) pending.push(entry);
    else if (next instanceof CelMap) for (const [key, inner] of next.entries.values()) pending.push(key, inner);
    else if (isRecord(next)) {
      for (const key of Object.keys(next)) {
        halves += Math.floor(key.length / chars_a_half);
        pending.push(next[key]);
      }
    }
  }
  return halves >> 1;
};

const total = <T>(values: readonly T[], of: (value: T) => number): number =>
  values.reduce((sum, value) => sum + of(value), 0);
const mostOfAll = (sizes: readonly Size[]): number => total(sizes, ({ values, text }) => values / 2 + text / 32);

/** Reads all contents. */
export const whole: Reading = {
  as: plain,
  units: ({ left }, args) => total(args, (arg) => unitsOf(arg, left)),
  most: mostOfAll,
};

/** Matches several patterns against each text of the first argument: one unit for 8 characters. */
export const texts: Reading = {
  as: plain,
  units: ({ left }, [first, ...others]) => unitsOf(first, left, 4) + total(others, (arg) => unitsOf(arg, left)),
  most: ([first, ...others]) => (first === undefined ? 0 : first.values / 2 + first.text / 8) + mostOfAll(others),
};

const noSize: Size = { chars: 0, items: 0, values: 0, text: 0 };
const commands_most = 200;

/** Reads the parameter `command`: one unit for 4 characters. */
export const commands: Reading = {
  as: plain,
  units: (_call, [params]) => {
    const command = at(plain(params), "command");
    return 20 + (typeof command === "string" ? command.length >> 2 : 0);
  },
  most: ([params]) => 20 + (params?.chars ?? 0) / 4,
  // A command has one word for every 2 characters at most; the words appear in several lists.
  size: ([{ chars } = noSize]) => ({ chars, items: commands_most, values: 4 * commands_most, text: 8 * chars }),
};

export const scalars: Reading = {
  as: plainScalar,
  units: (_call, args) => total(args, (arg) => (typeof arg === "string" ? arg.length >> 5 : 0)),
  most: (sizes) => total(sizes, ({ chars }) => chars / 32),
};

const unitsOfNames = (value: unknown): number =>
  Array.isArray(value) ? value.length >> 2 : typeof value === "string" ? value.length >> 3 : 0;

/** Reads lists and texts, but not the contents of entries. */
export const names: Reading = {
  as: (value) => (Array.isArray(value) ? value.map(plainNumber) : plainNumber(value)),
  units: (_call, args) => total(args, unitsOfNames),
  most: (sizes) => total(sizes, ({ items, chars }) => items / 4 + chars / 8),
};

export const copies = (name: string): Reading => ({
  as: plain,
  units: ({ left }, [facts]) => unitsOf(facts instanceof CelMap ? facts : copiesOf(facts, name), left),
  most: mostOfAll,
});

/** Facts up to this size are charged at every call, because remembering them costs more. */
const small = 32;
/** Sizes of larger facts; and for each evaluation, by name, the facts that were last searched. */
const sizesKnown = new WeakMap<object, number>();
const lookedThrough = new WeakMap<object, Map<unknown, unknown>>();

/** Charges for all frameworks once for each name and evaluation, because `framework` caches the answer. */
export const frameworks: Reading = {
  as: plain,
  units: (call, [facts, name]) => {
    const question = unitsOf(name);
    if (facts instanceof CelMap) return question + unitsOf(facts, call.left);
    const value = at(facts, "regulatory", "applicable_frameworks");
    if (typeof value !== "object" || value === null) return question + unitsOf(value);
    let units = sizesKnown.get(value);
    if (units === undefined) {
      units = unitsOf(value);
      sizesKnown.set(value, units);
    }
    if (units <= small) return question + units;
    const looked = lookedThrough.get(call.bindings) ?? new Map<unknown, unknown>();
    if (looked.get(name) === value) return question;
    lookedThrough.set(call.bindings, looked.set(name, value));
    return question + units;
  },
  most: mostOfAll,
};
