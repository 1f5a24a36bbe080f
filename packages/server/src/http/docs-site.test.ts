import { createHash } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../testing/database/database.ts";
import { rawRequest } from "../testing/network/raw-http.ts";
import { serviceNode } from "../testing/nodes/service-node.ts";

const database = await testDatabase();
const script = "document.title = 'Countersign';";
const docs = new Map([
  ["/index.html", Buffer.from(`<!doctype html><title>Docs</title><script id="a">${script}</script>`)],
  ["/404.html", Buffer.from("<!doctype html><title>Not found</title>")],
  ["/how-to/keys.html", Buffer.from("<!doctype html><title>Keys</title>")],
  ["/assets/app.Ab3d.js", Buffer.from("export {};")],
]);
let url: string;
beforeAll(async () => {
  ({ url } = await serviceNode(database, { docs }));
});

describe("the documentation at /docs", () => {
  test.each([
    ["/docs", 200, "text/html; charset=utf-8"],
    ["/docs/", 200, "text/html; charset=utf-8"],
    ["/docs/how-to/keys.html", 200, "text/html; charset=utf-8"],
    ["/docs/how-to/keys", 200, "text/html; charset=utf-8"],
    ["/docs/assets/app.Ab3d.js", 200, "text/javascript; charset=utf-8"],
    ["/docs/no-such-page", 404, "text/html; charset=utf-8"],
  ])("%s answers %i without a key", async (path, status, type) => {
    const answer = await fetch(url + path);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([status, type]);
  });

  test("an unknown page is the page of the site that says so", async () => {
    expect(await (await fetch(`${url}/docs/no-such-page`)).text()).toContain("Not found");
  });

  test("the policy allows the inline scripts of the build by their hashes, and no others", async () => {
    const policy = (await fetch(`${url}/docs/`)).headers.get("content-security-policy") ?? "";
    const hash = createHash("sha256").update(script).digest("base64");
    expect(policy).toContain(`script-src 'self' 'sha256-${hash}';`);
    const other = (await fetch(`${url}/docs/how-to/keys.html`)).headers.get("content-security-policy") ?? "";
    expect(other).toContain("script-src 'self';");
  });

  test("no path leads to a file outside the site", async () => {
    for (const path of ["/docs/../package.json", "/docs/%2e%2e/package.json", "/docs/..%2fpackage.json"]) {
      const bytes = `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
      expect((await rawRequest(Number(new URL(url).port), bytes)).statuses, path).toEqual([404]);
    }
  });
});

test("a service whose documentation was not built answers /docs like any other unknown path", async () => {
  const { url: bare } = await serviceNode(database);
  expect((await fetch(`${bare}/docs/`)).status).toBe(404);
});
