import type { ServerResponse } from "node:http";
import { eventText } from "./events.ts";

export interface StreamOptions {
  /** Unique in the session. */
  readonly id: string;
  /** The client may come back for events that it missed. */
  readonly resumes: boolean;
  /** The client understands an event without data, which gives it an id to come back with. */
  readonly primes: boolean;
  /** Go with every success. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null: no events answer this request. */
  readonly keep_alive_ms: number | null;
}

/** Without the newest event. */
const kept_chars_max = 262_144;

interface KeptEvent {
  readonly number: number;
  readonly text: string;
}

/** After a broken connection, the client comes back after this time. */
const retry_ms = 1_000;

/**
 * The answers to one HTTP request of a client: one JSON body, or events. They become events with the first message that
 * is not the last, or after `keep_alive_ms`, because clients and proxies close silent connections.
 */
export class ClientStream {
  readonly id: string;
  readonly #options: StreamOptions;
  readonly #closed = new Set<() => void>();
  readonly #keepAlive: NodeJS.Timeout | undefined;
  #response: ServerResponse | null = null;
  /** For a client that comes back. */
  #kept: KeptEvent[] = [];
  #kept_chars = 0;
  #count = 0;
  #has_started = false;
  /** The last event that a client had when it came back; null: it never left. */
  #resumes_after: number | null = null;
  #is_over = false;

  constructor(response: ServerResponse, options: StreamOptions) {
    this.#options = options;
    this.id = options.id;
    const { keep_alive_ms } = options;
    if (keep_alive_ms !== null) this.#keepAlive = setInterval(() => this.#stayAlive(), keep_alive_ms).unref();
    this.#attach(response);
  }

  get has_started(): boolean {
    return this.#has_started;
  }

  get is_over(): boolean {
    return this.#is_over;
  }

  get is_connected(): boolean {
    return this.#response !== null;
  }

  get kept_chars(): number {
    return this.#kept_chars;
  }

  /** Calls this when the client's connection closed, also at the end. */
  onClose(closed: () => void): void {
    this.#closed.add(closed);
  }

  /** From now on all messages are events. */
  start(): void {
    if (this.#has_started || this.#is_over) return;
    this.#has_started = true;
    this.#writeHead();
    if (this.#resumes_after !== null) this.#replay(this.#resumes_after);
    else if (this.#options.primes) {
      this.#response?.write(`retry: ${retry_ms}\n`);
      this.#write("");
    }
  }

  send(line: string): void {
    if (this.#is_over) return;
    this.start();
    this.#write(line);
  }

  /** Sends the last message. `status` counts only if nothing was sent before. */
  finish(line: string, status = 200): void {
    if (this.#is_over) return;
    if (this.#has_started) {
      this.#write(line);
      this.end();
    } else this.refuse(status, { ...this.#options.headers, "content-type": "application/json" }, line);
  }

  /** Answers without events. Returns false if the client already got some. */
  refuse(status: number, headers: Readonly<Record<string, string>>, body: string): boolean {
    if (this.#has_started || this.#is_over) return false;
    this.#over();
    this.#response?.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) }).end(body);
    return true;
  }

  end(): void {
    if (this.#is_over) return;
    this.#over();
    // Without a head, the client must not take the end for an answer.
    if (this.#has_started) this.#response?.end();
    else this.#response?.destroy();
  }

  /** Ends the connection only: the client may come back. */
  disconnect(): void {
    if (this.#has_started) this.#response?.end();
    else this.end();
  }

  /** Takes the connection of a client that comes back after this event. `start` continues the stream. */
  resume(response: ServerResponse, after: number): void {
    const before = this.#response;
    this.#attach(response);
    before?.end();
    this.#has_started = false;
    this.#resumes_after = after;
    if (!this.#is_over) return;
    this.#writeHead();
    this.#replay(after);
    response.end();
  }

  /** Resolves when the client reads fast enough. */
  drained(): Promise<void> | void {
    const response = this.#response;
    if (response?.writableNeedDrain !== true) return;
    return new Promise((resolve) => {
      const settle = (): void => {
        response.off("drain", settle).off("close", settle);
        resolve();
      };
      response.on("drain", settle).on("close", settle);
    });
  }

  #replay(after: number): void {
    for (const { number, text } of this.#kept) if (number > after) this.#response?.write(text);
  }

  #attach(response: ServerResponse): void {
    this.#response = response;
    response.on("error", () => undefined);
    response.once("close", () => {
      if (this.#response !== response) return;
      this.#response = null;
      for (const closed of this.#closed) closed();
    });
  }

  #writeHead(): void {
    this.#response?.writeHead(200, {
      ...this.#options.headers,
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      // So that nginx passes events at once.
      "x-accel-buffering": "no",
    });
    this.#response?.flushHeaders();
  }

  #write(line: string): void {
    const { resumes, id } = this.#options;
    this.#count += 1;
    const text = eventText(resumes ? `${id}-${this.#count}` : null, line);
    this.#response?.write(text);
    if (!resumes) return;
    this.#kept.push({ number: this.#count, text });
    this.#kept_chars += text.length;
    while (this.#kept.length > 1 && this.#kept_chars - text.length > kept_chars_max)
      this.#kept_chars -= this.#kept.shift()?.text.length ?? 0;
  }

  #stayAlive(): void {
    if (this.#has_started) this.#response?.write(": keep-alive\n\n");
    else this.start();
  }

  #over(): void {
    this.#is_over = true;
    clearInterval(this.#keepAlive);
  }
}
