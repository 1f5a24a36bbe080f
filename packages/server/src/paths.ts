/** Where the files that come with the program are: the same answer from the sources and from the built program. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The directory of the installation, found upwards from this file. Throws when the installation is incomplete. */
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

/** The console as `npm run build` leaves it; absent where nobody built it. */
export const console_dir: string = join(root(), "packages/console/dist");

/** The documentation as `npm run build` leaves it. The folder is absent if it was not built. */
export const docs_dir: string = join(root(), "docs/.vitepress/dist");
