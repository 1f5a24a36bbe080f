/** Requests as bytes on a socket, for what no HTTP client would send. */
import { connect, type Socket } from "node:net";

/** What came back. `statuses` empty: the connection was closed without an answer. */
export interface RawAnswer {
  /** The status of every response on the connection, in order. */
  readonly statuses: readonly number[];
  readonly text: string;
}

/**
 * Sends bytes and collects what comes back until the server closes, or has answered and then said nothing for `quiet_ms`.
 * Rejects when there is neither an answer nor an end within `wait_ms`: that would be a hang.
 */
export function rawRequest(
  port: number,
  bytes: string | Buffer,
  { end = false, quiet_ms = 60, wait_ms = 10_000 }: { end?: boolean; quiet_ms?: number; wait_ms?: number } = {},
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(port, "127.0.0.1");
    let text = "";
    const hang = setTimeout(
      () => finish(new Error(`no answer within ${wait_ms} ms to ${String(bytes).slice(0, 200)}`)),
      wait_ms,
    );
    let quiet: NodeJS.Timeout | undefined;
    function finish(error?: Error): void {
      clearTimeout(hang);
      clearTimeout(quiet);
      socket.destroy();
      if (error !== undefined) reject(error);
      else resolve({ statuses: [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1])), text });
    }
    socket.setEncoding("utf8");
    socket.on("data", (chunk) => {
      text += chunk;
      clearTimeout(quiet);
      quiet = setTimeout(() => finish(), quiet_ms);
    });
    socket.on("close", () => finish());
    socket.on("error", () => undefined);
    socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
    if (end) socket.end();
  });
}
