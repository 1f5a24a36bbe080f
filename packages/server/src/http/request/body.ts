/** Reads the body of a request as a JSON value. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { limits, type Operation } from "@countersign/contract";
import { Fault, faultAt } from "@countersign/core";
import { createTurns } from "../../operations/shared/turns.ts";
import { roomForBody } from "./body-budget.ts";

/**
 * `application/json` without a charset or with UTF-8 (also `utf8`, as some clients write it). Other parameters are
 * ignored. Not a prefix match, because `application/jsonx` is another type.
 */
const jsonType = /^application\/json[ \t]*(?:;(?![^"]*charset[ \t]*=[ \t]*(?!"utf-?8"|utf-?8(?:[; \t]|$)))|$)/i;

/**
 * Returns the bytes of a body of `operation`. Reads nothing that cannot be accepted. `holder`: the caller that a large
 * body counts for. Faults: unsupported_media_type, payload_too_large, overloaded. Rejects with `ClientGone` if the
 * client leaves before its body is complete.
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
  // Without a listener Node answers 100 itself, but a client must pass the gate first.
  if (headers.expect !== undefined) response.writeContinue();
  const sent = await readBytes(request, bytes_max, roomForBody(response, holder), holder);
  return sent.length === 0 && (operation.body_optional ?? operation.body === undefined) ? Buffer.from("{}") : sent;
}

/** Returns true if the head of a request says that no body follows. */
export function hasNoBody({ headers }: IncomingMessage): boolean {
  const length = headers["content-length"];
  return length === "0" || (length === undefined && headers["transfer-encoding"] === undefined);
}

/** The client closed the connection, or was disconnected for being slow, before its request was complete. */
export class ClientGone extends Error {}

/** Reads the body. `takeRoom` is called with the bytes that have arrived, before they are kept. */
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
    // The client left during the gate's work, so no event will follow.
    if (request.destroyed && !request.complete) return onGone();
    request.on("data", onData).on("end", onEnd).on("close", onGone).on("error", onGone);
  });
}

/**
 * Bodies that were completed in one turn of the event loop are passed on together, after the last one. One by one,
 * between reads from sockets, a decision took 20 % more time. With all 64 connections in one turn, the database and this
 * thread worked in turns instead of in parallel. That cost 10 % of the decisions, and objects lived longer: 276 MiB
 * resident instead of 192. So at most 16 are passed on in one turn.
 */
const handOn = createTurns(16);

/**
 * Reads and drops the rest of a refused body, so that a client that is still sending gets the answer. Reads one chunk
 * of each body a turn. Node would read 2 MiB of each connection at once, and a hundred refused batches blocked the
 * thread for 80 ms (measured).
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
