/** The data directory, and others that are made where they are missing. */
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { StartRefused } from "./start-refused.ts";

/** Makes the data directory unless it is there. Throws `StartRefused` naming the setting when it cannot be made. */
export async function makeDataDir(data_dir: string): Promise<void> {
  await makeDirectory(data_dir).catch((error: Error) => {
    throw new StartRefused(
      `COUNTERSIGN_DATA_DIR=${JSON.stringify(data_dir)}: expected a directory, or a path where one can be made (${error.message})`,
    );
  });
}

/**
 * Makes a directory and those above it that are missing, closed to others (0700); what is there stays as it is. In place
 * of mkdir's own `recursive`, which never ends in /proc: there, too, what cannot be made does not exist (measured).
 */
export async function makeDirectory(path: string): Promise<void> {
  const failed = await make(path);
  if (failed === null) return;
  if (failed.code !== "ENOENT" || dirname(path) === path) throw failed;
  await makeDirectory(dirname(path));
  const failed_again = await make(path);
  if (failed_again !== null) throw failed_again;
}

/** Null: the directory is there. */
async function make(path: string): Promise<NodeJS.ErrnoException | null> {
  try {
    await mkdir(path, { mode: 0o700 });
    return null;
  } catch (error) {
    const there = await stat(path).catch(() => null);
    return there?.isDirectory() === true ? null : (error as NodeJS.ErrnoException);
  }
}
