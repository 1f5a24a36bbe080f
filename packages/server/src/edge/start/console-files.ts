import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ConsoleFiles } from "../../http/console.ts";
import { console_dir } from "../../paths.ts";

/** Null: not built. */
export async function loadConsole(dir: string = console_dir): Promise<ConsoleFiles | null> {
  const entries = await readdir(dir, { withFileTypes: true, recursive: true }).catch(() => null);
  if (entries === null) return null;
  const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith("."));
  const contents = files.map(async ({ parentPath, name }): Promise<[string, Buffer]> => {
    const path = join(parentPath, name);
    return [`/${path.slice(dir.length).replaceAll("\\", "/").replace(/^\/+/, "")}`, await readFile(path)];
  });
  return new Map(await Promise.all(contents));
}
