/** Writes answers in one piece with a flat list of headers, which is Node's fastest way. */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Fault } from "@countersign/core";
import type { Answer } from "../handler.ts";
import { limitUnread, startLimit } from "../request/unread.ts";
import { etagOf, isNamedBy } from "./etag.ts";
import { faultOf, type Refusal, refusalOf } from "./faults.ts";
import { pushRateHeaders, type RateUse } from "./rate-limit.ts";

const json_type = "application/json; charset=utf-8";

export interface Reply {
  readonly status: number;
  readonly text: string | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** `conditional`: the reply gets a strong ETag, and a request that names it gets 304. */
export function replyTo(answer: Answer, conditional: boolean, request: IncomingMessage): Reply {
  const text = answer.json_text ?? (answer.body === undefined ? null : JSON.stringify(answer.body));
  const headers = answer.headers ?? {};
  if (!conditional || text === null || answer.status !== 200) return { status: answer.status, text, headers };
  const etag = etagOf(text);
  // With `wait` the answer differs by time, so a private cache must revalidate it.
  const tagged = { ...headers, ETag: etag, "Cache-Control": "private, no-cache" };
  return isNamedBy(etag, request.headers["if-none-match"])
    ? { status: 304, text: null, headers: tagged }
    : { status: answer.status, text, headers: tagged };
}

export function writeReply(response: ServerResponse, reply: Reply, request_id: string, use: RateUse | null): void {
  const head = headOf(request_id, use, reply.headers);
  if (!("Cache-Control" in reply.headers)) head.push("Cache-Control", "no-store");
  if (reply.text === null) {
    response.writeHead(reply.status, head).end();
    return;
  }
  if (!("Content-Type" in reply.headers)) head.push("Content-Type", json_type);
  writeText(response, reply.status, head, reply.text);
}

/** Writes an answer in pieces. Resolves with the fault that ended it, or null. Returns null for an answer in one piece. */
export function writePieces(
  response: ServerResponse,
  answer: Answer,
  request_id: string,
  use: RateUse | null,
): Promise<Fault | null> | null {
  const { lines, file } = answer;
  if (lines !== undefined) return writeLines(response, { ...answer, lines }, request_id, use);
  return file === undefined ? null : writeFile(response, { ...answer, file }, request_id, use);
}

/** Writes an answer line by line, at the reader's pace. Resolves with the fault that ended it, or null. */
export async function writeLines(
  response: ServerResponse,
  { status, headers = {}, lines }: Answer & { readonly lines: AsyncIterable<string> },
  request_id: string,
  use: RateUse | null,
): Promise<Fault | null> {
  const head = headOf(request_id, use, headers);
  head.push("Cache-Control", "no-store", "Content-Type", "application/x-ndjson; charset=utf-8");
  response.writeHead(status, head);
  response.flushHeaders();
  let fault: Fault | null = null;
  try {
    for await (const line of lines) {
      if (response.destroyed) break;
      if (!response.write(`${line}\n`)) await untilRead(response);
    }
  } catch (error) {
    fault = faultOf(error);
    if (!response.destroyed) response.write(`${refusalOf(fault, request_id).json_text}\n`);
  }
  response.end();
  return fault;
}

/** Writes a file at the reader's pace. Resolves with the fault that broke the connection, or null. */
async function writeFile(
  response: ServerResponse,
  { status, headers = {}, file }: Answer & { readonly file: AsyncIterable<Uint8Array> },
  request_id: string,
  use: RateUse | null,
): Promise<Fault | null> {
  const head = headOf(request_id, use, headers);
  if (!("Cache-Control" in headers)) head.push("Cache-Control", "no-store");
  response.writeHead(status, head);
  response.flushHeaders();
  try {
    for await (const piece of file) {
      if (response.destroyed) break;
      if (!response.write(piece)) await untilRead(response);
    }
  } catch (error) {
    // Without the last chunk, every HTTP client reports that the answer is incomplete.
    response.destroy();
    return faultOf(error);
  }
  response.end();
  return null;
}

export function writeRefusal(
  response: ServerResponse,
  refusal: Refusal,
  request_id: string,
  use: RateUse | null,
): void {
  const head = headOf(request_id, use, refusal.headers);
  head.push("Cache-Control", "no-store", "Content-Type", json_type);
  writeText(response, refusal.status, head, refusal.json_text);
}

const ascii = /^[\x20-\x7e]*$/;

function headOf(request_id: string, use: RateUse | null, headers: Readonly<Record<string, string>>): string[] {
  const head = ["X-Request-Id", request_id, "X-Content-Type-Options", "nosniff"];
  if (use !== null) pushRateHeaders(head, use);
  for (const name in headers) head.push(name, headers[name] as string);
  return head;
}

function writeText(response: ServerResponse, status: number, head: string[], text: string): void {
  const bytes = Buffer.byteLength(text);
  head.push("Content-Length", String(bytes));
  // Node writes a head in the encoding of a text after it, which changes other characters of a client's X-Request-ID.
  const is_plain = ascii.test(head[1] as string);
  // `end` omits the body for HEAD.
  response.writeHead(status, head).end(is_plain ? text : Buffer.from(text));
  limitUnread(response, bytes);
}

/** Resolves when the client has read the written bytes, or has left. */
async function untilRead(response: ServerResponse): Promise<void> {
  const done = new AbortController();
  const endLimit = startLimit(response, response.writableLength);
  try {
    await Promise.race(["drain", "close"].map((event) => once(response, event, { signal: done.signal })));
  } finally {
    done.abort();
    endLimit();
  }
}
