import { textsOf } from "@countersign/contract";
import { TextFinder } from "./text-finder.ts";

/** What stands in the place of a redacted value. */
export const redacted_text = "[redacted]";

/** Whether a JSON value holds one of these texts, as a text, a number or a part of one. */
export function holdsHidden(value: unknown, hidden: readonly string[]): boolean {
  if (hidden.length === 0) return false;
  const finder = finderOf(hidden);
  return [...textsOf(value)].some((text) => finder.isIn(text));
}

/** A JSON value in which none of these texts is left, in no text, number or key of it. Keys that become alike are counted. */
export function withoutTexts<T>(value: T, hidden: readonly string[]): T {
  if (hidden.length === 0) return value;
  return without(value, finderOf(hidden)) as T;
}

/** One decision asks for the same texts again and again: for each reason, and each value in its message. */
const finders = new WeakMap<readonly string[], TextFinder>();

function finderOf(hidden: readonly string[]): TextFinder {
  const known = finders.get(hidden);
  if (known !== undefined) return known;
  const made = new TextFinder(hidden);
  finders.set(hidden, made);
  return made;
}

function without(value: unknown, finder: TextFinder): unknown {
  if (typeof value === "string" || typeof value === "number") {
    const text = String(value);
    const left = finder.replaceIn(text, redacted_text);
    return left === text ? value : left;
  }
  if (Array.isArray(value)) return value.map((item) => without(item, finder));
  if (typeof value !== "object" || value === null) return value;
  const times = new Map<string, number>();
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      const left = without(name, finder) as string;
      const time = (times.get(left) ?? 0) + 1;
      times.set(left, time);
      return [time === 1 ? left : `${left} (${time})`, without(item, finder)];
    }),
  );
}
