/** The same for the sources and the built program. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Throws if the installation is incomplete. */
export function root(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  for (let directory = here; ; directory = dirname(directory)) {
    if (existsSync(join(directory, "packages/server/migrations"))) return directory;
    if (directory === dirname(directory)) throw new Error(`no packages/server/migrations above ${here}`);
  }
}

export const packs_dir: string = join(root(), "packs");

export const migrations_dir: string = join(root(), "packages/server/migrations");

/** Absent before `npm run build`. */
export const console_dir: string = join(root(), "packages/console/dist");

/** Absent before `npm run build`. */
export const docs_dir: string = join(root(), "docs/.vitepress/dist");
