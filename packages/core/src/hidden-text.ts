import { compacted, identifierOf, type TextSpan, textsOf, wholeSpan } from "@countersign/contract";
import { TextFinder } from "./text-finder.ts";

/** What stands in the place of a redacted value. */
export const redacted_text = "[redacted]";

/** Whether a JSON value holds one of these texts, as a text, a number or a part of one. */
export function holdsHidden(value: unknown, hidden: readonly string[]): boolean {
  if (hidden.length === 0) return false;
  const finder = finderOf(hidden);
  return [...textsOf(value)].some((text) => finder.isIn(text));
}

/**
 * A JSON value in which none of these texts is left, in no text, number or key of it, nor a number in other groups or cases
 * than it was hidden in. Keys that become alike are counted.
 */
export function withoutTexts<T>(value: T, hidden: readonly string[]): T {
  if (hidden.length === 0) return value;
  return without(value, hidden) as T;
}

/** One decision asks for the same texts again and again: for each reason, and each value in its message. */
const finders = new WeakMap<readonly string[], TextFinder>();
const regrouped_finders = new WeakMap<readonly string[], TextFinder | null>();

function finderOf(hidden: readonly string[]): TextFinder {
  const known = finders.get(hidden);
  if (known !== undefined) return known;
  const made = new TextFinder(hidden);
  finders.set(hidden, made);
  return made;
}

/** Of the numbers among them, as they are without groups; null: there are none. */
function regroupedFinderOf(hidden: readonly string[]): TextFinder | null {
  const known = regrouped_finders.get(hidden);
  if (known !== undefined) return known;
  const identifiers = new Set(hidden.map(identifierOf));
  identifiers.delete(null);
  const made = identifiers.size === 0 ? null : new TextFinder([...identifiers] as string[]);
  regrouped_finders.set(hidden, made);
  return made;
}

function spansIn(text: string, hidden: readonly string[]): TextSpan[] {
  const spans = finderOf(hidden).spansIn(text);
  const finder = regroupedFinderOf(hidden);
  if (finder === null) return spans;
  const compact = compacted(text);
  const regrouped = finder.spansIn(compact.text).map((span) => wholeSpan(compact, span));
  return [...spans, ...regrouped].sort((a, b) => a.start - b.start);
}

/** The text with one mark for each of the hidden texts in it, and one for those that overlap. */
function struckOut(text: string, hidden: readonly string[]): string {
  let left = "";
  let at = 0;
  for (const { start, end } of spansIn(text, hidden)) {
    if (start >= at) left += text.slice(at, start) + redacted_text;
    at = Math.max(at, end);
  }
  return left + text.slice(at);
}

function without(value: unknown, hidden: readonly string[]): unknown {
  if (typeof value === "string" || typeof value === "number") {
    const text = String(value);
    const left = struckOut(text, hidden);
    return left === text ? value : left;
  }
  if (Array.isArray(value)) return value.map((item) => without(item, hidden));
  if (typeof value !== "object" || value === null) return value;
  const times = new Map<string, number>();
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      const left = without(name, hidden) as string;
      const time = (times.get(left) ?? 0) + 1;
      times.set(left, time);
      return [time === 1 ? left : `${left} (${time})`, without(item, hidden)];
    }),
  );
}
