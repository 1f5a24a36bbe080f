/** The first look at a request: whether its head can be read in one way only. Source: sharp edges of RFC 9112. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Fault, faultAt } from "@countersign/core";

/** Headers that mean something here and can only mean one thing; a second one is a doubt about who reads which. */
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

/** Node stops counting headers at its own limit without a word, so ours has to lie below it. */
const headers_max = 100;

/** Longest head of a request, to be set on the server. */
export const head_bytes_max = 16_384;

/** Node's own limit, to be set on the server: one more than ours, so that too many can be seen. */
export const nodeHeadersMax = headers_max + 1;

/** What a Host header can say: a name or an address, with or without a port. Source: RFC 9112 §3.2, RFC 3986 §3.2. */
const hostForm = /^(?:\[[0-9a-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/i;

/** Connections on which nothing is read as a request any more. */
const doubtful = new WeakSet<Socket>();

/** Whether an earlier request of the same connection had a head in doubt: what follows may be a part of that one. */
export function followsDoubt({ socket }: IncomingMessage): boolean {
  return doubtful.has(socket);
}

/**
 * What is wrong with the head of a request, or null. With a fault its connection ends after the answer: whoever reads such
 * a head otherwise (a proxy) has another end of the request in mind, so what comes next is nobody's request.
 * Source: RFC 9112 §6.1 and §6.3.
 */
export function headFault(request: IncomingMessage, response: ServerResponse): Fault | null {
  const fault = faultOfHead(request);
  if (fault === null) return null;
  doubtful.add(request.socket);
  response.shouldKeepAlive = false;
  return fault;
}

/**
 * Looks only. Node 20 itself lets two Host headers, one that names no host, absolute targets, `Transfer-Encoding: gzip, chunked`,
 * HTTP/0.9 and any number of headers pass (measured).
 */
function faultOfHead(request: IncomingMessage): Fault | null {
  const { headers, rawHeaders, url, httpVersion } = request;
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return malformed("Use HTTP/1.1.");
  if (url === undefined || url.charCodeAt(0) !== 47) return malformed("Send the path as the request target.");
  if (rawHeaders.length > headers_max * 2) return malformed(`Send at most ${headers_max} headers.`);
  if (headers.host === undefined && httpVersion === "1.1") return malformed("Send a Host header.");
  if (headers.host !== undefined && !hostForm.test(headers.host)) return malformed("Send a name as Host.");
  const encoding = headers["transfer-encoding"];
  if (encoding !== undefined && (encoding.toLowerCase() !== "chunked" || httpVersion !== "1.1")) {
    return malformed("Send no Transfer-Encoding but chunked.");
  }
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== "100-continue") {
    return malformed("Expect nothing but 100-continue.");
  }
  return repeatsAny(rawHeaders) ? malformed("Send each of the headers that govern the request once.") : null;
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
