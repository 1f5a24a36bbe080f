/**
 * Serves the console's files over HTTP. They are a closed set in memory, read at the start. No path of a request
 * reaches a file system, so path traversal is impossible.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { etagOf, isNamedBy } from "./answer/etag.ts";
import { limitUnread } from "./request/unread.ts";

/** The built console: content by path as in the URL (`/assets/main-Ab3d.js`). */
export type ConsoleFiles = ReadonlyMap<string, Buffer>;

/** One file, ready to be sent. */
interface Served {
  readonly type: string;
  readonly body: Buffer;
  readonly etag: string;
  readonly cache: string;
  /** Compressed at the first request. Null: compression does not pay. */
  zipped: Buffer | null | undefined;
}

/** The console of a node. */
export interface Console {
  /** Returns the file for this request. Null: the request is not for the console. */
  find(request: IncomingMessage): Served | null;
  /** Writes the file. Returns the status. */
  send(request: IncomingMessage, response: ServerResponse, served: Served, request_id: string): number;
}

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  json: "application/json; charset=utf-8",
  txt: "text/plain; charset=utf-8",
};

/** Paths of the API and of operating. A page there would hide a mistyped call. */
const notPages = /^\/(?:v1|healthz|readyz|metrics|openapi\.json|assets)(?:\/|$)/;

/**
 * No inline code, no eval, no content from other hosts, no framing. `data:` images are the QR code of TOTP. Trusted
 * Types block the DOM's ways from text to markup, so that a hostile payload cannot become markup by mistake.
 */
const securityHeaders: readonly string[] = [
  "Content-Security-Policy",
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
    "manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'",
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

/** Creates the console. Null: it was not built. */
export function createConsole(files: ConsoleFiles | null): Console | null {
  const index = files?.get("/index.html");
  if (files === null || index === undefined) return null;
  const served = new Map<string, Served>();
  for (const [path, body] of files) {
    const type = types[path.slice(path.lastIndexOf(".") + 1)] ?? "application/octet-stream";
    // The names under /assets contain a hash of the content, so the content of a name never changes.
    const cache = path.startsWith("/assets/") ? "public, max-age=31536000, immutable" : "no-cache";
    served.set(path, { type, body, etag: etagOf(body), cache, zipped: undefined });
  }
  const page = served.get("/index.html") as Served;

  return {
    find(request) {
      if (request.method !== "GET" && request.method !== "HEAD") return null;
      const path = (request.url ?? "").split("?", 1)[0] as string;
      const file = served.get(path);
      if (file !== undefined) return file;
      // Mail programs open the address of the unsubscribe header. The page asks the user first, because programs that
      // follow links open it, too.
      if (path === "/" || path === "/v1/unsubscribe") return page;
      // Any other address that a person opens is a page of the console. Programs do not ask for HTML.
      const wanted = request.headers.accept?.includes("text/html") === true;
      return wanted && !notPages.test(path) && !/\.[a-z0-9]{1,8}$/i.test(path) ? page : null;
    },

    send(request, response, file, request_id) {
      const head = ["X-Request-Id", request_id, ...securityHeaders, "Cache-Control", file.cache, "ETag", file.etag];
      head.push("Vary", "Accept-Encoding");
      if (isNamedBy(file.etag, request.headers["if-none-match"])) {
        response.writeHead(304, head).end();
        return 304;
      }
      head.push("Content-Type", file.type);
      let body = file.body;
      if (/(?:^|,)\s*gzip\s*(?:,|;(?!\s*q=0(?:\.0*)?\s*(?:,|$))|$)/i.test(String(request.headers["accept-encoding"]))) {
        if (file.zipped === undefined) file.zipped = body.length < 1_024 ? null : gzipSync(body);
        if (file.zipped !== null) {
          body = file.zipped;
          head.push("Content-Encoding", "gzip");
        }
      }
      head.push("Content-Length", String(body.length));
      // `end` omits the body of an answer to HEAD.
      response.writeHead(200, head).end(body);
      // 0 bytes, because the file is in memory anyway.
      limitUnread(response, 0);
      return 200;
    },
  };
}
