import { join } from "node:path";
import { root } from "../../paths.ts";
import { packsAndProgram, readPacksRecord, writePacksRecord } from "./packs-record.ts";

/**
 * Checks the packs and records the result for the built program. Records nothing if a pack fails or the folder is
 * read-only. Then the service checks the packs at its start.
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
