import { join } from "node:path";
import { root } from "../../paths.ts";
import { packsAndProgram, readPacksRecord, writePacksRecord } from "./packs-record.ts";

/**
 * Checks the packs and records it for the program that was just built; what is recorded already is not checked again.
 * Records nothing where they do not pass or cannot be read, or the build's folder is not ours to write to: the service
 * checks them at its start, and says what is wrong.
 */
export async function recordPacks(directory: string = root()): Promise<void> {
  if (readPacksRecord(directory) !== null) return;
  try {
    const of = packsAndProgram(directory);
    const { loadPacks } = await import("./pack-files.ts");
    writePacksRecord(of, [...(await loadPacks(join(directory, "packs"))).packs.values()], directory);
  } catch {
    return;
  }
}
