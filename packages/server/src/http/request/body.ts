/** The body of a request as a JSON value. Source: api.md §2. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { limits, type Operation } from "@countersign/contract";
import { Fault, faultAt } from "@countersign/core";
import { createTurns } from "../../operations/shared/turns.ts";
import { roomForBody } from "./body-budget.ts";

/**
 * `application/json`, with no charset or UTF-8 (`utf8`, as some clients write it); other parameters are let be. Not a prefix match:
 * `application/jsonx` is none.
 */
const jsonType = /^application\/json[ \t]*(?:;(?![^"]*charset[ \t]*=[ \t]*(?!"utf-?8"|utf-?8(?:[; \t]|$)))|$)/i;

/**
 * The bytes of a body of `operation`. Reads nothing that cannot be accepted. `holder`: whom a large body counts for. Faults:
 * unsupported_media_type, payload_too_large, overloaded. Rejects with `ClientGone` when the client leaves before its body is
 * complete.
 */
export async function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  operation: Operation,
  holder: () => string,
): Promise<Buffer> {
  const bytes_max = operation.body_bytes_max ?? limits.small_body_bytes_max;
  const { headers } = request;
  const length = headers["content-length"];
  const empty = hasNoBody(request);
  const type = headers["content-type"];
  if (type === undefined ? !empty : !jsonType.test(type)) throw new Fault("unsupported_media_type");
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    throw faultAt("unsupported_media_type", "", "not_allowed", "Send the body without Content-Encoding.");
  }
  if (length !== undefined && Number(length) > bytes_max) throw tooLarge(bytes_max);
  // Node answers 100 itself unless somebody listens; the gate has to be passed before a client is told to go on.
  if (headers.expect !== undefined) response.writeContinue();
  const sent = await readBytes(request, bytes_max, roomForBody(response, holder), holder);
  return sent.length === 0 && (operation.body_optional ?? operation.body === undefined) ? Buffer.from("{}") : sent;
}

/** Whether the head of a request says that no body follows. */
export function hasNoBody({ headers }: IncomingMessage): boolean {
  const length = headers["content-length"];
  return length === "0" || (length === undefined && headers["transfer-encoding"] === undefined);
}

/** The client closed the connection, or was cut off for being slow, before its request was complete. */
export class ClientGone extends Error {}

/** `takeRoom` is told of what has arrived before it is kept. */
function readBytes(
  request: IncomingMessage,
  bytes_max: number,
  takeRoom: (arrived: number) => void,
  holder: () => string,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      try {
        if (bytes > bytes_max) throw tooLarge(bytes_max);
        takeRoom(bytes);
        chunks.push(chunk);
      } catch (fault) {
        stop();
        request.pause();
        reject(fault);
      }
    };
    const onEnd = (): void => {
      stop();
      const whole = () => (chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes));
      handOn(() => resolve(whole()), bytes, holder());
    };
    const onGone = (): void => {
      stop();
      reject(new ClientGone("the client left before its body was complete"));
    };
    function stop(): void {
      request.off("data", onData).off("end", onEnd).off("close", onGone);
    }
    // A client that left while it was admitted says nothing more.
    if (request.destroyed && !request.complete) return onGone();
    request.on("data", onData).on("end", onEnd).on("close", onGone).on("error", onGone);
  });
}

/**
 * Bodies that were completed in one turn of the event loop are handed on together, after the last one: one by one, between reads
 * from sockets, a decision took a fifth more time. With all of 64 connections in one turn the database and this thread worked by
 * turns instead of side by side (a tenth fewer decisions, and objects that live longer: 276 MiB resident in place of 192).
 */
const handOn = createTurns(16);

/**
 * Reads and drops what still comes of a refused body, so that a client that is busy sending gets to see the answer. Of each body one
 * chunk a turn: Node would take 2 MiB of each connection at once, and a hundred refused batches held everybody up for 80 ms (measured).
 */
export function dropRest(request: IncomingMessage): void {
  if (request.complete) return;
  request.on("data", () => {
    request.pause();
    setImmediate(() => request.resume());
  });
  request.resume();
}

function tooLarge(bytes_max: number): Fault {
  return new Fault("payload_too_large", { details: [{ body_bytes_max: bytes_max }] });
}
