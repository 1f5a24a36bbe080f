/** Refuses requests of web pages that a browser was tricked into sending (DNS rebinding). */
import type { IncomingHttpHeaders } from "node:http";

export interface GuardOptions {
  /** Host names, without ports. */
  readonly hosts: readonly string[];
  /** Complete origins, such as `https://app.example`. */
  readonly origins: readonly string[];
}

/** Returns why a request is refused, or null. */
export function foreignPart({ hosts, origins }: GuardOptions, { host, origin }: IncomingHttpHeaders): string | null {
  if (!hosts.includes(hostName(host ?? ""))) return "This host name is not allowed. Allow it with --allow-host.";
  if (origin !== undefined && !isSameHost(origin, host) && !origins.includes(origin.toLowerCase()))
    return "This origin is not allowed. Allow it with --allow-origin.";
  return null;
}

/** Pages of the proxy's own address may use it. */
function isSameHost(origin: string, host: string | undefined): boolean {
  return URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
}

const hostName = (host: string): string => host.toLowerCase().replace(/:\d+$/, "");

/** Lets pages of an allowed origin read the answer. */
export function originHeaders({ origin }: IncomingHttpHeaders): Readonly<Record<string, string>> {
  if (origin === undefined) return {};
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": "Mcp-Session-Id, WWW-Authenticate",
    vary: "Origin",
  };
}

/** Answers a browser that asks before it sends a page's request. */
export function preflightHeaders(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  const asked = headers["access-control-request-headers"];
  return {
    "access-control-allow-methods": "POST, GET, DELETE",
    ...(asked !== undefined && { "access-control-allow-headers": asked }),
    "access-control-max-age": "600",
  };
}
