/**
 * `npm start` and `npm test` from a fresh clone: installs and builds missing or outdated parts, then runs. Plain
 * JavaScript without dependencies, because nothing is installed yet.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  accessSync,
  constants,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { whyNotThisNode } from "../packages/cli/bin/required-node.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const at = (path) => `${root}${path}`;

/** Imports by URL, because `#` or `%41` in a folder's name would change a path's meaning. */
const load = (path) => import(pathToFileURL(at(path)).href);

class Failed extends Error {}

function readJson(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : null;
}

/**
 * Returns true if node_modules fits package-lock.json. Reads npm's own record, because installations by hand update it
 * too.
 */
function isInstalled() {
  const wanted = readJson(at("package-lock.json"));
  const installed = readJson(at("node_modules/.package-lock.json"));
  if (installed === null) return false;
  return Object.entries(wanted.packages).every(([path, { version, optional, link, resolved }]) => {
    if (!path.includes("node_modules/")) return true;
    const found = installed.packages[path];
    if (found === undefined) return optional === true;
    return link
      ? found.link === true && (resolved === undefined || found.resolved === resolved)
      : found.version === version;
  });
}

/** Runs a program in this terminal. A failure ends this process with its code. */
function run(command, args, what) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: "inherit" });
    // Ctrl-C also reaches the child (same terminal). Forward signals sent to this process alone.
    const forward = (signal) => child.kill(signal);
    const ignore = () => undefined;
    process.on("SIGTERM", forward).on("SIGINT", process.stdin.isTTY ? ignore : forward);
    child.once("error", (error) => reject(new Failed(`${what}: ${error.message}`)));
    child.once("exit", (code, signal) => {
      process.off("SIGTERM", forward).off("SIGINT", forward).off("SIGINT", ignore);
      if (code === 0) return resolve();
      process.exitCode = code ?? 1;
      reject(new Failed(signal === null ? `${what} failed (exit code ${code})` : `${what} was ended by ${signal}`));
    });
  });
}

/** The installing process touches this file regularly. */
const lock = at(".building");
const says_every_ms = 1_000;
/** If the file is older, that process was killed. */
const silent_ms_max = 10_000;

/** One process at a time, because parallel installations would remove each other's files. */
async function alone(work) {
  // Another user built a read-only folder. Do not remove that user's lock.
  if (!isWritable(root)) return work();
  for (let told = false; !takeLock(); told = true) {
    if (!told) console.error("countersign: waiting for another start that installs and builds in this folder …");
    await sleep(100);
  }
  const saying = setInterval(() => existsSync(lock) && utimesSync(lock, new Date(), new Date()), says_every_ms);
  try {
    await work();
  } finally {
    clearInterval(saying);
    rmSync(lock, { force: true });
  }
}

