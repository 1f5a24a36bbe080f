import { foldName } from "@countersign/contract";
import { type Cell, cellsOf } from "./skeleton.ts";

interface Difference {
  readonly given: string;
  readonly known: string;
}

const differences_named_max = 8;

export function differencesText(given: string, known: string): string {
  const all = differencesOf(cellsOf(given), cellsOf(known));
  const others = all.filter((each) => foldName(each.given) !== foldName(each.known));
  const told = others.length > 0 ? others : all;
  const named = [...new Set(told.map(differenceText))];
  const more = named.length > differences_named_max ? ` and ${named.length - differences_named_max} more` : "";
  return `${named.slice(0, differences_named_max).join(", ")}${more}`;
}

function differenceText({ given, known }: Difference): string {
  if (given === "") return `${shown(known)} is left out`;
  if (known === "") return `${shown(given)} is added`;
  return `${shown(given)} for ${shown(known)}`;
}

/** Returns characters with code points; only code points if a character is invisible. */
function shown(text: string): string {
  const codes = Array.from(
    text,
    (char) => `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`,
  );
  return /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u.test(text)
    ? codes.join(" ")
    : `"${text}" (${codes.join(" ")})`;
}

/** Pairs the shortest parts of both names with the same skeleton. Returns the pairs that differ. */
function differencesOf(given: readonly Cell[], known: readonly Cell[]): Difference[] {
  const found: Difference[] = [];
  let [i, j] = [0, 0];
  while (i < given.length || j < known.length) {
    const begin = { i, j };
    if (isSeparator(given[i]) || isSeparator(known[j])) {
      if (isSeparator(given[i])) i += 1;
      if (isSeparator(known[begin.j])) j += 1;
    } else {
      let [a, b] = ["", ""];
      do {
        const takes_given = j >= known.length || (i < given.length && a.length <= b.length);
        if (takes_given) a += given[i++]?.letters ?? "";
        else b += known[j++]?.letters ?? "";
      } while (a !== b && (i < given.length || j < known.length));
    }
    const textOf = (cells: readonly Cell[]): string => cells.map(({ text }) => text).join("");
    const difference = { given: textOf(given.slice(begin.i, i)), known: textOf(known.slice(begin.j, j)) };
    if (difference.given !== difference.known) found.push(difference);
  }
  return found;
}

function isSeparator(cell: Cell | undefined): boolean {
  return cell?.letters === "";
}
