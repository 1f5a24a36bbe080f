import type { Type } from "../check/type.ts";

/** Upper bounds of a value's size at any depth. */
export interface Size {
  /** UTF-16 units of the longest text, or bytes of the longest bytes. */
  readonly chars: number;
  /** Entries of the longest list or map. */
  readonly items: number;
  /** Number of values, itself included: 1 for a scalar. */
  readonly values: number;
  /** UTF-16 units of all texts together. */
  readonly text: number;
  /** Whether comparisons may take its entries for texts, numbers or bools. */
  readonly scalars?: boolean;
}

/** A number, a bool, null, a time. */
export const SCALAR: Size = Object.freeze({ chars: 0, items: 0, values: 1, text: 0 });

/** Returns the size of a text of at most `chars` UTF-16 units. */
export function textOf(chars: number): Size {
  return { chars, items: 0, values: 1, text: chars };
}

/**
 * Rules to combine sizes. `tight` fits one evaluation. `additive` is looser, so that bounds of many values add up: the
 * sum is at most the bound of an empty value for each one, plus one bound of all values in one (see `Estimator.fold`).
 * Sums and products of sizes have this property. A maximum or minimum of two does not, so a larger bound replaces it.
 */
export interface Bounds {
  /** Returns a bound of at least the greatest. */
  readonly most: (...sizes: number[]) => number;
  /** Returns a bound of at least the smaller. */
  readonly least: (a: number, b: number) => number;
}

export const tight: Bounds = { most: Math.max, least: Math.min };
export const additive: Bounds = {
  most: (...sizes) => sizes.reduce((sum, n) => sum + n, 0),
  least: (a, b) => (a + b) / 2,
};

/** Returns bounds that hold for both. */
export function either(a: Size, b: Size, { most }: Bounds): Size {
  return {
    chars: most(a.chars, b.chars),
    items: most(a.items, b.items),
    values: most(a.values, b.values),
    text: most(a.text, b.text),
  };
}

/** Returns bounds of a container of these parts, each at most once. */
export function containing(parts: readonly Size[], { most }: Bounds): Size {
  return {
    chars: most(0, ...parts.map((p) => p.chars)),
    items: most(parts.length, ...parts.map((p) => p.items)),
    values: parts.reduce((sum, p) => sum + p.values, 1),
    text: parts.reduce((sum, p) => sum + p.text, 0),
  };
}

/** Returns everything in a container as one value: no sum of its entries' bounds is larger. */
export function merged({ values, text }: Size): Size {
  return { chars: text, items: values, values, text };
}

/** Narrows a size to a declared type: scalars hold no entries, and texts are no lists. */
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

/** Returns 0 for 0 × ∞, which is NaN. */
export function finite(n: number): number {
  return Number.isNaN(n) ? 0 : n;
}
