import { chars_a_unit } from "../value/equal.ts";
import { type Bounds, finite, type Size } from "./size.ts";

/** A look at two texts of so many characters, as far as the shorter one goes. */
export function reading(a: number, b: number, { least }: Bounds): number {
  return finite(least(a, b)) / chars_a_unit;
}

/** Telling which of two is less. Bytes, which are no scalars here, take more than texts. */
export function ordering(a: Size, b: Size, scalar: boolean, { least }: Bounds): number {
  return finite(least(a.chars, b.chars)) / (scalar ? chars_a_unit : 256);
}

/**
 * Containers are looked through for what is unknown in them, then compared by element; a map's keys are counted first, of
 * either: a constant is compared with the other one wherever it stands.
 */
export function comparing(a: Size, b: Size, { least, most }: Bounds): number {
  return a.values + b.values + most(a.values, b.values) + least(a.text, b.text) / 16;
}

/** What is looked for is looked through once and compared with every entry, which is looked through once. */
export function searching(a: Size, b: Size): number {
  return a.values * (1 + b.items) + b.values + b.text / 16;
}

export function adding(a: Size, b: Size): number {
  return (a.chars + b.chars) / 16 + (a.values > 1 || b.values > 1 ? (a.items + b.items) / 4 : 0);
}
