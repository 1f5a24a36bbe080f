/**
 * Runs the command line as a process, for tests of signals, pipes and process ends. Uses a fresh build of `npm test`,
 * otherwise the sources.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { watched } from "./printed.ts";
import type { CliResult } from "./run-cli.ts";

export interface RunningCli {
  readonly process: ChildProcess;
  readonly finished: Promise<CliResult>;
  /** Resolves with the first match in the output; rejects if the process ends without one. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
}

/** Arguments of node, before the command's own. */
export const cliProgram: readonly string[] =
  process.env["TEST_THE_BUILD"] === "yes"
    ? [join(import.meta.dirname, "../../bin/countersign.js")]
    : [
        "--conditions=@countersign/source",
        `--import=${import.meta.resolve("tsx")}`,
        join(import.meta.dirname, "entry.ts"),
      ];

/** Passes only PATH and HOME of this process's settings. */
export function startCli(args: readonly string[], env: Readonly<Record<string, string>> = {}): RunningCli {
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, [...cliProgram, ...args], {
    env: { PATH, HOME, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = watched();
  child.stdout.setEncoding("utf8").on("data", output.stdout);
  child.stderr.setEncoding("utf8").on("data", output.stderr);
  const finished = new Promise<CliResult>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, ...output.printed() }));
  });
  return { process: child, finished, printed: (pattern) => output.match(pattern, finished) };
}
