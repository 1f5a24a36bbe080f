import type { IncomingMessage } from "node:http";
import { isLoopback, isTrusted, type NetworkList } from "@countersign/core";

/** Headers with which a proxy marks a forwarded request. */
const forwarding = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"] as const;

const localHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/**
 * Returns true if the request comes from this machine. A loopback peer alone is not enough, for two reasons. A reverse
 * proxy on this machine forwards requests of others. A web page with a name rebound to 127.0.0.1 sends requests through
 * the user's browser. Forwarding headers reveal a proxy. So does HTTP/1.0, which nginx uses by default, without such
 * headers and with our own address as Host. The Host header reveals a rebound name.
 */
export function isLocal(request: IncomingMessage): boolean {
  if (!isLoopback(request.socket.remoteAddress ?? "")) return false;
  if (request.httpVersion === "1.0") return false;
  if (!localHost.test(request.headers.host ?? "")) return false;
  return forwarding.every((name) => request.headers[name] === undefined);
}

/**
 * Returns true if a declared proxy may have forwarded a request of this peer: the peer is one, or the public URL is not
 * on this machine. A forwarded request may look like a local one.
 */
export function mayBeForwarded(peer: string, trust: NetworkList, public_url: string): boolean {
  return isTrusted(peer, trust) || !isOwnMachine(new URL(public_url).hostname);
}

/** Returns true if a URL's host is this machine. */
export function isOwnMachine(hostname: string): boolean {
  return hostname === "localhost" || isLoopback(hostname.replace(/^\[|\]$/g, ""));
}
