/** Parts that the checks of an archive share. */
import type { VerifyReceiptOptions } from "@countersign/sdk/verify";
import type { Manifest } from "./layout.ts";
import { startLines } from "./lines.ts";
import { Damaged, type ZipReader } from "./zip-reader.ts";

/** Collects what is wrong. */
export interface Problems {
  add(text: string): void;
  readonly count: () => number;
  readonly first: readonly string[];
}

const problems_shown = 20;

export function startProblems(): Problems {
  const first: string[] = [];
  let count = 0;
  return {
    first,
    count: () => count,
    add(text) {
      count += 1;
      if (first.length < problems_shown) first.push(text);
    },
  };
}

export interface Checking {
  readonly zip: ZipReader;
  readonly manifest: Manifest;
  readonly terms: VerifyReceiptOptions;
  readonly problems: Problems;
  readonly isIn: (at: string) => boolean;
}

/** Passes each line to `check` as JSON, with its number. Adds a problem for a line of another form. Throws `Damaged`. */
export async function eachLine<T>(
  { zip, problems }: Checking,
  name: string,
  check: (value: T, number: number) => void,
): Promise<void> {
  const lines = startLines();
  let number = 0;
  for await (const piece of zip.pieces(name))
    for (const line of lines.push(piece)) {
      number += 1;
      try {
        check(JSON.parse(line.toString("utf8")), number);
      } catch (error) {
        // A line without the members that the check reads.
        if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
        problems.add(`line ${number} of ${name} is not such a record`);
      }
    }
  if (lines.rest().length > 0) throw new Damaged(`the last line of ${name} is incomplete`);
}
