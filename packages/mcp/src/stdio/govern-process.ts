/** Governs a Model Context Protocol server in a separate process, over lines of JSON on its standard streams. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { createGovernor, type GovernorOptions } from "../governor.ts";
import { readLines } from "../protocol/json-lines.ts";

export interface ProcessOptions extends Omit<GovernorOptions, "toServer" | "toClient"> {
  readonly command: string;
  readonly args: readonly string[];
  /**
   * The server's whole environment. The governor's own contains the key that decides on the calls, so it is not passed
   * on.
   */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly input: Readable;
  readonly output: Writable;
  readonly signal: AbortSignal;
  /** After its input ended, the server gets SIGTERM after this time, and SIGKILL after twice this time. */
  readonly patience_ms: number;
}

const message_chars_max = 64 * 1_048_576;
/**
 * Unread bytes that the governor buffers for a slow reader. Large, because the client's end comes after its unread
 * messages.
 */
const ahead_bytes_max = 16 * 1_048_576;
/**
 * Serves until the server or the client ends. Resolves to the server's exit code, or 128 plus the signal number.
 * Rejects if the server cannot be started, and with `LineTooLong`.
 */
export async function governProcess(options: ProcessOptions): Promise<number> {
  const { command, args, env, input, output, signal, patience_ms } = options;
  const server = spawn(command, args, { env: { ...env }, stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(server, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  exited.catch(() => undefined);
  await once(server, "spawn");
  // The code below notices the end of the reader.
  server.stdin.on("error", () => undefined);
  output.on("error", () => input.destroy());
  const governor = createGovernor({
    ...options,
    toServer: (line) => void server.stdin.write(`${line}\n`),
    toClient: (line) => void output.write(`${line}\n`),
  });
  const timers: NodeJS.Timeout[] = [];
  const endServer = (): void => {
    server.stdin.end();
    timers.push(setTimeout(() => server.kill("SIGTERM"), patience_ms));
    timers.push(setTimeout(() => server.kill("SIGKILL"), 2 * patience_ms));
  };
  const stop = (): void => {
    server.kill("SIGTERM");
    timers.push(setTimeout(() => server.kill("SIGKILL"), patience_ms));
  };
  // Begins no further calls. Records the results of the others, however the server ended.
  const settle = async (ended_first: "client" | "server"): Promise<void> => {
    input.destroy();
    await Promise.race([
      governor.end(ended_first),
      new Promise<void>((resolve) => timers.push(setTimeout(resolve, patience_ms))),
    ]);
  };
  // The server's output ends only with all processes that it started. Waits for a slow reader, but not for those
  // processes.
  const leave = (): void => {
    if (output.writableNeedDrain) timers.push(setTimeout(leave, patience_ms));
    else server.stdout.destroy();
  };
  server.once("exit", () => timers.push(setTimeout(leave, patience_ms).unref()));
  signal.addEventListener("abort", stop);
  const fromServer = pass(server.stdout, governor.fromServer, [output], 0);
  const fromClient = pass(input, governor.fromClient, [server.stdin, output], ahead_bytes_max);
  try {
    let ended_first: "client" | "server" = "client";
    const fromServerToEnd = Promise.all([exited, fromServer]).then(() => {
      ended_first = "server";
    });
    await Promise.race([fromClient, fromServerToEnd]).finally(() => settle(ended_first));
    endServer();
    const [code, ended_by] = await exited;
    await fromServer;
    return code ?? 128 + (ended_by === null ? 0 : constants.signals[ended_by]);
  } finally {
    signal.removeEventListener("abort", stop);
    for (const timer of timers) clearTimeout(timer);
    server.kill("SIGKILL");
    server.stdout.destroy();
    input.destroy();
  }
}

/** Passes lines on, at most this many bytes ahead of the slower reader. */
export async function pass(
  from: Readable,
  take: (line: string) => void,
  to: readonly Writable[],
  ahead_bytes: number,
): Promise<void> {
  try {
    for await (const line of readLines(from, message_chars_max)) {
      take(line);
      for (const each of to) if (each.writableNeedDrain && each.writableLength > ahead_bytes) await drained(each);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_STREAM_PREMATURE_CLOSE") throw error;
  }
}

/**
 * Resolves when the stream accepts more or is closed. `once` would leave a listener each time, and reject after the
 * reader closed.
 */
export function drained(to: Writable): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      to.off("drain", settle).off("close", settle);
      resolve();
    };
    to.on("drain", settle).on("close", settle);
  });
}
