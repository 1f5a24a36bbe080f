/** Sends bytes that no HTTP client would send. */
import { connect, type Socket } from "node:net";

/** `statuses` empty: the connection was closed without an answer. */
export interface RawAnswer {
  /** In order. */
  readonly statuses: readonly number[];
  readonly text: string;
}

/**
 * Collects the response until the server closes the connection, or is silent for `quiet_ms` after a whole response.
 * Rejects after `wait_ms`.
 */
export function rawRequest(
  port: number,
  bytes: string | Buffer,
  { end = false, quiet_ms = 60, wait_ms = 60_000 }: { end?: boolean; quiet_ms?: number; wait_ms?: number } = {},
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
      else
        resolve({
          statuses: [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1])),
          text: Buffer.from(text, "latin1").toString(),
        });
    }
    // One character for each byte.
    socket.setEncoding("latin1");
    socket.on("data", (chunk) => {
      text += chunk;
      clearTimeout(quiet);
      if (isWhole(text)) quiet = setTimeout(() => finish(), quiet_ms);
    });
    socket.on("close", () => finish());
    socket.on("error", () => undefined);
    socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
    if (end) socket.end();
  });
}

/** A body of unknown length ends with its last chunk. */
function isWhole(text: string): boolean {
  const last = text.slice(text.lastIndexOf("HTTP/1.1 "));
  const head_chars = last.indexOf("\r\n\r\n");
  if (head_chars < 0) return false;
  const head = last.slice(0, head_chars);
  const body = last.slice(head_chars + 4);
  if (/^transfer-encoding: chunked/im.test(head)) return body.endsWith("0\r\n\r\n");
  const length = /^content-length: (\d+)/im.exec(head)?.[1];
  return length === undefined || body.length >= Number(length);
}
