import { TextFinder } from "./text-finder.ts";

/** What stands in the place of a redacted value. */
export const redacted_text = "[redacted]";

/** Shorter values stand in ordinary words and dates too often for anybody to be hidden behind them. */
const chars_min = 4;

/** A name that a form's author chose. Any other ("123-45-6789", "ann@example.com") is somebody's data, as a value is. */
const field_name = /^(?!.*\d{4})[A-Za-z_]\w*$/;

/**
 * Texts that `content` holds and `shown` no longer does: what policies removed or redacted, longest first. Numbers count as
 * they are written, and names of members that are data count too: a reason tells the path of what it misses.
 */
export function hiddenTexts(content: unknown, shown: unknown): string[] {
  if (content === shown) return [];
  const seen = new Set<string>();
  collect(shown, seen);
  const all = new Set<string>();
  collect(content, all);
  return [...all].filter((text) => !seen.has(text)).sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
}

/** Whether a JSON value holds one of these texts, as a text, a number or a part of one. */
export function holdsHidden(value: unknown, hidden: readonly string[]): boolean {
  if (hidden.length === 0) return false;
  const finder = finderOf(hidden);
  const texts = new Set<string>();
  collect(value, texts);
  return [...texts].some((text) => finder.isIn(text));
}

/** A JSON value in which none of these texts is left, in no text, number or key of it. */
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
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [without(name, finder) as string, without(item, finder)]),
  );
}

function collect(value: unknown, into: Set<string>): void {
  const queue = [value];
  while (queue.length > 0) {
    const at = queue.pop();
    if (Array.isArray(at)) {
      // One by one: as arguments of one call, more than some 100,000 do not fit the stack.
      for (const item of at) queue.push(item);
    } else if (typeof at === "object" && at !== null) {
      for (const [name, item] of Object.entries(at)) {
        queue.push(item);
        if (!field_name.test(name)) queue.push(name);
      }
    } else if (typeof at === "string" || typeof at === "number") {
      const text = String(at);
      if (text.trim().length < chars_min) continue;
      into.add(text);
      // As paths have it: a value may be the name of something elsewhere.
      if (/["\\\p{Cc}]/u.test(text)) into.add(JSON.stringify(text).slice(1, -1));
    }
  }
}
