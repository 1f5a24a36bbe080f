/**
 * Runs the command line as a process of its own: as it was built where `npm test` has just done so, else from the sources,
 * so that a test run by hand needs no build.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";

/** What a finished process left behind. `code` is null when a signal ended it. */
export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A process under way. */
export interface RunningCli {
  readonly process: ChildProcess;
  readonly finished: Promise<CliResult>;
  /** Resolves with the first match in what was printed so far; rejects when the process ends without one. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
}

/** What `startCli` runs node with, before the arguments. */
export const cliProgram: readonly string[] =
  process.env["TEST_THE_BUILD"] === "yes"
    ? [join(import.meta.dirname, "../../bin/countersign.js")]
    : [
        "--conditions=@countersign/source",
        `--import=${import.meta.resolve("tsx")}`,
        join(import.meta.dirname, "entry.ts"),
      ];

/** Starts `countersign <args>`; of this process's settings only PATH and HOME reach it. */
export function startCli(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd?: string,
): RunningCli {
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, [...cliProgram, ...args], {
    env: { PATH, HOME, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    ...(cwd === undefined ? {} : { cwd }),
  });
  let stdout = "";
  let stderr = "";
  const watchers = new Set<() => void>();
  const notice = () => {
    for (const watcher of watchers) watcher();
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    notice();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    notice();
  });
  const finished = new Promise<CliResult>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, stdout, stderr }));
  });
  const printed = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = () => {
        const match = pattern.exec(stdout) ?? pattern.exec(stderr);
        if (match === null) return;
        watchers.delete(look);
        resolve(match);
      };
      watchers.add(look);
      void finished.then(() => reject(new Error(`ended without ${pattern}:\n${stdout}${stderr}`)), reject);
      look();
    });
  return { process: child, finished, printed };
}

/** Runs `countersign <args>` to its end. */
export function runCli(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd?: string,
): Promise<CliResult> {
  return startCli(args, env, cwd).finished;
}
