import { chars_a_unit } from "../value/equal.ts";
import { type Bounds, finite, type Size } from "./size.ts";

/** Bounds the cost of reading two texts of these lengths, up to the shorter one. */
export function reading(a: number, b: number, { least }: Bounds): number {
  return finite(least(a, b)) / chars_a_unit;
}

/** Bounds the cost of ordering two values. Bytes, which are not scalars here, cost more than texts. */
export function ordering(a: Size, b: Size, scalar: boolean, { least }: Bounds): number {
  return finite(least(a.chars, b.chars)) / (scalar ? chars_a_unit : 256);
}

/**
 * Bounds a comparison. It searches containers for unknowns, then compares them by element. It counts a map's keys
 * first, of either map, because a constant may be on either side.
 */
export function comparing(a: Size, b: Size, { least, most }: Bounds): number {
  return a.values + b.values + most(a.values, b.values) + least(a.text, b.text) / 16;
}

/** Bounds a search: the needle is scanned once and compared with every entry, and each entry is scanned once. */
export function searching(a: Size, b: Size): number {
  return a.values * (1 + b.items) + b.values + b.text / 16;
}

export function adding(a: Size, b: Size): number {
  return (a.chars + b.chars) / 16 + (a.values > 1 || b.values > 1 ? (a.items + b.items) / 4 : 0);
}
