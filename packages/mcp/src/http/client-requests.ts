/** The HTTP requests of clients: what the proxy reads in them, and how it refuses them. */
import { createHash } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { errorCodes, isMessage, type Message, refusal } from "../protocol/messages.ts";
import { BodyTooLong, type Headers, mediaType, textOf } from "./remote.ts";

/** As in the protocol's own packages. */
const body_bytes_max = 4 * 1_048_576;

/** Clients share reviews only if these are equal. */
const credentialHeaders = ["authorization", "x-api-key"];

/** Refuses a client's request. */
export class Refused extends Error {
  readonly status: number;
  readonly body: object;
  readonly headers: Headers;

  constructor(status: number, code: number, message: string, about: { id?: Message["id"]; headers?: Headers } = {}) {
    super(message);
    this.status = status;
    this.body = refusal(about.id ?? null, code, message);
    this.headers = about.headers ?? {};
  }
}

/** Returns the headers with these names. */
export function picked(headers: IncomingHttpHeaders, names: readonly string[]): Headers {
  return Object.fromEntries(
    names.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  );
}

/** Returns a hash: the credentials themselves are not kept. */
export function credentialsIn(headers: IncomingHttpHeaders): string {
  const credentials = JSON.stringify(credentialHeaders.map((name) => headers[name] ?? null));
  return createHash("sha256").update(credentials).digest("hex");
}

/** Throws `Refused` if the client does not take all of these types. */
export function checkAccept(accept: string | undefined, types: readonly string[]): void {
  const accepted = (accept ?? "").toLowerCase();
  if (accepted.includes("*/*") || types.every((type) => accepted.includes(type))) return;
  throw new Refused(406, errorCodes.invalid_request, `The header Accept must name ${types.join(" and ")}.`);
}

/** Returns the one message in a POST request, and its text. Throws `Refused`. */
export async function messageOf(request: IncomingMessage): Promise<{ message: Message; text: string }> {
  const { headers } = request;
  if (mediaType(headers) !== "application/json" || headers["content-encoding"] !== undefined)
    throw new Refused(415, errorCodes.invalid_request, "Send JSON (Content-Type: application/json), not compressed.");
  checkAccept(headers.accept, ["application/json", "text/event-stream"]);
  const text = await bodyOf(request);
  return { message: messageIn(text), text };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const too_long = `The body is longer than ${body_bytes_max} bytes.`;
  if (Number(request.headers["content-length"] ?? 0) > body_bytes_max)
    throw new Refused(413, errorCodes.invalid_request, too_long);
  try {
    return await textOf(request.iterator({ destroyOnReturn: false }), body_bytes_max);
  } catch (error) {
    if (error instanceof BodyTooLong) throw new Refused(413, errorCodes.invalid_request, too_long);
    if (error instanceof TypeError) throw new Refused(400, errorCodes.parse_error, "The body is not UTF-8.");
    throw error;
  }
}

function messageIn(text: string): Message {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    throw new Refused(400, errorCodes.parse_error, "The body is not JSON.");
  }
  if (Array.isArray(read))
    throw new Refused(400, errorCodes.invalid_request, "Send one message in each request: there are no batches.");
  if (!isMessage(read)) throw new Refused(400, errorCodes.invalid_request, "This is not a message of JSON-RPC 2.0.");
  return read;
}
