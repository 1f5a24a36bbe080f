/** Records that the build has checked the packs, which took a third of every start (0.6 s). */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../paths.ts";

/** Beside the built program, so both are replaced together. */
const record_file = "packages/cli/dist/packs.json";

const decidedBy = ["packs", "packages/cli/dist/program"];

interface PacksRecord<Pack> {
  /** Hash of packs and program. */
  readonly of: string;
  readonly packs: readonly Pack[];
}

/** Returns the parsed packs. Null: no build has checked them, or a file has changed. */
export function readPacksRecord<Pack>(directory: string = root()): readonly Pack[] | null {
  try {
    const { of, packs }: PacksRecord<Pack> = JSON.parse(readFileSync(join(directory, record_file), "utf8"));
    return of === packsAndProgram(directory) ? packs : null;
  } catch {
    return null;
  }
}

/** Records nothing if packs or program have changed since the hash `of`. */
export function writePacksRecord<Pack>(of: string, packs: readonly Pack[], directory: string = root()): void {
  if (of !== packsAndProgram(directory)) return;
  const record: PacksRecord<Pack> = { of, packs };
  const file = join(directory, record_file);
  writeFileSync(`${file}.${process.pid}`, JSON.stringify(record));
  renameSync(`${file}.${process.pid}`, file);
}

/** File times are not used, because a checkout changes them. */
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
