/** The process that a command runs in. It is handed down to every command, so that tests can run one with streams of their own. */
import { Console } from "node:console";
import type { EventEmitter } from "node:events";
import type { Readable, Writable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";

/** A stream for output; `isTTY` and `columns` are set where it is a terminal. */
export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** What a terminal consists of. Relative paths are relative to the working directory of the process. */
export interface TerminalParts {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A function, because Node opens standard input when it is first looked at. */
  readonly stdin: () => Readable;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Emits SIGINT, SIGTERM and SIGHUP. */
  readonly signals: Pick<EventEmitter, "on" | "once" | "off">;
  /** Ends the process at once; without a code, with the one that the command has set. */
  exit(code?: number): never;
}

/** A terminal, and the exit code of the command that runs in it. */
export class Terminal {
  readonly env: TerminalParts["env"];
  readonly stdin: TerminalParts["stdin"];
  readonly stdout: Output;
  readonly stderr: Output;
  readonly signals: TerminalParts["signals"];
  readonly exit: TerminalParts["exit"];
  /** What `run` resolves to when the command ends without an error. */
  exitCode = 0;
  readonly #console: Console;
  #outputFailure: NodeJS.ErrnoException | null = null;

  /**
   * Listens for errors of standard output from now on. Without a listener, a failed write is lost without a word, and a service
   * ends with an exception when the disk of its log is full.
   */
  constructor(parts: TerminalParts) {
    ({ env: this.env, stdin: this.stdin, stdout: this.stdout, stderr: this.stderr } = parts);
    this.signals = parts.signals;
    this.exit = parts.exit;
    this.#console = new Console({ stdout: parts.stdout, stderr: parts.stderr });
    this.stdout.on("error", (error: NodeJS.ErrnoException) => {
      if (this.#outputFailure !== null) return;
      this.#outputFailure = error;
      // A reader that has closed the pipe needs no message.
      if (error.code !== "EPIPE") this.printError(`countersign: standard output: ${error.message}`);
    });
  }

  /** Writes a line to standard output. */
  print(text: string): void {
    this.#console.log(text);
  }

  /** Writes a line to standard error. */
  printError(text: string): void {
    this.#console.error(text);
  }

  /** Writes to standard output; resolves to false if the write failed, because the disk is full or the reader is gone. */
  written(text: string): Promise<boolean> {
    return new Promise((resolve) => {
      this.stdout.write(text, (error) => resolve(!error));
    });
  }

  /** Resolves to the first error of standard output, or null. */
  async outputFailure(): Promise<NodeJS.ErrnoException | null> {
    await nextTurn();
    return this.#outputFailure;
  }

  /** Returns whether a command failed with this error because standard output failed. */
  isOutputFailure(error: unknown): boolean {
    return this.#outputFailure !== null && error === this.#outputFailure;
  }
}

/** Returns the terminal of this process. */
export function processTerminal(): Terminal {
  // By default Node opens its debugger on SIGUSR1, with the rights of this process and to every user of this machine. Log
  // rotation, for one, sends this signal. `--inspect` still opens the debugger.
  process.on("SIGUSR1", () => undefined);
  const { env, stdout, stderr } = process;
  return new Terminal({ env, stdin: () => process.stdin, stdout, stderr, signals: process, exit: process.exit });
}
