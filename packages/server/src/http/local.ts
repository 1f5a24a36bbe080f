import type { IncomingMessage } from "node:http";
import { isLoopback } from "@countersign/core";

/** Headers by which a proxy says that it speaks for somebody else. */
const forwarding = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"] as const;

const localHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/**
 * True when the request comes from this very machine. A loopback peer alone does not show that: a reverse proxy on the
 * same machine brings strangers in, and a web page whose name was rebound to 127.0.0.1 reaches us through the user's
 * browser. The first shows in forwarding headers, the second in Host.
 */
export function isLocal(request: IncomingMessage): boolean {
  if (!isLoopback(request.socket.remoteAddress ?? "")) return false;
  if (!localHost.test(request.headers.host ?? "")) return false;
  return forwarding.every((name) => request.headers[name] === undefined);
}
