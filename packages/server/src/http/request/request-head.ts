/** Refuses heads that can be read in several ways (RFC 9112). */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Fault, faultAt } from "@countersign/core";

/** A proxy could read two headers of one such name differently. */
const single = new Set([
  "host",
  "content-type",
  "content-length",
  "content-encoding",
  "transfer-encoding",
  "authorization",
  "x-api-key",
  "idempotency-key",
  "expect",
]);

/** Below Node's limit, at which Node silently stops counting. */
const headers_max = 100;

export const head_bytes_max = 16_384;

export const nodeHeadersMax = headers_max + 1;

/** See RFC 9112, section 3.2, and RFC 3986, section 3.2. */
const hostForm = /^(?:\[[0-9a-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/i;

/** Connections on which no further request is read. */
const doubtful = new WeakSet<Socket>();

/** True: an earlier head was ambiguous, so these bytes may be a part of that request. */
export function followsDoubt({ socket }: IncomingMessage): boolean {
  return doubtful.has(socket);
}

/**
 * Null: no problem. After a fault the connection ends, because a proxy may read another end of the request. See RFC
 * 9112, sections 6.1 and 6.3.
 */
export function headFault(request: IncomingMessage, response: ServerResponse): Fault | null {
  const fault = faultOfHead(request);
  if (fault === null) return null;
  doubtful.add(request.socket);
  response.shouldKeepAlive = false;
  return fault;
}

/** Refuses what Node 20 accepts, such as two Host headers or `Transfer-Encoding: gzip, chunked`. */
function faultOfHead(request: IncomingMessage): Fault | null {
  const { headers, rawHeaders, url, httpVersion } = request;
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return malformed("Use HTTP/1.1.");
  if (url === undefined || url.charCodeAt(0) !== 47) return malformed("Send the path as the request target.");
  if (rawHeaders.length > headers_max * 2) return malformed(`Send at most ${headers_max} headers.`);
  if (headers.host === undefined && httpVersion === "1.1") return malformed("Send a Host header.");
  if (headers.host !== undefined && !hostForm.test(headers.host)) return malformed("Send a host name as Host.");
  const encoding = headers["transfer-encoding"];
  if (encoding !== undefined && (encoding.toLowerCase() !== "chunked" || httpVersion !== "1.1")) {
    return malformed("Send no Transfer-Encoding other than chunked.");
  }
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== "100-continue") {
    return malformed("Send no Expect other than 100-continue.");
  }
  return repeatsAny(rawHeaders) ? malformed("Send each header that controls the request at most once.") : null;
}

function malformed(message: string): Fault {
  return faultAt("invalid_request", "", "bad_format", message);
}

function repeatsAny(rawHeaders: readonly string[]): boolean {
  let seen: string[] | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] as string).toLowerCase();
    if (!single.has(name)) continue;
    if (seen === undefined) seen = [name];
    else if (seen.includes(name)) return true;
    else seen.push(name);
  }
  return false;
}
