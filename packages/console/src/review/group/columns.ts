import type { Apart, Differences } from "../what-differs.ts";

const columns_max = 6;
/** The sentence of each action shows its target up to this length. */
const target = "/target/identifier";
const target_chars_max = 120;
/** With fewer members nothing is usual. */
const compared_min = 4;
const times_median_min = 5;
const usual_share_min = 0.75;

/** A differing field. `name`: the last part of its path, or the whole path if another column has the same. */
export interface Column {
  readonly path: string;
  readonly name: string;
  /** Why a member's value is unusual, by intent. */
  readonly outliers: ReadonlyMap<string, string>;
  /** The sum of the values, if it is about money and each is a number; else null. */
  readonly sum: number | null;
}

/** Returns the last name of a path, and the places in lists after it. */
function lastPart(path: string): string {
  const parts = path.split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  const name_at = parts.findLastIndex((part) => !/^\d+$/.test(part));
  return parts.slice(Math.max(1, name_at)).join("/");
}

/** Returns the fields that most members have, in the order of the first member that has them. */
export function columnsOf(differences: Differences): Column[] {
  const values = new Map<string, Map<string, string>>();
  for (const [intent_id, { places }] of differences)
    for (const { path, text } of places) {
      if (text === null || path === target) continue;
      const known = values.get(path) ?? new Map<string, string>();
      values.set(path, known.set(intent_id, text));
    }
  const kept = new Set(
    [...values]
      .sort(([, a], [, b]) => b.size - a.size)
      .slice(0, columns_max)
      .map(([path]) => path),
  );
  const shown = [...values].filter(([path]) => kept.has(path));
  const names = shown.map(([path]) => lastPart(path));
  return shown.map(([path, texts]) => {
    const name = lastPart(path);
    const is_unique = names.filter((each) => each === name).length === 1;
    return {
      path,
      name: is_unique ? name : path.slice(1),
      outliers: outliersOf(texts, differences.size),
      sum: sumOf(name, texts, differences.size),
    };
  });
}

/** Returns a member's value in a column; null: it has none. */
export function valueAt({ places }: Apart, path: string): string | null {
  return places.find((each) => each.path === path)?.text ?? null;
}

/** Returns what the columns do not show of a member. */
export function beside(apart: Apart, columns: readonly Column[]): Apart {
  const shown = new Set(columns.map(({ path }) => path));
  const isTold = (text: string | null) => text !== null && text.length <= target_chars_max;
  return {
    ...apart,
    places: apart.places.filter(({ path, text }) => !shown.has(path) && !(path === target && isTold(text))),
  };
}

function sumOf(name: string, texts: ReadonlyMap<string, string>, members: number): number | null {
  if (!/usd$|amount|price|total/i.test(name) || texts.size < members) return null;
  const numbers = [...texts.values()].map(Number);
  return numbers.every(Number.isFinite) ? numbers.reduce((sum, each) => sum + each, 0) : null;
}

function outliersOf(texts: ReadonlyMap<string, string>, members: number): ReadonlyMap<string, string> {
  if (texts.size < compared_min) return new Map();
  const numbers = [...texts].map(([id, text]) => [id, Number(text)] as const);
  if (numbers.every(([, value]) => Number.isFinite(value))) return farAbove(numbers);
  return rare(texts, members);
}

function farAbove(numbers: readonly (readonly [string, number])[]): ReadonlyMap<string, string> {
  const median = medianOf(numbers.map(([, value]) => value));
  if (median <= 0) return new Map();
  return new Map(
    numbers.flatMap(([id, value]) =>
      value >= median * times_median_min ? [[id, `${Math.round(value / median)} × the median`] as const] : [],
    ),
  );
}

export function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}

/** Marks values that differ from one that most members share. */
function rare(texts: ReadonlyMap<string, string>, members: number): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const text of texts.values()) counts.set(text, (counts.get(text) ?? 0) + 1);
  const [usual, count] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? ["", 0];
  if (count / members < usual_share_min) return new Map();
  return new Map(
    [...texts].flatMap(([id, text]) => (text === usual ? [] : [[id, `${count} others are equal`] as const])),
  );
}
