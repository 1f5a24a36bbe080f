/**
 * HTTP/1.1 client: one raw socket, one request in flight, prepared bytes. node:http and undici cost as much per request
 * as the server, so on two cores they would measure the client.
 */
import { connect, type Socket } from "node:net";

/** Valid only until the next request on the connection. */
export interface RawAnswer {
  readonly status: number;
  readonly body: Buffer;
}

const headEnd = Buffer.from("\r\n\r\n");
const lastChunk = Buffer.from("\r\n0\r\n\r\n");
const body_bytes_max = 4 * 1024 * 1024;

export function requestBytes(url: URL, headers: Readonly<Record<string, string>>, body: string): Buffer {
  const lines = [`POST ${url.pathname}${url.search} HTTP/1.1`, `Host: ${url.host}`, "Content-Type: application/json"];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  lines.push(`Content-Length: ${Buffer.byteLength(body)}`, "", "");
  return Buffer.concat([Buffer.from(lines.join("\r\n")), Buffer.from(body)]);
}

/** Calls `onAnswer` once per `send`. Unexpected bytes go to `onError`. */
export class LoadConnection {
  readonly #socket: Socket;
  readonly #onAnswer: (answer: RawAnswer) => void;
  readonly #onError: (error: Error) => void;
  #received = Buffer.allocUnsafe(128 * 1024);
  #length = 0;
  #bodyStart = -1;
  #end = -1; // -1: not known yet.
  #status = 0;
  #closing = false;

  constructor(url: URL, onOpen: () => void, onAnswer: (answer: RawAnswer) => void, onError: (error: Error) => void) {
    this.#onAnswer = onAnswer;
    this.#onError = onError;
    const buffer = Buffer.allocUnsafe(64 * 1024);
    this.#socket = connect({
      host: url.hostname,
      port: Number(url.port),
      noDelay: true,
      onread: { buffer, callback: (bytes) => this.#take(buffer, bytes) },
    });
    this.#socket.once("connect", onOpen);
    this.#socket.on("error", onError);
    this.#socket.on("close", () => {
      if (!this.#closing) onError(new Error("the server closed the connection"));
    });
  }

  send(request: Buffer): void {
    this.#socket.write(request);
  }

  close(): void {
    this.#closing = true;
    this.#socket.end();
  }

  #take(buffer: Buffer, bytes: number): boolean {
    if (this.#length + bytes > this.#received.length) this.#grow(this.#length + bytes);
    buffer.copy(this.#received, this.#length, 0, bytes);
    this.#length += bytes;
    if (this.#bodyStart === -1 && !this.#readHead()) return true;
    if (this.#end === -1 && !this.#findLastChunk()) return true;
    if (this.#length < this.#end) return true;
    if (this.#length > this.#end) {
      this.#onError(new Error("more bytes than one answer has"));
      return true;
    }
    const answer = { status: this.#status, body: this.#received.subarray(this.#bodyStart, this.#end) };
    this.#length = 0;
    this.#bodyStart = -1;
    this.#end = -1;
    this.#onAnswer(answer);
    return true;
  }

  #grow(needed: number): void {
    if (needed > body_bytes_max) throw new Error(`an answer of more than ${body_bytes_max} bytes`);
    const larger = Buffer.allocUnsafe(needed * 2);
    this.#received.copy(larger, 0, 0, this.#length);
    this.#received = larger;
  }

  #readHead(): boolean {
    const at = this.#received.subarray(0, this.#length).indexOf(headEnd);
    if (at === -1) return false;
    const head = this.#received.toString("latin1", 0, at);
    this.#status = Number(head.slice(9, 12));
    this.#bodyStart = at + headEnd.length;
    const length = /\r\ncontent-length: *(\d+)/i.exec(head);
    if (length !== null) this.#end = this.#bodyStart + Number(length[1]);
    else if (!/\r\ntransfer-encoding: *chunked/i.test(head))
      this.#onError(new Error(`neither length nor chunks: ${head}`));
    return true;
  }

  #findLastChunk(): boolean {
    const at = this.#received.subarray(this.#bodyStart, this.#length).indexOf(lastChunk);
    if (at === -1) return false;
    this.#end = this.#bodyStart + at + lastChunk.length;
    return true;
  }
}
