import { etagOf } from "./answer/etag.ts";

export interface Served {
  readonly status: 200 | 404;
  readonly headers: readonly string[];
  readonly type: string;
  readonly body: Buffer;
  readonly etag: string;
  readonly cache: string;
  /** Compressed at the first request. Null: compression does not pay. */
  zipped: Buffer | null | undefined;
}

const contentTypes: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  png: "image/png",
  woff2: "font/woff2",
  json: "application/json; charset=utf-8",
  txt: "text/plain; charset=utf-8",
};

const securityHeaders: readonly string[] = [
  "X-Frame-Options",
  "DENY",
  "X-Content-Type-Options",
  "nosniff",
  "Referrer-Policy",
  "no-referrer",
  "Cross-Origin-Opener-Policy",
  "same-origin",
  "Cross-Origin-Resource-Policy",
  "same-origin",
  "Permissions-Policy",
  "camera=(), microphone=(), geolocation=(), payment=(), usb=(), clipboard-write=(self)",
];

/** `policy`: the content security policy. */
export function servedFile(path: string, body: Buffer, policy: string, status: Served["status"] = 200): Served {
  const type = contentTypes[path.slice(path.lastIndexOf(".") + 1)] ?? "application/octet-stream";
  // Names under /assets contain a hash of the content.
  const cache = path.startsWith("/assets/") ? "public, max-age=31536000, immutable" : "no-cache";
  const headers = ["Content-Security-Policy", policy, ...securityHeaders];
  return { status, headers, type, body, etag: etagOf(body), cache, zipped: undefined };
}
