/**
 * What a build found when it checked the packs. Parsing 150 documents, compiling their expressions and deciding 600 cases
 * took a third of every start (0.6 s), each time with the same result.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../paths.ts";

/** Beside the built program; it goes with it. */
const record_file = "packages/cli/dist/packs.json";

/** The packs, and the program that they are read and decided by, with its libraries. */
const decidedBy = ["packs", "packages/cli/dist/program"];

interface PacksRecord<Pack> {
  /** Hash of packs and program; of any others the record says nothing. */
  readonly of: string;
  readonly packs: readonly Pack[];
}

/**
 * The packs as they were parsed when this very program found them well formed and all their cases green, in the order of
 * their folders. Null where no build did, or a file was changed since: they have to be checked now.
 */
export function readPacksRecord<Pack>(directory: string = root()): readonly Pack[] | null {
  try {
    const { of, packs }: PacksRecord<Pack> = JSON.parse(readFileSync(join(directory, record_file), "utf8"));
    return of === packsAndProgram(directory) ? packs : null;
  } catch {
    return null;
  }
}

/**
 * Records packs that were checked after `of` was taken of them and the program. Records nothing where either was changed
 * since: nobody knows which of them was checked, or by which program.
 */
export function writePacksRecord<Pack>(of: string, packs: readonly Pack[], directory: string = root()): void {
  if (of !== packsAndProgram(directory)) return;
  const record: PacksRecord<Pack> = { of, packs };
  const file = join(directory, record_file);
  writeFileSync(`${file}.${process.pid}`, JSON.stringify(record));
  renameSync(`${file}.${process.pid}`, file);
}

/** One hash over the names and contents of all of them: times of files say nothing after a checkout. */
export function packsAndProgram(directory: string = root()): string {
  const hash = createHash("sha256");
  const add = (path: string): void => {
    for (const entry of readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.isDirectory()) {
        hash.update(`\0${entry.name}/\0`);
        add(`${path}/${entry.name}`);
      } else {
        hash.update(`\0${entry.name}\0`).update(readFileSync(`${path}/${entry.name}`));
      }
    }
    hash.update("\0");
  };
  for (const path of decidedBy) add(join(directory, path));
  return hash.digest("hex");
}
