import { request } from "node:http";
import { expect, test } from "vitest";
import { type Heard, proxied, recorded, saidIn, serving, sessionBank } from "../testing/http-ends.ts";

const types = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
const initialize = (id: unknown = 0) =>
  JSON.stringify({
    ...{ jsonrpc: "2.0", id, method: "initialize" },
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "desk", version: "1" } },
  });

/** Sends what `fetch` does not let a test send, such as `Host`. */
function raw(url: string, headers: Record<string, string>, body = "", method = "POST", path?: string) {
  return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; text: string }>((resolve, reject) => {
    const sent = request(url, { method, headers, ...(path !== undefined && { path }) }, async (answer) => {
      let text = "";
      for await (const chunk of answer) text += chunk;
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

test.each([
  ["another host", 403, { ...types, Host: "evil.example" }, ping],
  ["the same host with a port of its choice", 403, { ...types, Host: "evil.example:80" }, ping],
  ["a page of another origin", 403, { ...types, Origin: "https://evil.example" }, ping],
  ["a page of this machine", 403, { ...types, Origin: "http://localhost:3000" }, ping],
  ["a page without an origin", 403, { ...types, Origin: "null" }, ping],
  ["a body that is not JSON", 400, types, "{"],
  ["a body that is not UTF-8", 400, types, Buffer.from([0x22, 0xff, 0x22]) as unknown as string],
  ["a batch", 400, types, `[${ping}]`],
  ["a body that is not a message", 400, types, '{"jsonrpc":"1.0"}'],
  ["another type", 415, { ...types, "Content-Type": "text/plain" }, ping],
  ["a compressed body", 415, { ...types, "Content-Encoding": "gzip" }, ping],
  ["a client that takes no events", 406, { ...types, Accept: "application/json" }, ping],
  ["a request without a session", 400, types, ping],
  ["an unknown session", 404, { ...types, "Mcp-Session-Id": "none" }, ping],
  [
    "a revision without sessions in the header only",
    400,
    { ...types, "MCP-Protocol-Version": "2026-07-28" },
    initialize(),
  ],
  ["a body that is too long", 413, { ...types, "Content-Length": String(5 << 20) }, ""],
  ["a body of unknown length that is too long", 413, { ...types, "Transfer-Encoding": "chunked" }, "x".repeat(5 << 20)],
])("refuses %s (%i)", async (_, status, headers, body) => {
  const heard: Heard[] = [];
  const bank = await sessionBank(heard);
  const { url } = await proxied(bank.url);
  const answer = await raw(url, headers, body);
  expect({ status: answer.status, error: JSON.parse(answer.text).error }).toEqual({
    status,
    error: { code: expect.any(Number), message: expect.any(String) },
  });
  expect(heard).toEqual([]);
});

test("refuses other paths and methods", async () => {
  const bank = await sessionBank();
  const { url } = await proxied(bank.url);
  expect(await raw(url, types, ping, "POST", "/other")).toMatchObject({ status: 404 });
  expect(await raw(url, types, "", "GET", "/.well-known/oauth-protected-resource/../../mcp/../admin")).toMatchObject({
    status: 404,
  });
  expect(await raw(url, types, "", "PUT")).toMatchObject({ status: 405, headers: { allow: "POST, GET, DELETE" } });
});

test("takes a page of its own address", async () => {
  const { url } = await proxied((await sessionBank()).url);
  const { status } = await raw(url, { ...types, Origin: new URL(url).origin }, initialize());
  expect(status).toBe(200);
});

test("takes the hosts and origins that its operator allowed, and lets their pages read answers", async () => {
  const bank = await sessionBank();
  const origin = "https://app.example";
  const { url } = await proxied(bank.url, undefined, { hosts: ["tools.example"], origins: [origin] });
  const asked = { Host: "tools.example", Origin: origin, "Access-Control-Request-Headers": "mcp-session-id" };
  expect(await raw(url, asked, "", "OPTIONS")).toMatchObject({
    status: 204,
    headers: { "access-control-allow-origin": origin, "access-control-allow-headers": "mcp-session-id" },
  });
  const begun = await raw(url, { ...types, Host: "tools.example", Origin: origin }, initialize());
  expect(begun).toMatchObject({ status: 200, headers: { "access-control-allow-origin": origin, vary: "Origin" } });
});

test("says that the server is not there", async () => {
  const { url, notes } = await proxied("http://127.0.0.1:9/mcp");
  const answer = await fetch(url, { method: "POST", headers: types, body: initialize() });
  expect((await saidIn(answer)).error.message).toContain("the server at http://127.0.0.1:9 cannot be reached");
  expect(notes).toEqual([expect.stringContaining("cannot be reached")]);
});

test("passes a server's 401 on, with the metadata at the proxy's own address", async () => {
  const heard: Heard[] = [];
  let origin = "";
  const listener = recorded(heard, (_, { url = "" }, response) => {
    if (url.startsWith("/.well-known/"))
      return response
        .setHeader("content-type", "application/json")
        .end(JSON.stringify({ resource: `${origin}/mcp`, authorization_servers: ["https://idp.example"] }));
    const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
    response.writeHead(401, {
      "www-authenticate": `Bearer scope="pay", resource_metadata="${metadata}"`,
      "set-cookie": "a=1",
    });
    return response.end('{"error":"unauthorized"}');
  });
  origin = await serving(listener);
  const { url } = await proxied(`${origin}/mcp`, undefined, { headers: { "x-secret": "s" } });
  const own = new URL(url).origin;
  const answer = await fetch(url, { method: "POST", headers: types, body: initialize() });
  const metadata = `${own}/.well-known/oauth-protected-resource/mcp`;
  expect(answer.status).toBe(401);
  expect(answer.headers.get("www-authenticate")).toBe(`Bearer scope="pay", resource_metadata="${metadata}"`);
  expect([answer.headers.get("set-cookie"), answer.headers.get("mcp-session-id")]).toEqual([null, null]);
  expect(await answer.text()).toBe('{"error":"unauthorized"}');
  expect(await (await fetch(metadata)).json()).toEqual({
    resource: url,
    authorization_servers: ["https://idp.example"],
  });
  expect(heard.at(-1)?.headers["x-secret"]).toBeUndefined();
});

test("passes metadata on from where the server's challenge says, and nothing else of the server", async () => {
  let origin = "";
  let named = "";
  origin = await serving((request, response) => {
    if (request.method === "GET") return void response.end(JSON.stringify({ resource: `${origin}/mcp` }));
    response.writeHead(401, { "www-authenticate": `Bearer resource_metadata="${named}"` }).end();
  });
  const { url } = await proxied(`${origin}/mcp`);
  const own = new URL(url).origin;
  const challenge = async (address: string) => {
    named = address;
    const answer = await fetch(url, { method: "POST", headers: types, body: initialize() });
    return answer.headers.get("www-authenticate");
  };
  const status = async (path: string) => (await fetch(`${own}${path}`)).status;
  expect(await status("/about/metadata.json")).toBe(404);
  expect(await challenge(`${origin}/about/metadata.json`)).toBe(
    `Bearer resource_metadata="${own}/about/metadata.json"`,
  );
  expect(await (await fetch(`${own}/about/metadata.json`)).json()).toEqual({ resource: url });
  for (const address of ["https://idp.example/metadata", `${origin}/metadata?a=1`, `${origin}/mcp`, "metadata"])
    expect(await challenge(address)).toBe(`Bearer resource_metadata="${address}"`);
  expect(await status("/metadata")).toBe(404);
  for (let n = 1; n < 16; n += 1) await challenge(`${origin}/m${n}`);
  expect(await challenge(`${origin}/m16`)).toBe(`Bearer resource_metadata="${origin}/m16"`);
});

test("passes on that a token expired during a session, and records the call as failed", async () => {
  const bank = await sessionBank();
  let is_expired = false;
  const server = await serving(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    if (is_expired && body.includes("tools/call"))
      return response.writeHead(401, { "www-authenticate": 'Bearer error="invalid_token"' }).end();
    const { host: _, connection: __, "content-length": ___, ...headers } = request.headers;
    const sent = { method: "POST", headers: headers as Record<string, string>, body };
    const answer = await fetch(bank.url, sent);
    return response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  });
  const { url, observed } = await proxied(`${server}/mcp`);
  const begun = await fetch(url, { method: "POST", headers: types, body: initialize() });
  const headers = { ...types, "Mcp-Session-Id": begun.headers.get("mcp-session-id") ?? "" };
  const params = { name: "pay", arguments: { n: 1 } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const pay = () => fetch(url, { method: "POST", headers, body });
  expect(await (await pay()).text()).toContain("paid 1");
  is_expired = true;
  const refused = await pay();
  expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, 'Bearer error="invalid_token"']);
  await expect.poll(() => observed).toMatchObject([{ status: "executed" }, { status: "failed" }]);
});

test("does not follow a redirect, and does not send the client around the proxy", async () => {
  const server = await serving((_, response) => response.writeHead(307, { location: "http://127.0.0.1:9/" }).end());
  const { url } = await proxied(`${server}/mcp`);
  const answer = await fetch(url, { method: "POST", headers: types, body: initialize(), redirect: "manual" });
  expect([answer.status, answer.headers.get("location")]).toEqual([200, null]);
  expect((await saidIn(answer)).error.message).toContain("redirects are not followed");
});

test.each([
  ["text/html", "<p>"],
  ["application/json", "{}"],
  ["text/event-stream", ": nothing\n\n"],
])("says that the server's answer cannot be read: %s", async (type, body) => {
  const server = await serving((_, response) => response.writeHead(200, { "content-type": type }).end(body));
  const { url } = await proxied(`${server}/mcp`);
  const answer = await fetch(url, { method: "POST", headers: types, body: initialize("a") });
  expect(await answer.text()).toContain('"id":"a","error":{"code":-32010');
});
