import { chars_a_unit } from "../value/equal.ts";
import { type Bounds, finite, type Size } from "./size.ts";

export function reading(a: number, b: number, { least }: Bounds): number {
  return finite(least(a, b)) / chars_a_unit;
}

/** Bytes, which are not scalars here, cost more than texts. */
export function ordering(a: Size, b: Size, scalar: boolean, { least }: Bounds): number {
  return finite(least(a.chars, b.chars)) / (scalar ? chars_a_unit : 256);
}

/** Searches both for unknowns, then compares by element. Counts a map's keys first. */
export function comparing(a: Size, b: Size, { least, most }: Bounds): number {
  return a.values + b.values + most(a.values, b.values) + least(a.text, b.text) / 16;
}

/** Scans the needle once, compares it with every entry, scans each entry once. */
export function searching(a: Size, b: Size): number {
  return a.values * (1 + b.items) + b.values + b.text / 16;
}

export function adding(a: Size, b: Size): number {
  return (a.chars + b.chars) / 16 + (a.values > 1 || b.values > 1 ? (a.items + b.items) / 4 : 0);
}
