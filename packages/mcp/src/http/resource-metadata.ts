/**
 * Protected resource metadata (RFC 9728). Clients refuse metadata of another address than the one they use, so the proxy
 * replaces the remote server's origin with its own. The authorization server stays the same.
 */
import type { IncomingHttpHeaders } from "node:http";
import { isObject, objectIn } from "../protocol/messages.ts";

const well_known = "/.well-known/oauth-protected-resource";

/** Returns the origin by which a client knows the proxy. */
export function ownOrigin(headers: IncomingHttpHeaders): string {
  return `${headers["x-forwarded-proto"] === "https" ? "https" : "http"}://${headers.host ?? ""}`;
}

/** Returns the document with the proxy's own address as the resource. */
export function ownMetadata(text: string, remote: URL, own: string): string {
  const document = objectIn(text);
  const { resource } = document ?? {};
  if (!isObject(document) || typeof resource !== "string") return text;
  return JSON.stringify({ ...document, resource: moved(resource, remote, own) });
}

/** Addresses that a server's challenges name, besides those of the standard. */
const named_max = 16;

/** Where a server has its metadata: where the standard says, and where its challenges say. */
export class MetadataPaths {
  readonly #endpoint: URL;
  readonly #named = new Set<string>();

  constructor(endpoint: URL) {
    this.#endpoint = endpoint;
  }

  has(path: string): boolean {
    return path === well_known || path === `${well_known}${this.#endpoint.pathname}` || this.#named.has(path);
  }

  /** Returns the header `WWW-Authenticate` with the proxy's own address of the metadata. */
  ownChallenge(challenge: string, own: string): string {
    return challenge.replaceAll(/(resource_metadata=)("[^"]*"|[^\s,"]+)/gi, (all, name: string, value: string) => {
      const url = value.replaceAll('"', "");
      return this.#takes(url) ? `${name}"${moved(url, this.#endpoint, own)}"` : all;
    });
  }

  /** The proxy passes on metadata of the server's own origin only. */
  #takes(address: string): boolean {
    if (!URL.canParse(address)) return false;
    const { origin, pathname, search } = new URL(address);
    if (origin !== this.#endpoint.origin) return false;
    if (this.has(pathname)) return true;
    if (pathname === this.#endpoint.pathname || search !== "" || this.#named.size === named_max) return false;
    this.#named.add(pathname);
    return true;
  }
}

function moved(address: string, remote: URL, own: string): string {
  if (!URL.canParse(address)) return address;
  const { origin, pathname, search } = new URL(address);
  return origin === remote.origin
    ? `${own}${pathname === "/" && !address.endsWith("/") ? "" : pathname}${search}`
    : address;
}
