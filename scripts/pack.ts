/**
 * Packs what others install, into release/: the program with everything that it serves, the libraries, and checksums.
 *
 * npm run pack
 *
 * Each tarball can be installed alone: it holds the packages of this repository that it uses.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const release_dir = join(root, "release");

interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** What the program serves or reads beside its bundle, as the image has it. */
const program_files = [
  "packages/cli/bin",
  "packages/cli/dist/program",
  "packages/console/dist",
  "packages/server/migrations",
  "docs/.vitepress/dist",
  "packs",
];
const libraries = ["cel", "contract", "sdk", "mcp"];

/** Packs what the last build made. `into` is replaced. */
export function pack(into: string): void {
  rmSync(into, { recursive: true, force: true });
  mkdirSync(into);
  for (const name of libraries) packed(into, (directory) => stageLibrary(name, directory));
  packed(into, stageProgram);
  writeChecksums(into);
}

function packed(into: string, stage: (directory: string) => void): void {
  const directory = mkdtempSync(join(tmpdir(), "countersign-pack-"));
  try {
    stage(directory);
    run("npm", ["pack", "--ignore-scripts", "--pack-destination", into], directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** A library with the packages of this repository that it imports. */
function stageLibrary(name: string, into: string): void {
  copyPackage(name, into);
  const manifest = manifestOf(name);
  const bundled = ownDependencies(name);
  for (const each of bundled) copyPackage(each, join(into, "node_modules", manifestOf(each).name));
  const names = bundled.map((each) => manifestOf(each).name);
  const dependencies = Object.assign({}, ...[name, ...bundled].map((each) => manifestOf(each).dependencies ?? {}));
  const bundles = names.length === 0 ? {} : { dependencies, bundleDependencies: names };
  write(into, { ...manifest, ...bundles });
}

function copyPackage(name: string, into: string): void {
  const from = join(root, "packages", name);
  for (const part of ["package.json", "README.md", "dist"].filter((each) => existsSync(join(from, each))))
    cpSync(join(from, part), join(into, part), {
      recursive: true,
      force: true,
      filter: (path) => !path.endsWith(".tsbuildinfo"),
    });
  cpSync(join(root, "LICENSE"), join(into, "LICENSE"));
}

/** Returns the folders of the packages of this repository that a package imports, directly or not. */
function ownDependencies(name: string): string[] {
  const names = Object.keys(manifestOf(name).dependencies ?? {}).flatMap(
    (each) => /^@countersign\/(.*)$/.exec(each)?.[1] ?? [],
  );
  return [...new Set([...names, ...names.flatMap(ownDependencies)])];
}

/** The program in one package. npm installs only the native code, which differs between machines. */
function stageProgram(into: string): void {
  for (const path of program_files) cpSync(join(root, path), join(into, path), { recursive: true });
  for (const path of ["LICENSE", "README.md"]) cpSync(join(root, path), join(into, path));
  const { dependencies: _, exports: __, ...manifest } = manifestOf("cli") as Manifest & { readonly exports: unknown };
  const server = manifestOf("server");
  const native = "@node-rs/argon2";
  write(into, {
    ...manifest,
    description: "Decides and records the actions that software agents propose.",
    bin: { countersign: "packages/cli/bin/countersign.js" },
    files: ["packages", "docs", "packs"],
    dependencies: { [native]: server.dependencies?.[native] },
    optionalDependencies: server.optionalDependencies,
  });
}

function manifestOf(name: string): Manifest {
  return JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8"));
}

function write(directory: string, manifest: object): void {
  writeFileSync(join(directory, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

function run(command: string, args: readonly string[], cwd: string): void {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8", maxBuffer: 64 << 20 });
  if (status !== 0)
    throw new Error(`${command} ${args.join(" ")} failed:\n${error?.message ?? `${stdout}${stderr}`.trim()}`);
}

/** Writes SHA256SUMS for all other files of a folder. */
export function writeChecksums(directory: string): void {
  const names = readdirSync(directory).filter((name) => name !== "SHA256SUMS");
  const files = names.map((name) => ({ name, bytes: readFileSync(join(directory, name)) }));
  writeFileSync(join(directory, "SHA256SUMS"), checksumLines(files));
}

export function checksumLines(files: readonly { readonly name: string; readonly bytes: Buffer }[]): string {
  return files
    .map(({ name, bytes }) => `${createHash("sha256").update(bytes).digest("hex")}  ${name}\n`)
    .sort((a, b) => a.slice(66).localeCompare(b.slice(66)))
    .join("");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  run("npm", ["run", "build"], root);
  pack(release_dir);
  for (const name of readdirSync(release_dir).sort()) console.log(`release/${name}`);
}
