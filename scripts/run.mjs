/**
 * `npm start` and `npm test` from a fresh clone, with nothing done before: installs and builds what is missing or out of
 * date, then runs. Plain JavaScript without dependencies, because nothing else is there yet.
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

/** By its URL: what stands in a path would be read as one, and `#` or `%41` in a folder's name mean something there. */
const load = (path) => import(pathToFileURL(at(path)).href);

class Failed extends Error {}

function readJson(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : null;
}

/**
 * Whether node_modules is what package-lock.json asks for, by npm's own record of what it installed (written last, so an
 * interrupted installation has none). No stamp of ours can be wrong about an installation that somebody made by hand.
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

/** Runs a program in this terminal; a failure ends everything with its code. */
function run(command, args, what) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: "inherit" });
    // Ctrl-C reaches the child as well (same terminal); a signal to us alone is handed on.
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

/** Whoever installs and builds in this folder says every so often that it still does. */
const lock = at(".building");
const says_every_ms = 1_000;
/** Without a word for so long it was killed. */
const silent_ms_max = 10_000;

/** One at a time: of two installations each would remove what the other one writes. */
async function alone(work) {
  // A folder that cannot be written to was built by somebody else, whose lock is not ours to remove.
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
    // On a full disk, for example: what is built already runs without it.
    if (error.code !== "EEXIST") return true;
    const held = statSync(lock, { throwIfNoEntry: false });
    // Later than now: it is from before the clock was set back.
    if (held !== undefined && Math.abs(Date.now() - held.mtimeMs) > silent_ms_max) rmSync(lock, { force: true });
    return false;
  }
}

async function install() {
  if (isInstalled()) return;
  console.error("countersign: installing (npm ci) …");
  // Everything is run from the sources and built here: development packages too, whatever NODE_ENV says.
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

/** tsc finds out for itself what changed; with nothing to do it takes about a tenth of a second. */
async function build() {
  await run(process.execPath, [at("node_modules/typescript/bin/tsc"), "-b"], "the build (tsc -b)");
  await buildProgram();
  await buildConsole();
}

/** What is run: the service and the command line with their libraries. Then what was built checks the packs. */
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

/** The console takes some seconds to build. */
async function buildConsole() {
  const vite = at("node_modules/vite/bin/vite.js");
  if (!existsSync(at("packages/console/index.html")) || !existsSync(vite)) return;
  const own = ["src", "public", "index.html", "vite.config.ts"].map((name) => `packages/console/${name}`);
  const sources = [...own, "packages/contract/src", "packages/sdk/src"];
  await whenChanged("packages/console/dist/index.html", sources, async () => {
    console.error("countersign: building the console …");
    const args = [vite, "build", "--logLevel=warn", at("packages/console")];
    await run(process.execPath, args, "the build of the console (vite build)");
  });
}

/**
 * Calls `make` when `result` is not there, or what stands at `paths`, or a library, is other than it was when it was made. A
 * stamp beside the result says what it was made from; it is written last.
 */
async function whenChanged(result, paths, make) {
  const stamp = `${dirname(result)}/.built-from`;
  const sources = contentsOf([...paths, "package-lock.json"]);
  if (existsSync(at(result)) && existsSync(at(stamp)) && readFileSync(at(stamp), "utf8") === sources) return;
  rmSync(at(stamp), { force: true });
  await make();
  writeFileSync(at(stamp), sources);
}

/** One hash over the names and contents of all of them but tests: times of files say nothing after a checkout. */
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
  /** In this process: signals, terminal and exit code are the service's own. */
  async start(args) {
    const program = "packages/cli/bin/countersign.js";
    process.argv = [process.execPath, at(program), "serve", ...args];
    await load(program);
  },
  /** What was just built is what the tests start where they start a program: it is up in a third of the time. */
  async test(args) {
    process.env.TEST_THE_BUILD = "yes";
    await run(process.execPath, [at("node_modules/vitest/vitest.mjs"), "run", ...args], "npm test");
  },
  /** Everything that the service consists of, built: what the image is made of. */
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
