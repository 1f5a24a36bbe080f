/** The process in which a command runs. A parameter of every command, so that tests can use their own streams. */
import { Console } from "node:console";
import type { EventEmitter } from "node:events";
import type { Readable, Writable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";

/** Terminals set `isTTY` and `columns`. */
export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** Relative paths start at the working directory of the process. */
export interface TerminalParts {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A function, because Node opens standard input on first access. */
  readonly stdin: () => Readable;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Emits SIGINT, SIGTERM and SIGHUP. */
  readonly signals: Pick<EventEmitter, "on" | "once" | "off">;
  /** Ends the process at once. Default code: `exitCode`. */
  exit(code?: number): never;
}

export class Terminal {
  readonly env: TerminalParts["env"];
  readonly stdin: TerminalParts["stdin"];
  readonly stdout: Output;
  readonly stderr: Output;
  readonly signals: TerminalParts["signals"];
  readonly exit: TerminalParts["exit"];
  /** Result of `run` if the command ends without an error. */
  exitCode = 0;
  readonly #console: Console;
  #outputFailure: NodeJS.ErrnoException | null = null;

  /**
   * Listens for errors of standard output. Without a listener, a failed write is lost silently, and a full disk of the
   * log crashes the service.
   */
  constructor(parts: TerminalParts) {
    ({ env: this.env, stdin: this.stdin, stdout: this.stdout, stderr: this.stderr } = parts);
    this.signals = parts.signals;
    this.exit = parts.exit;
    this.#console = new Console({ stdout: parts.stdout, stderr: parts.stderr });
    this.stdout.on("error", (error: NodeJS.ErrnoException) => {
      if (this.#outputFailure !== null) return;
      this.#outputFailure = error;
      // A closed pipe needs no message.
      if (error.code !== "EPIPE") this.printError(`countersign: standard output: ${error.message}`);
    });
  }

  print(text: string): void {
    this.#console.log(text);
  }

  printError(text: string): void {
    this.#console.error(text);
  }

  /** Resolves to false if the write failed, because the disk is full or the reader is gone. */
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

  /** Returns whether a command failed because standard output failed. */
  isOutputFailure(error: unknown): boolean {
    return this.#outputFailure !== null && error === this.#outputFailure;
  }
}

export function processTerminal(): Terminal {
  // By default SIGUSR1, which log rotation may send, opens Node's debugger with this process's rights to every user of
  // the machine. `--inspect` still opens it.
  process.on("SIGUSR1", () => undefined);
  const { env, stdout, stderr } = process;
  return new Terminal({ env, stdin: () => process.stdin, stdout, stderr, signals: process, exit: process.exit });
}
