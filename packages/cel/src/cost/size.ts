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
}

/** A number, a bool, null, a time. */
export const SCALAR: Size = Object.freeze({ chars: 0, items: 0, values: 1, text: 0 });

/** A text of at most `chars` UTF-16 units. */
export function textOf(chars: number): Size {
  return { chars, items: 0, values: 1, text: chars };
}

/** Bounds of whichever of the two it is. */
export function either(a: Size, b: Size): Size {
  return {
    chars: Math.max(a.chars, b.chars),
    items: Math.max(a.items, b.items),
    values: Math.max(a.values, b.values),
    text: Math.max(a.text, b.text),
  };
}

/** Bounds of a container of these, none of them more than once. */
export function containing(parts: readonly Size[]): Size {
  return {
    chars: Math.max(0, ...parts.map((p) => p.chars)),
    items: Math.max(parts.length, ...parts.map((p) => p.items)),
    values: parts.reduce((sum, p) => sum + p.values, 1),
    text: parts.reduce((sum, p) => sum + p.text, 0),
  };
}

/** Bounds of a container of at most `count` values of this size. */
export function times(count: number, of: Size): Size {
  return {
    chars: of.chars,
    items: Math.max(count, of.items),
    values: 1 + finite(count * of.values),
    text: finite(count * of.text),
  };
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
