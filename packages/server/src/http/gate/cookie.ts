/** The cookie that holds a session. Source: api.md §9. */
import { type Fault, faultAt } from "@countersign/core";
import { isOwnMachine } from "./local.ts";

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Over https the name carries the `__Host-` prefix, which ties the cookie to this host and to encrypted connections.
 * Browsers refuse that prefix without `Secure`, so on http on the loopback address, for development, it has none.
 */
export interface SessionCookies {
  /** The text of the session in a request's Cookie header; null: there is none. */
  read(headers: Headers): string | null;
  /** The Set-Cookie header that begins a session. */
  set(token: string, max_age_seconds: number): string;
  /** The Set-Cookie header that ends one. */
  clear(): string;
}

const tokenPattern = /^[0-9A-Za-z]{20,128}$/;

/** Cookies of one name. `public_url` is asked at each use: a node that chooses its port learns it late. */
export function sessionCookies(public_url: () => string, name = "countersign_session"): SessionCookies {
  function form(): { readonly name: string; readonly attributes: string } {
    const { protocol, hostname } = new URL(public_url());
    const plain = protocol === "http:" && isOwnMachine(hostname);
    return plain
      ? { name, attributes: "Path=/; HttpOnly; SameSite=Lax" }
      : { name: `__Host-${name}`, attributes: "Path=/; Secure; HttpOnly; SameSite=Lax" };
  }
  return {
    read({ cookie: header }) {
      if (typeof header !== "string") return null;
      const { name } = form();
      const values = header
        .split(";")
        .map((pair) => pair.trim())
        .filter((pair) => pair.startsWith(`${name}=`))
        .map((pair) => pair.slice(name.length + 1));
      // Two of one name: somebody else set one of them.
      const [value] = values;
      return values.length === 1 && value !== undefined && tokenPattern.test(value) ? value : null;
    },
    set(token, max_age_seconds) {
      const { name, attributes } = form();
      return `${name}=${token}; Max-Age=${max_age_seconds}; ${attributes}`;
    },
    clear() {
      const { name, attributes } = form();
      return `${name}=; Max-Age=0; ${attributes}`;
    },
  };
}

/**
 * Whether a write comes from the service's own pages. Browsers say where every write comes from. A write that does not say it is no
 * browser's, and passes only without a cookie.
 */
export function isSameOrigin(headers: Headers, public_url: string): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site === "same-origin";
  const from = headers["origin"];
  if (from === undefined) return headers["cookie"] === undefined;
  if (typeof from !== "string" || !URL.canParse(from)) return false;
  const { origin, protocol, host, hostname } = new URL(from);
  const own = new URL(public_url);
  if (host === own.host) return origin === own.origin;
  // Reached by another name than the public URL's: on this machine without TLS, from elsewhere as the public URL is.
  return host === headers["host"] && protocol === (isOwnMachine(hostname) ? "http:" : own.protocol);
}

/** The fault of a write that does not come from the service's own pages. */
export function crossOrigin(): Fault {
  const message =
    "Without an API key, only the service's own pages may write. A request with a cookie must carry Origin or Sec-Fetch-Site.";
  return faultAt("forbidden", "/Origin", "cross_origin", message);
}
