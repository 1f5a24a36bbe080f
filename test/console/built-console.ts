/** Returns the console that `npm test` built. Builds it if a test file runs alone. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../../", import.meta.url));

export async function builtConsole(): Promise<Map<string, Buffer>> {
  const dist = join(root, "packages/console/dist");
  // The build of `npm start` and `npm test` writes the stamp last.
  if (existsSync(join(dist, ".built-from"))) return filesOf(dist);
  const dir = await mkdtemp(join(tmpdir(), "console-"));
  try {
    const vite = join(root, "node_modules/vite/bin/vite.js");
    const args = [vite, "build", "--logLevel=warn", "--emptyOutDir", "--outDir", dir, join(root, "packages/console")];
    await promisify(execFile)(process.execPath, args, { cwd: root });
    return await filesOf(dir);
  } finally {
    await rm(dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function filesOf(dir: string): Promise<Map<string, Buffer>> {
  const entries = await readdir(dir, { withFileTypes: true, recursive: true });
  const paths = entries
    .filter((entry) => entry.isFile() && !entry.name.startsWith("."))
    .map((entry) => join(entry.parentPath, entry.name));
  const contents = paths.map(
    async (path): Promise<[string, Buffer]> => [
      `/${path.slice(dir.length + 1).replaceAll("\\", "/")}`,
      await readFile(path),
    ],
  );
  return new Map(await Promise.all(contents));
}
