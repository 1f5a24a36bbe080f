import { type Fault, faultAt, readUrl } from "@countersign/core";
import { isOwnMachine } from "./local.ts";

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Over https the name has the `__Host-` prefix, which ties the cookie to this host. Browsers refuse the prefix without
 * `Secure`, so plain http on loopback has none.
 */
export interface SessionCookies {
  /** Null: there is no session. */
  read(headers: Headers): string | null;
  /** Returns a Set-Cookie header. */
  set(token: string, max_age_seconds: number): string;
  /** Returns a Set-Cookie header. */
  clear(): string;
}

const tokenPattern = /^[0-9A-Za-z]{20,128}$/;

/** A node with a free port knows its URL late. */
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
      // Two cookies with one name: another site or program has set one.
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
 * True: a write comes from the service's own pages. Browsers send the origin of every write. A write without it is not
 * from a browser, and passes only without a cookie.
 */
export function isSameOrigin(headers: Headers, public_url: string): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site === "same-origin";
  const from = headers["origin"];
  if (from === undefined) return headers["cookie"] === undefined;
  const url = typeof from === "string" ? readUrl(from) : null;
  if (url === null) return false;
  const { origin, protocol, host, hostname } = url;
  const own = new URL(public_url);
  if (host === own.host) return origin === own.origin;
  // The host may differ from the public URL's. On this machine the scheme is http.
  return host === headers["host"] && protocol === (isOwnMachine(hostname) ? "http:" : own.protocol);
}

export function crossOrigin(): Fault {
  const message =
    "Without an API key, only the service's own pages may write. A request with a cookie must carry Origin or Sec-Fetch-Site.";
  return faultAt("forbidden", "/Origin", "cross_origin", message);
}
