/** Runs the programs of `examples/`, each in a process of its own. */
import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { watched } from "../../packages/cli/src/testing/printed.ts";
import type { CliResult } from "../../packages/cli/src/testing/run-cli.ts";
import { cliProgram } from "../../packages/cli/src/testing/start-cli.ts";
import { whenFileIsDone } from "../../packages/server/src/testing/when-file-is-done.ts";

export const examples = join(import.meta.dirname, "../../examples");

export interface RunningExample {
  readonly finished: Promise<CliResult>;
  /** Resolves with the first match in the output; rejects if the program ends without one. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
}

/** Starts a program in the folder of its example, with nothing of this process's settings but PATH. */
export function startExample(
  name: string,
  [program, ...args]: readonly [string, ...string[]],
  env: Readonly<Record<string, string | undefined>>,
): RunningExample {
  return run(program, args, join(examples, name), env);
}

function run(
  program: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): RunningExample {
  const { PATH = "" } = process.env;
  const child = spawn(program, args, { cwd, env: { PATH, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  whenFileIsDone(async () => void child.kill("SIGKILL"));
  const output = watched();
  child.stdout.setEncoding("utf8").on("data", output.stdout);
  child.stderr.setEncoding("utf8").on("data", output.stderr);
  const finished = new Promise<CliResult>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, ...output.printed() }));
  });
  return { finished, printed: (pattern) => output.match(pattern, finished) };
}

export interface Access {
  readonly admin_key: string;
  /** The environment of the examples. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Runs the commands of "Set it up once" in examples/README.md for the service at `url`. */
export async function setUp(url: string): Promise<Access> {
  const folder = temporaryFolder();
  symlinkSync(examples, join(folder, "examples"));
  const page = readFileSync(join(examples, "README.md"), "utf8");
  const [, section = ""] = /^## Set it up once$(.*?)^## /ms.exec(page) ?? [];
  const blocks = Array.from(section.matchAll(/^```sh\n(.*?)^```$/gms), ([, block]) => block);
  const script = [
    "set -euo pipefail",
    'npx() { "$@"; }',
    ...blocks,
    'jq -n "{ADMIN_KEY: env.ADMIN_KEY, COUNTERSIGN_API_KEY: env.COUNTERSIGN_API_KEY}" > keys.json',
  ].join("\n");
  const commands = script.replaceAll("http://127.0.0.1:8080", url);
  const env = { PATH: pathWithCountersign(), COUNTERSIGN_URL: url };
  const { code, stdout, stderr } = await run("bash", ["-c", commands], folder, env).finished;
  if (code !== 0) throw new Error(`the set-up ended with ${code}\n${stdout}\n${stderr}`);
  const { ADMIN_KEY, COUNTERSIGN_API_KEY } = JSON.parse(readFileSync(join(folder, "keys.json"), "utf8"));
  return { admin_key: ADMIN_KEY, settings: { COUNTERSIGN_URL: url, COUNTERSIGN_API_KEY } };
}

/** Makes a folder for the tests of this file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "countersign-example-"));
  whenFileIsDone(async () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Returns a PATH on which `countersign` is the program of this checkout. */
export function pathWithCountersign(): string {
  const folder = temporaryFolder();
  const words = [process.execPath, ...cliProgram].map((word) => `'${word}'`).join(" ");
  writeFileSync(join(folder, "countersign"), `#!/bin/sh\nexec ${words} "$@"\n`);
  chmodSync(join(folder, "countersign"), 0o755);
  return `${folder}:${process.env["PATH"] ?? ""}`;
}