function isWritable(folder) {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function takeLock() {
  try {
    writeFileSync(lock, "", { flag: "wx" });
    return true;
  } catch (error) {
    // For example a full disk. The existing build runs without the lock.
    if (error.code !== "EEXIST") return true;
    const held = statSync(lock, { throwIfNoEntry: false });
    // A future time means that the clock was set back.
    if (held !== undefined && Math.abs(Date.now() - held.mtimeMs) > silent_ms_max) rmSync(lock, { force: true });
    return false;
  }
}

async function install() {
  if (isInstalled()) return;
  console.error("countersign: installing (npm ci) …");
  // Includes development packages for any NODE_ENV, because the program is built from source.
  const args = [
    "ci",
    "--ignore-scripts",
    "--include=dev",
    "--include=optional",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
  ];
  const npm = process.env.npm_execpath;
  if (npm?.endsWith(".js")) await run(process.execPath, [npm, ...args], "npm ci");
  else await run("npm", args, "npm ci");
}

/** tsc finds changes itself, which takes about 0.1 s. */
async function build() {
  await run(process.execPath, [at("node_modules/typescript/bin/tsc"), "-b"], "the build (tsc -b)");
  await buildProgram();
  await buildConsole();
  await buildDocs();
}

async function buildProgram() {
  const script = at("scripts/bundle.mjs");
  if (!existsSync(script)) return;
  const sources = ["contract", "cel", "core", "sdk", "mcp", "server", "cli"].map((name) => `packages/${name}/src`);
  await whenChanged("packages/cli/dist/program/record-packs.js", [...sources, "scripts/bundle.mjs"], () =>
    run(process.execPath, [script], "the build of the program (esbuild)"),
  );
  const { recordPacks } = await load("packages/cli/dist/program/record-packs.js");
  await recordPacks();
}

async function buildConsole() {
  const vite = at("node_modules/vite/bin/vite.js");
  if (!existsSync(at("packages/console/index.html")) || !existsSync(vite)) return;
  const own = ["src", "public", "index.html", "vite.config.ts", "verify-page.ts"].map(
    (name) => `packages/console/${name}`,
  );
  const sources = [...own, "packages/contract/src", "packages/sdk/src"];
  await whenChanged("packages/console/dist/index.html", sources, async () => {
    console.error("countersign: building the console …");
    const args = [vite, "build", "--logLevel=warn", at("packages/console")];
    await run(process.execPath, args, "the build of the console (vite build)");
  });
}

async function buildDocs() {
  const vitepress = at("node_modules/vitepress/bin/vitepress.js");
  if (!existsSync(at("docs/.vitepress/config.ts")) || !existsSync(vitepress)) return;
  const sources = readdirSync(at("docs"))
    .filter((name) => name !== ".vitepress")
    .map((name) => `docs/${name}`);
  const site = ["docs/.vitepress/config.ts", "docs/.vitepress/site-links.ts"];
  await whenChanged("docs/.vitepress/dist/index.html", [...sources, ...site], async () => {
    console.error("countersign: building the documentation …");
    await run(process.execPath, [vitepress, "build", at("docs")], "the build of the documentation (vitepress build)");
  });
}

/**
 * Calls `make` if `result` is missing, or if a library or a file in `paths` changed. A stamp, written last, records the
 * built contents.
 */
async function whenChanged(result, paths, make) {
  const stamp = `${dirname(result)}/.built-from`;
  const sources = contentsOf([...paths, "package-lock.json"]);
  if (existsSync(at(result)) && existsSync(at(stamp)) && readFileSync(at(stamp), "utf8") === sources) return;
  rmSync(at(stamp), { force: true });
  await make();
  writeFileSync(at(stamp), sources);
}

/**
 * Returns one hash over names and contents of all files except tests. Checkouts change file times, so they do not
 * count.
 */
function contentsOf(paths) {
  const hash = createHash("sha256");
  const add = (path) => {
    for (const entry of readdirSync(at(path), { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.isDirectory()) add(`${path}/${entry.name}`);
      else if (!entry.name.includes(".test."))
        hash.update(entry.name).update(readFileSync(at(`${path}/${entry.name}`)));
    }
  };
  for (const path of paths.filter((each) => existsSync(at(each)))) {
    if (/\.\w+$/.test(path)) hash.update(readFileSync(at(path)));
    else add(path);
  }
  return hash.digest("hex");
}

const commands = {
  /** Runs in this process, so that signals, terminal and exit code are the service's own. */
  async start(args) {
    const program = "packages/cli/bin/countersign.js";
    process.argv = [process.execPath, at(program), "serve", ...args];
    await load(program);
  },
  /** Tests start the built program, which takes a third of the time. */
  async test(args) {
    process.env.TEST_THE_BUILD = "yes";
    await run(process.execPath, [at("node_modules/vitest/vitest.mjs"), "run", ...args], "npm test");
  },
  // Every command builds first.
  async build() {},
};

try {
  const [name, ...args] = process.argv.slice(2);
  if (!Object.keys(commands).includes(name))
    throw new Failed(`usage: node scripts/run.mjs ${Object.keys(commands).join("|")} [arguments]`);
  const reason = whyNotThisNode();
  if (reason !== null) throw new Failed(reason);
  await alone(async () => {
    await install();
    await build();
  });
  await commands[name](args);
} catch (error) {
  if (!(error instanceof Failed)) throw error;
  console.error(`countersign: ${error.message}`);
  if (!process.exitCode) process.exitCode = 1;
}
