import { join } from "node:path";
import { root } from "../../paths.ts";
import { packsAndProgram, readPacksRecord, writePacksRecord } from "./packs-record.ts";

/**
 * Checks the packs and records the result for the program that was just built. A valid record is not repeated. Records
 * nothing if a pack fails or cannot be read, or if the build's folder is read-only. The service then checks the packs
 * at its start, and reports the problem.
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
