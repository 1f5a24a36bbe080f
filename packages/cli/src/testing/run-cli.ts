/** Runs the command line in the test's process, with its own streams, signals and environment. */
import { EventEmitter } from "node:events";
import { PassThrough, Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { run } from "../program.ts";
import { type Output, Terminal } from "../terminal.ts";
import { watched } from "./printed.ts";

/** `code` is null if a signal ended the process. */
export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface BegunCli {
  readonly finished: Promise<CliResult>;
  readonly stdin: PassThrough;
  /** Resolves with the first match in the output; rejects if the command ends without one. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  interrupt(signal: "SIGINT" | "SIGTERM" | "SIGHUP"): void;
}

/** Returns a terminal that collects output. Passes only PATH and HOME of this process's settings. */
export function capturingTerminal(env: Readonly<Record<string, string>> = {}, given?: Output) {
  const { PATH = "", HOME = "" } = process.env;
  const signals = new EventEmitter();
  const stdin = new PassThrough();
  const output = watched();
  const stdout = given ?? sink(output.stdout);
  const terminal = new Terminal({
    ...{ env: { PATH, HOME, ...env }, stdin: () => stdin, stdout, stderr: sink(output.stderr), signals },
    exit: (code = terminal.exitCode) => {
      throw new Exited(code);
    },
  });
  return { terminal, output, signals, stdin };
}

/** The command ended its process. */
class Exited extends Error {
  readonly code: number;
  constructor(code: number) {
    super("the command ends its process");
    this.code = code;
  }
}

/**
 * Begins `countersign <args>`. A command that ends its process on a signal counts as finished, but its running
 * statements continue. `stdout` replaces standard output, so that only standard error is collected.
 */
export function beginCli(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  stdout?: Output,
): BegunCli {
  const { terminal, output, signals, stdin } = capturingTerminal(env, stdout);
  let exit: (code: number) => void = () => undefined;
  const exited = new Promise<number>((resolve) => (exit = resolve));
  const code = Promise.race([run(["node", "countersign", ...args], terminal), exited]);
  const finished = code.then((code) => ({ code, ...output.printed() }));
  const interrupt: BegunCli["interrupt"] = (signal) => {
    try {
      if (!signals.emit(signal)) throw new Error(`the command has no listener for ${signal}: it would end its process`);
    } catch (error) {
      if (!(error instanceof Exited)) throw error;
      exit(error.code);
    }
  };
  return { finished, stdin, printed: (pattern) => output.match(pattern, finished), interrupt };
}

export async function runCli(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = process.cwd(),
): Promise<CliResult> {
  const before = process.cwd();
  process.chdir(cwd);
  try {
    return await beginCli(args, env).finished;
  } finally {
    process.chdir(before);
  }
}

/** As `runCli`, on a test database, without the warning about data loss in a power cut. */
export async function runOnTestDatabase(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd?: string,
): Promise<CliResult> {
  const { stderr, ...result } = await runCli(args, env, cwd);
  return { ...result, stderr: stderr.replace(/^countersign: fsync is off on this server of DATABASE_URL: .*\n/, "") };
}

/** Returns a standard output that fails each write with this error. */
export function failingOutput(failure: Error): Output {
  return new Writable({ write: (_chunk, _encoding, done) => done(failure) });
}

function sink(take: (text: string) => void): Output {
  const decoder = new StringDecoder("utf8");
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      take(decoder.write(chunk));
      done();
    },
  });
}
