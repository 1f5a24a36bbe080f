/** Generates the console's list of letters that look like Latin ones (Unicode UTS 39). */
import prototypes from "unhomoglyph/data.json" with { type: "json" };

export function lookAlikesModule(): string {
  const codes = Object.entries(prototypes)
    .filter(([char, prototype]) => /^[^\P{L}\p{ASCII}]$/u.test(char) && /^[A-Za-z]$/.test(prototype))
    .map(([char]) => char.codePointAt(0) ?? 0)
    .sort((a, b) => a - b);
  return [
    "// Written by `npm run gen` from Unicode's confusables.txt (UTS 39). Do not change it by hand.",
    "/** A letter outside ASCII that looks like a letter of ASCII. */",
    "export const looksLatin: RegExp =",
    `  /[${rangesOf(codes).map(escaped).join("")}]/u;`,
    "",
  ].join("\n");
}

type Range = readonly [first: number, last: number];

function rangesOf(codes: readonly number[]): Range[] {
  const ranges: [number, number][] = [];
  for (const code of codes) {
    const range = ranges.at(-1);
    if (range?.[1] === code - 1) range[1] = code;
    else ranges.push([code, code]);
  }
  return ranges;
}

function escaped([first, last]: Range): string {
  const one = (code: number) => `\\u{${code.toString(16)}}`;
  if (first === last) return one(first);
  return `${one(first)}${last === first + 1 ? "" : "-"}${one(last)}`;
}
