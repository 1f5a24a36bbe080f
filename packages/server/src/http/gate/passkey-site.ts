import { isIP } from "node:net";
import { faultAt } from "@countersign/core";
import type { PasskeySite } from "../../sign-in-ports.ts";
import type { OperationRequest } from "../handler.ts";

/**
 * Returns where the caller's passkeys belong. Browsers support passkeys for names only. On a loopback address the page
 * must be opened as localhost. Faults: state_conflict.
 */
export function passkeySite(public_url: string, host: OperationRequest["headers"][string]): PasskeySite {
  const { protocol, hostname, port, origin } = new URL(public_url);
  if (isIP(hostname.replace(/^\[|\]$/g, "")) === 0) return { origin, host: hostname };
  const local = port === "" ? "localhost" : `localhost:${port}`;
  if (host === local) return { origin: `${protocol}//${local}`, host: "localhost" };
  const message = `Browsers do not support passkeys for IP addresses: open ${protocol}//${local}, or set COUNTERSIGN_PUBLIC_URL.`;
  throw faultAt("state_conflict", "", "no_name", message);
}
