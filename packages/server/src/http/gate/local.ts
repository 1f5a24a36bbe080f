import type { IncomingMessage } from "node:http";
import { isLoopback, isTrusted, type NetworkList } from "@countersign/core";

/** Headers by which a proxy says that it speaks for somebody else. */
const forwarding = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"] as const;

const localHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/**
 * True when the request comes from this very machine. A loopback peer alone does not show that: a reverse proxy on the
 * same machine brings strangers in, and a web page whose name was rebound to 127.0.0.1 reaches us through the user's
 * browser. The first shows in forwarding headers, and in HTTP/1.0, which nginx speaks unless told otherwise, without such
 * headers and with our own address as Host; the second shows in Host.
 */
export function isLocal(request: IncomingMessage): boolean {
  if (!isLoopback(request.socket.remoteAddress ?? "")) return false;
  if (request.httpVersion === "1.0") return false;
  if (!localHost.test(request.headers.host ?? "")) return false;
  return forwarding.every((name) => request.headers[name] === undefined);
}

/**
 * Whether this node was told of a proxy that a request of this peer may have come through: the peer is a declared one, or the
 * public URL is not on this machine. Such a proxy may hand a stranger's request on just as this machine would send one.
 */
export function mayBeForwarded(peer: string, trust: NetworkList, public_url: string): boolean {
  return isTrusted(peer, trust) || !isOwnMachine(new URL(public_url).hostname);
}

/** Whether a URL's host is this machine. */
export function isOwnMachine(hostname: string): boolean {
  return hostname === "localhost" || isLoopback(hostname.replace(/^\[|\]$/g, ""));
}
