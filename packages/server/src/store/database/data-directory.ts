import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { StartRefused } from "./start-refused.ts";

/** Throws `StartRefused` with the setting's name if the directory cannot be created. */
export async function makeDataDir(data_dir: string): Promise<void> {
  await makeDirectory(data_dir).catch((error: Error) => {
    throw new StartRefused(
      `COUNTERSIGN_DATA_DIR=${JSON.stringify(data_dir)}: expected a directory, or a path where one can be created (${error.message})`,
    );
  });
}

/** Creates missing directories with mode 0700. mkdir's `recursive` never returns for a path in /proc. */
export async function makeDirectory(path: string): Promise<void> {
  const failed = await make(path);
  if (failed === null) return;
  if (failed.code !== "ENOENT" || dirname(path) === path) throw failed;
  await makeDirectory(dirname(path));
  const failed_again = await make(path);
  if (failed_again !== null) throw failed_again;
}

/** Returns null if the directory exists. */
async function make(path: string): Promise<NodeJS.ErrnoException | null> {
  try {
    await mkdir(path, { mode: 0o700 });
    return null;
  } catch (error) {
    const there = await stat(path).catch(() => null);
    return there?.isDirectory() === true ? null : (error as NodeJS.ErrnoException);
  }
}
