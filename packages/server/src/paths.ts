/** Paths of installed files, the same from the sources and from the built program. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Returns the directory of the installation, searched upwards from this file. Throws if the installation is incomplete. */
export function root(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  for (let directory = here; ; directory = dirname(directory)) {
    if (existsSync(join(directory, "packages/server/migrations"))) return directory;
    if (directory === dirname(directory)) throw new Error(`no packages/server/migrations above ${here}`);
  }
}

/** The packs that come with the service. */
export const packs_dir: string = join(root(), "packs");

/** The SQL files that bring a database to this program's schema. */
export const migrations_dir: string = join(root(), "packages/server/migrations");

/** The built console. Absent before `npm run build`. */
export const console_dir: string = join(root(), "packages/console/dist");

/** The documentation as `npm run build` leaves it. The folder is absent if it was not built. */
export const docs_dir: string = join(root(), "docs/.vitepress/dist");
