import type { IncomingMessage, ServerResponse } from "node:http";
import { limits, type Operation } from "@countersign/contract";
import { Fault, faultAt } from "@countersign/core";
import { createTurns } from "../../operations/shared/turns.ts";
import { roomForBody } from "./body-budget.ts";

/**
 * `application/json` without a charset or with UTF-8 (some clients write `utf8`). `application/jsonx` is another type.
 */
const jsonType = /^application\/json[ \t]*(?:;(?![^"]*charset[ \t]*=[ \t]*(?!"utf-?8"|utf-?8(?:[; \t]|$)))|$)/i;
const formType = /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i;

/**
 * Reads nothing that cannot be accepted. `holder`: the caller that a large body counts for. Faults:
 * unsupported_media_type, payload_too_large, overloaded. Rejects with `ClientGone` if the client leaves.
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
  const accepted = operation.form === true ? formType : jsonType;
  if (type === undefined ? !empty : !accepted.test(type)) throw notDeclaredJson(operation);
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    const code = operation.standard === "authzen" ? "invalid_request" : "unsupported_media_type";
    throw faultAt(code, "", "not_allowed", "Send the body without Content-Encoding.");
  }
  if (length !== undefined && Number(length) > bytes_max) throw tooLarge(bytes_max);
  // A client must pass the gate before it gets a 100.
  if (headers.expect !== undefined) response.writeContinue();
  const sent = await readBytes(request, bytes_max, roomForBody(response, holder), holder);
  if (operation.form === true) return sent;
  return sent.length === 0 && (operation.body_optional ?? operation.body === undefined) ? Buffer.from("{}") : sent;
}

/** AuthZEN answers 400. */
function notDeclaredJson({ standard }: Operation): Fault {
  if (standard !== "authzen") return new Fault("unsupported_media_type");
  return faultAt("invalid_request", "/Content-Type", "not_allowed", "Send Content-Type: application/json.");
}

export function hasNoBody({ headers }: IncomingMessage): boolean {
  const length = headers["content-length"];
  return length === "0" || (length === undefined && headers["transfer-encoding"] === undefined);
}

/** The client left, or was disconnected for being slow. */
export class ClientGone extends Error {}

/** Calls `takeRoom` with arrived bytes before they are kept. */
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
      passOn(() => resolve(whole()), bytes, holder());
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
 * Bodies of one turn of the event loop are passed on together, because one by one a decision took 20 % more time. At
 * most 16, because 64 kept the database and this thread from working in parallel (10 % fewer decisions).
 */
const passOn = createTurns(16);

/**
 * Drops the rest of a refused body, so that a sending client gets the answer. Reads one chunk of each body a turn,
 * because a hundred refused batches blocked the thread for 80 ms.
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
