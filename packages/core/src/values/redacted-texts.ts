import { compacted, identifierOf, struckOut, textsOf, wholeSpan } from "@countersign/contract";
import { TextFinder } from "./text-finder.ts";

export const redacted_text = "[redacted]";

/** Finds redacted texts, and redacted numbers in another grouping or case. */
class RedactedTextFinder {
  private readonly texts: TextFinder;
  /** Null: none. Undefined: not built yet. */
  private numbers: TextFinder | null | undefined;
  private readonly redacted: readonly string[];

  constructor(redacted: readonly string[]) {
    this.redacted = redacted;
    this.texts = new TextFinder(redacted);
  }

  isIn(text: string): boolean {
    return this.texts.isIn(text);
  }

  strikeFrom(text: string, mark: string): string {
    const spans = this.texts.spansIn(text);
    if (this.numbers === undefined) this.numbers = this.numberFinder();
    if (this.numbers === null) return struckOut(text, spans, mark);
    const compact = compacted(text);
    const regrouped = this.numbers.spansIn(compact.text).map((span) => wholeSpan(compact, span));
    return struckOut(text, [...spans, ...regrouped], mark);
  }

  private numberFinder(): TextFinder | null {
    const numbers = this.redacted.map(identifierOf).filter((each) => each !== null);
    return numbers.length === 0 ? null : new TextFinder([...new Set(numbers)]);
  }
}

export function holdsAnyText(value: unknown, texts: readonly string[]): boolean {
  if (texts.length === 0) return false;
  const finder = finderOf(texts);
  return [...textsOf(value)].some((text) => finder.isIn(text));
}

/** Replaces these texts in texts, numbers (in any grouping or case) and keys. Keys that become equal get a number. */
export function withoutTexts<T>(value: T, texts: readonly string[], mark = redacted_text): T {
  if (texts.length === 0) return value;
  return without(value, finderOf(texts), mark) as T;
}

/** One decision searches the same texts for each reason and message. */
const finders = new WeakMap<readonly string[], RedactedTextFinder>();

function finderOf(texts: readonly string[]): RedactedTextFinder {
  const known = finders.get(texts);
  if (known !== undefined) return known;
  const made = new RedactedTextFinder(texts);
  finders.set(texts, made);
  return made;
}

function without(value: unknown, finder: RedactedTextFinder, mark: string): unknown {
  if (typeof value === "string" || typeof value === "number") {
    const text = String(value);
    const left = finder.strikeFrom(text, mark);
    return left === text ? value : left;
  }
  if (Array.isArray(value)) return value.map((item) => without(item, finder, mark));
  if (typeof value !== "object" || value === null) return value;
  const times = new Map<string, number>();
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      const left = without(name, finder, mark) as string;
      const time = (times.get(left) ?? 0) + 1;
      times.set(left, time);
      return [time === 1 ? left : `${left} (${time})`, without(item, finder, mark)];
    }),
  );
}
