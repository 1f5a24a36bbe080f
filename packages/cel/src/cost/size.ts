import type { Type } from "../check/type.ts";

/** Upper bounds of a value's size at any depth. */
export interface Size {
  /** UTF-16 units of the longest text, or bytes of the longest bytes. */
  readonly chars: number;
  /** Entries of the longest list or map. */
  readonly items: number;
  /** Number of values, itself included. */
  readonly values: number;
  /** UTF-16 units of all texts together. */
  readonly text: number;
  /** True if comparisons find only texts, numbers or bools as entries. */
  readonly scalars?: boolean;
}

/** A number, bool, null or time. */
export const SCALAR: Size = Object.freeze({ chars: 0, items: 0, values: 1, text: 0 });

export function textOf(chars: number): Size {
  return { chars, items: 0, values: 1, text: chars };
}

/**
 * Rules to combine sizes. `tight` fits one evaluation. `additive` is looser: a sum is at most one empty bound for each
 * value, plus one bound of all values together (see `Estimator.fold`). A maximum or minimum does not add up, so it is
 * replaced by a larger bound.
 */
export interface Bounds {
  readonly most: (...sizes: number[]) => number;
  readonly least: (a: number, b: number) => number;
}

export const tight: Bounds = { most: Math.max, least: Math.min };
export const additive: Bounds = {
  most: (...sizes) => sizes.reduce((sum, n) => sum + n, 0),
  least: (a, b) => (a + b) / 2,
};

export function either(a: Size, b: Size, { most }: Bounds): Size {
  return {
    chars: most(a.chars, b.chars),
    items: most(a.items, b.items),
    values: most(a.values, b.values),
    text: most(a.text, b.text),
  };
}

/** Returns a container of these parts, each at most once. */
export function containing(parts: readonly Size[], { most }: Bounds): Size {
  return {
    chars: most(0, ...parts.map((p) => p.chars)),
    items: most(parts.length, ...parts.map((p) => p.items)),
    values: parts.reduce((sum, p) => sum + p.values, 1),
    text: parts.reduce((sum, p) => sum + p.text, 0),
  };
}

/** Returns the contents of a container as one value. No sum of its entries' bounds is larger. */
export function merged({ values, text }: Size): Size {
  return { chars: text, items: values, values, text };
}

/** Scalars have no entries, and texts are no lists. */
export function narrowed(size: Size, type: Type): Size {
  switch (type.kind) {
    case "bool":
    case "int":
    case "uint":
    case "double":
    case "null":
    case "timestamp":
    case "duration":
    case "type":
      return SCALAR;
    case "string":
    case "bytes":
      return textOf(size.chars);
    default:
      return size;
  }
}

/** Returns 0 for NaN, which is 0 × ∞. */
export function finite(n: number): number {
  return Number.isNaN(n) ? 0 : n;
}
