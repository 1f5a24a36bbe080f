import type { Type } from "../check/type.ts";

/** How large a value can be: upper bounds, each over the whole of it, however deep. */
export interface Size {
  /** UTF-16 units of its longest text, or bytes of its longest bytes. */
  readonly chars: number;
  /** Entries of its longest list or map. */
  readonly items: number;
  /** Values in it, itself counted: 1 for a scalar. */
  readonly values: number;
  /** UTF-16 units of all its texts together. */
  readonly text: number;
  /** Whether its entries are taken to be texts, numbers or bools wherever one is compared as a whole. */
  readonly scalars?: boolean;
}

/** A number, a bool, null, a time. */
export const SCALAR: Size = Object.freeze({ chars: 0, items: 0, values: 1, text: 0 });

/** A text of at most `chars` UTF-16 units. */
export function textOf(chars: number): Size {
  return { chars, items: 0, values: 1, text: chars };
}

/**
 * How sizes come together. `tight` is right for one evaluation. `additive` is looser, and made so that what it says of many
 * values adds up: no more than it says of nothing, for each of them, and once of all of them in one (see `Estimator.fold`). A
 * sum or a product of sizes does; a maximum or a minimum of two does not, so something above them stands in for them.
 */
export interface Bounds {
  /** At least the greatest. */
  readonly most: (...sizes: number[]) => number;
  /** At least the smaller. */
  readonly least: (a: number, b: number) => number;
}

export const tight: Bounds = { most: Math.max, least: Math.min };
export const additive: Bounds = {
  most: (...sizes) => sizes.reduce((sum, n) => sum + n, 0),
  least: (a, b) => (a + b) / 2,
};

/** Bounds of whichever of the two it is. */
export function either(a: Size, b: Size, { most }: Bounds): Size {
  return {
    chars: most(a.chars, b.chars),
    items: most(a.items, b.items),
    values: most(a.values, b.values),
    text: most(a.text, b.text),
  };
}

/** Bounds of a container of these, none of them more than once. */
export function containing(parts: readonly Size[], { most }: Bounds): Size {
  return {
    chars: most(0, ...parts.map((p) => p.chars)),
    items: most(parts.length, ...parts.map((p) => p.items)),
    values: parts.reduce((sum, p) => sum + p.values, 1),
    text: parts.reduce((sum, p) => sum + p.text, 0),
  };
}

/** Everything that a container holds, as one value: each bound of its entries added up is no more. */
export function merged({ values, text }: Size): Size {
  return { chars: text, items: values, values, text };
}

/** A size that a declared type allows: scalars hold nothing, texts no list. */
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

/** Zero times endless is nothing. */
export function finite(n: number): number {
  return Number.isNaN(n) ? 0 : n;
}
