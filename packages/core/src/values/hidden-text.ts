import { compacted, identifierOf, struckOut, textsOf, wholeSpan } from "@countersign/contract";
import { TextFinder } from "./text-finder.ts";

/** What stands in the place of a redacted value. */
export const redacted_text = "[redacted]";

/** Finds some hidden texts in others, and of the numbers among them also those that are written in other groups or cases. */
class HiddenFinder {
  private readonly texts: TextFinder;
  /** Of the numbers, as they are without groups; null: there are none. Undefined: nobody has looked for them yet. */
  private numbers: TextFinder | null | undefined;
  private readonly hidden: readonly string[];

  constructor(hidden: readonly string[]) {
    this.hidden = hidden;
    this.texts = new TextFinder(hidden);
  }

  /** Whether one of the texts stands in this one, as it was hidden. */
  isIn(text: string): boolean {
    return this.texts.isIn(text);
  }

  /** The text without any of them. */
  strikeFrom(text: string): string {
    const spans = this.texts.spansIn(text);
    if (this.numbers === undefined) this.numbers = this.numbersHidden();
    if (this.numbers === null) return struckOut(text, spans, redacted_text);
    const compact = compacted(text);
    const regrouped = this.numbers.spansIn(compact.text).map((span) => wholeSpan(compact, span));
    return struckOut(text, [...spans, ...regrouped], redacted_text);
  }

  private numbersHidden(): TextFinder | null {
    const numbers = this.hidden.map(identifierOf).filter((each) => each !== null);
    return numbers.length === 0 ? null : new TextFinder([...new Set(numbers)]);
  }
}

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
  return without(value, finderOf(hidden)) as T;
}

/** One decision asks for the same texts again and again: for each reason, and each value in its message. */
const finders = new WeakMap<readonly string[], HiddenFinder>();

function finderOf(hidden: readonly string[]): HiddenFinder {
  const known = finders.get(hidden);
  if (known !== undefined) return known;
  const made = new HiddenFinder(hidden);
  finders.set(hidden, made);
  return made;
}

function without(value: unknown, finder: HiddenFinder): unknown {
  if (typeof value === "string" || typeof value === "number") {
    const text = String(value);
    const left = finder.strikeFrom(text);
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
