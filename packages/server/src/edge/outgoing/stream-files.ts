/** Writes objects of streams as files. */
import { randomBytes } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { StreamFiles } from "../../ports.ts";
import { makeDirectory } from "../../store/database/data-directory.ts";

export function createStreamFiles(directory: string): StreamFiles {
  return {
    async write(path, bytes) {
      const file = join(directory, path);
      const folder = dirname(file);
      await makeDirectory(folder);
      const unfinished = join(folder, `.${randomBytes(6).toString("hex")}.tmp`);
      try {
        await onDisk(unfinished, bytes);
        await rename(unfinished, file);
      } catch (error) {
        // On a full disk each try would leave a partial file.
        await rm(unfinished, { force: true });
        throw error;
      }
      await syncFolder(folder);
    },
  };
}

async function onDisk(file: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(file, "wx", 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** After a power failure the folder still has the new name. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
