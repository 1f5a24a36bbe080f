import { createHash } from "node:crypto";
import { type Served, servedFile } from "./served-file.ts";

export interface DocsSite {
  /** An unknown path below /docs gets the page "not found" (404). Null: another path. */
  find(path: string): Served | null;
}

const inlineScript = /<script(?![^>]*\ssrc=)[^>]*>([\s\S]*?)<\/script>/g;

/** Null: not built. */
export function createDocsSite(files: ReadonlyMap<string, Buffer> | null): DocsSite | null {
  const missing = files?.get("/404.html");
  if (files === null || missing === undefined) return null;
  const served = new Map([...files].map(([path, body]) => [path, servedFile(path, body, policyOf(path, body))]));
  const notFound = servedFile("/404.html", missing, policyOf("/404.html", missing), 404);
  return {
    find(path) {
      if (path === "/docs") return served.get("/index.html") ?? notFound;
      if (!path.startsWith("/docs/")) return null;
      const own = path.slice("/docs".length);
      const names = own.endsWith("/") ? [`${own}index.html`] : [own, `${own}.html`, `${own}/index.html`];
      return names.map((name) => served.get(name)).find((file) => file !== undefined) ?? notFound;
    },
  };
}

/**
 * Allows scripts of the service, and the page's inline scripts by their hashes. The site generator colours code with
 * inline styles.
 */
function policyOf(path: string, body: Buffer): string {
  const scripts = path.endsWith(".html") ? [...body.toString().matchAll(inlineScript)] : [];
  const hashes = scripts.map(([, text = ""]) => ` 'sha256-${createHash("sha256").update(text).digest("base64")}'`);
  return (
    `default-src 'none'; script-src 'self'${[...new Set(hashes)].join("")}; style-src 'self' 'unsafe-inline'; ` +
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  );
}
