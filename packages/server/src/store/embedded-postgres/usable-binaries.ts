import { chmod, cp, mkdir, readdir, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { StartRefused } from "../database/start-refused.ts";
import type { Binaries } from "./binaries.ts";
import { canReach, type Identity, isPrivateOf } from "./identity.ts";

interface Link {
  readonly source: string;
  readonly target: string;
}

/**
 * Returns the directory of programs that the server's user can run. npm packs no links, and the package's install
 * script does not run under pnpm, npm 11 or `--ignore-scripts`. This creates the links, or copies the programs once (58
 * MB). `cache_dir`: tests only.
 */
export async function usableBinaries(
  binaries: Binaries,
  identity: Identity | null,
  data_dir: string,
  cache_dir = "/var/cache/countersign",
): Promise<string> {
  if (binaries.source === "system") return binaries.bin_dir;
  const package_dir = dirname(dirname(binaries.bin_dir));
  const readable =
    (await canReach(join(binaries.bin_dir, "postgres"), identity)) &&
    (await canReach(join(package_dir, "native/share"), identity));
  if (readable && (await makeLinks(package_dir))) return binaries.bin_dir;
  const caches = identity === null ? [] : [cache_dir, join(tmpdir(), `countersign-${process.getuid?.()}`)];
  return join(await copyOf(package_dir, binaries.version, identity, data_dir, caches), "native/bin");
}

async function makeLinks(package_dir: string): Promise<boolean> {
  for (const { source, target } of await linksOf(package_dir)) {
    const [from, to] = [join(package_dir, target), join(package_dir, source)];
    if ((await stat(from).catch(() => null)) !== null) continue;
    try {
      await symlink(relative(dirname(from), to), from);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") return false;
    }
  }
  return true;
}

async function linksOf(package_dir: string): Promise<Link[]> {
  const text = await readFile(join(package_dir, "native/pg-symlinks.json"), "utf8").catch(() => "[]");
  return JSON.parse(text) as Link[];
}

/** Returns a complete copy in the data directory, or in a cache if the server's user cannot enter it. */
async function copyOf(
  package_dir: string,
  version: string,
  identity: Identity | null,
  data_dir: string,
  caches: readonly string[],
): Promise<string> {
  const name = `postgresql-${version}-${process.platform}-${process.arch}`;
  const places = [data_dir, ...caches];
  for (const place of places) {
    const copy = join(place, name);
    try {
      // A umask of 077 would close the directory to the server's user.
      if (place !== data_dir && (await mkdir(place, { recursive: true })) !== undefined) await chmod(place, 0o755);
      // In /tmp, another user may have created our name.
      if (!(await canReach(place, identity)) || !(await isPrivateOf(place, process.getuid?.() ?? 0))) continue;
      if ((await stat(copy).catch(() => null)) === null) await copyTo(copy, package_dir);
      return copy;
    } catch (error) {
      if (!["EACCES", "EPERM", "EROFS", "ENOSPC"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  }
  throw new StartRefused(
    `the embedded PostgreSQL in ${package_dir} cannot be read by uid ${identity?.uid ?? process.getuid?.()}, and none of ${places.join(", ")} can hold a copy: make one of them readable, or set DATABASE_URL`,
  );
}

async function copyTo(copy: string, package_dir: string): Promise<void> {
  const unfinished = `${copy}.${process.pid}.new`;
  const wanted = (path: string) => !path.endsWith(".a") && !["pkgconfig", "include"].includes(basename(path));
  try {
    await cp(join(package_dir, "native"), join(unfinished, "native"), {
      recursive: true,
      verbatimSymlinks: true,
      filter: wanted,
    });
    await makeReadable(unfinished);
    await makeLinks(unfinished);
    // Publishes the complete copy. If another process was first, its copy is used.
    await rename(unfinished, copy);
  } catch (error) {
    // No later start would remove it: each has another process number.
    await rm(unfinished, { recursive: true, force: true });
    if (!["ENOTEMPTY", "EEXIST"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

async function makeReadable(path: string): Promise<void> {
  const entries = await readdir(path, { withFileTypes: true });
  await chmod(path, 0o755);
  for (const entry of entries) {
    const at = join(path, entry.name);
    if (entry.isDirectory()) await makeReadable(at);
    else await chmod(at, (await stat(at)).mode & 0o100 ? 0o755 : 0o644);
  }
}
