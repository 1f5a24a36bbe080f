import type { IncomingMessage } from "node:http";
import { isLoopback, isTrusted, type NetworkList } from "@countersign/core";

const forwarding = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"] as const;

const localHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/**
 * True: the request comes from this machine. A loopback peer is not enough, because of reverse proxies and of names
 * rebound to 127.0.0.1. Forwarding headers reveal a proxy. So does HTTP/1.0, nginx's default without such headers. The
 * Host header reveals a rebound name.
 */
export function isLocal(request: IncomingMessage): boolean {
  if (!isLoopback(request.socket.remoteAddress ?? "")) return false;
  if (request.httpVersion === "1.0") return false;
  if (!localHost.test(request.headers.host ?? "")) return false;
  return forwarding.every((name) => request.headers[name] === undefined);
}

/** True: a declared proxy may have forwarded a request that looks local. */
export function mayBeForwarded(peer: string, trust: NetworkList, public_url: string): boolean {
  return isTrusted(peer, trust) || !isOwnMachine(new URL(public_url).hostname);
}

export function isOwnMachine(hostname: string): boolean {
  return hostname === "localhost" || isLoopback(hostname.replace(/^\[|\]$/g, ""));
}
