/**
 * Runs the command line as a process of its own, for tests about signals, pipes and the end of processes: as it was built where
 * `npm test` has just done so, else from the sources, so that a test run by hand needs no build.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { watched } from "./printed.ts";
import type { CliResult } from "./run-cli.ts";

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

/** Starts `countersign <args>`. Of the settings of this process only PATH and HOME reach it. */
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
