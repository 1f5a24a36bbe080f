import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../testing/database/database.ts";
import { rawRequest } from "../testing/network/raw-http.ts";
import { serviceNode } from "../testing/nodes/service-node.ts";

const database = await testDatabase();
const script = `console.log(${JSON.stringify("x".repeat(2_000))});`;
const files = new Map([
  ["/index.html", Buffer.from("<!doctype html><title>Countersign</title>")],
  ["/favicon.svg", Buffer.from("<svg/>")],
  ["/verify.html", Buffer.from(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'" />`)],
  ["/assets/index-Ab3d.js", Buffer.from(script)],
]);
let url: string;
beforeAll(async () => {
  ({ url } = await serviceNode(database, { console: files }));
});

const html = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const get = (path: string, headers: Record<string, string> = {}) => fetch(url + path, { headers });

describe("the console's files", () => {
  test("the first page is at / for everybody, also without a key and for a bare client", async () => {
    for (const headers of [html, {} as Record<string, string>]) {
      const answer = await get("/", headers);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(await answer.text()).toContain("Countersign");
    }
  });

  test.each(["/review", "/escalations/esc_1", "/decisions?verdict=block", "/no/such/page"])(
    "the address of a page, %s, returns the first page to a browser",
    async (path) => {
      const answer = await get(path, html);
      expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    },
  );

  test.each([
    ["/v1/nothing", 404],
    ["/v1", 404],
    ["/assets/gone-0000.js", 404],
    ["/healthz/x", 404],
    ["/favicon.png", 404],
  ])("%s has its usual answer, also for a browser", async (path, status) => {
    const answer = await get(path, { ...html, "x-api-key": "svc_live_org_junk" });
    expect(answer.status).toBe(status);
    expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
  });

  test("the page that verifies receipts is public, and has its own policy", async () => {
    const answer = await get("/verify.html");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-security-policy")).toBe("default-src 'none'; frame-ancestors 'none'");
  });

  test("the operations of the API and of operating are never shadowed", async () => {
    for (const path of ["/healthz", "/readyz", "/openapi.json"]) {
      const answer = await get(path, html);
      expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/json; charset=utf-8"]);
    }
    expect((await get("/metrics", html)).headers.get("content-type")).toContain("text/plain");
  });

  test("the unsubscribe address of a mail's header shows a page, and opening it does not stop the mails", async () => {
    for (const headers of [html, {} as Record<string, string>]) {
      const answer = await get("/v1/unsubscribe?token=junk", headers);
      expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    }
    expect((await fetch(`${url}/v1/unsubscribe?token=junk`, { method: "POST", headers: html })).status).toBe(404);
  });

  test("a program that mistypes a path gets 404, because it did not ask for a page", async () => {
    const answer = await get("/reviw");
    expect([answer.status, ((await answer.json()) as { error: { code: string } }).error.code]).toEqual([
      404,
      "not_found",
    ]);
    expect((await fetch(`${url}/review`, { method: "POST", headers: html })).status).toBe(404);
  });

  test("files with a hash in their name are cached permanently, the page is revalidated", async () => {
    const asset = await get("/assets/index-Ab3d.js");
    expect(asset.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(asset.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    const page = await get("/", html);
    expect(page.headers.get("cache-control")).toBe("no-cache");
    for (const match of [page.headers.get("etag") as string, "*"]) {
      const again = await get("/", { ...html, "if-none-match": match });
      expect([again.status, await again.text()]).toEqual([304, ""]);
    }
  });

  test("every file has a strict content security policy", async () => {
    for (const path of ["/", "/favicon.svg", "/assets/index-Ab3d.js"]) {
      const policy = (await get(path)).headers.get("content-security-policy") as string;
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("script-src 'self';");
      expect(policy).toContain("style-src 'self';");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
    }
  });

  test("large files are compressed if the client accepts that, and uncompressed for HEAD and others", async () => {
    const zipped = await get("/assets/index-Ab3d.js", { "accept-encoding": "br, gzip" });
    expect(zipped.headers.get("content-encoding")).toBe("gzip");
    expect(Number(zipped.headers.get("content-length"))).toBeLessThan(500);
    expect(await zipped.text()).toBe(script);
    const plain = await get("/assets/index-Ab3d.js", { "accept-encoding": "gzip;q=0" });
    expect([plain.headers.get("content-encoding"), await plain.text()]).toEqual([null, script]);
    const head = await fetch(`${url}/assets/index-Ab3d.js`, {
      method: "HEAD",
      headers: { "accept-encoding": "identity" },
    });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, String(script.length)]);
  });

  test("no path reaches a file outside the set", async () => {
    for (const path of [
      "/assets/../index.html",
      "/assets/%2e%2e/package.json",
      "/..%2f..%2fpackage.json",
      "//etc/passwd",
    ]) {
      const bytes = `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
      expect((await rawRequest(Number(new URL(url).port), bytes)).statuses, path).toEqual([404]);
    }
  });
});

test("a service whose console was not built answers / like any other unknown path", async () => {
  const { url: bare } = await serviceNode(database);
  expect((await fetch(bare, { headers: html })).status).toBe(404);
});
