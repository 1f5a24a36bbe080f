/** Serves files from memory only, so path traversal is impossible. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { isNamedBy } from "./answer/etag.ts";
import type { DocsSite } from "./docs-site.ts";
import { limitUnread } from "./request/unread.ts";
import { type Served, servedFile } from "./served-file.ts";

/** Content by path as in the URL (`/assets/main-Ab3d.js`). */
export type ConsoleFiles = ReadonlyMap<string, Buffer>;

export interface Console {
  /** Null: the request is not for the console. */
  find(request: IncomingMessage): Served | null;
  /** Returns the status. */
  send(request: IncomingMessage, response: ServerResponse, served: Served, request_id: string): number;
}

/** A page on these paths would hide a mistyped call. */
const notPages = /^\/(?:v1|healthz|readyz|metrics|openapi\.json|assets)(?:\/|$)/;

/**
 * `data:` images are the QR code of TOTP. Trusted Types keep a hostile payload from becoming markup. Their only policy
 * creates the address of the worker for push notices.
 */
const contentPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
  "manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'; trusted-types push-worker";

/**
 * Returns the policy of a file. The page that verifies receipts has its own, which allows exactly its script and style, so
 * that it holds for a saved copy, too. Only a header can refuse frames.
 */
function policyFor(path: string, body: Buffer): string {
  if (path !== "/verify.html") return contentPolicy;
  const own = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(body.toString("utf8"))?.[1];
  if (own === undefined) throw new Error("verify.html has no policy");
  return `${own}; frame-ancestors 'none'`;
}

/** Null: neither was built. */
export function createConsole(files: ConsoleFiles | null, docs: DocsSite | null = null): Console | null {
  const served = new Map(
    [...(files ?? [])].map(([path, body]) => [path, servedFile(path, body, policyFor(path, body))]),
  );
  const page = served.get("/index.html");
  if (page === undefined && docs === null) return null;

  return {
    find(request) {
      if (request.method !== "GET" && request.method !== "HEAD") return null;
      const path = (request.url ?? "").split("?", 1)[0] as string;
      const documentation = docs?.find(path) ?? null;
      if (documentation !== null || page === undefined) return documentation;
      const file = served.get(path);
      if (file !== undefined) return file;
      // Mails link to this address. The page asks first, because programs that follow links open it, too.
      if (path === "/" || path === "/v1/unsubscribe") return page;
      const wants_html = request.headers.accept?.includes("text/html") === true;
      return wants_html && !notPages.test(path) && !/\.[a-z0-9]{1,8}$/i.test(path) ? page : null;
    },

    send(request, response, file, request_id) {
      const head = ["X-Request-Id", request_id, ...file.headers, "Cache-Control", file.cache, "ETag", file.etag];
      head.push("Vary", "Accept-Encoding");
      if (file.status === 200 && isNamedBy(file.etag, request.headers["if-none-match"])) {
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
      // `end` omits the body for HEAD.
      response.writeHead(file.status, head).end(body);
      // 0 bytes, because the file is in memory anyway.
      limitUnread(response, 0);
      return file.status;
    },
  };
}
