import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { InMemoryEventStore } from "@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js";
import { expect, onTestFinished, test } from "vitest";
import { proxied, serving, sessionBank } from "../testing/http-ends.ts";

const types = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
const line = (message: object) => JSON.stringify({ jsonrpc: "2.0", ...message });

/** A client that the test moves by hand. */
async function session(url: string) {
  const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "desk", version: "1" } };
  const begun = await fetch(url, {
    method: "POST",
    headers: types,
    body: line({ id: 0, method: "initialize", params: initialize }),
  });
  const headers = {
    ...types,
    "Mcp-Session-Id": begun.headers.get("mcp-session-id") ?? "",
    "MCP-Protocol-Version": "2025-11-25",
  };
  await begun.text();
  const post = (message: object) => fetch(url, { method: "POST", headers, body: line(message) });
  await post({ method: "notifications/initialized" });
  const back = (after: string, more = {}) => fetch(url, { headers: { ...headers, "Last-Event-ID": after, ...more } });
  return { post, back, headers };
}

const payment = (n: number) => ({
  id: n,
  method: "tools/call",
  params: { name: "pay", arguments: { n }, _meta: { progressToken: "t" } },
});

/** Reads a stream until it contains the text, then leaves. */
async function readTo(answer: Response, text: string): Promise<string> {
  const reader = answer.body?.getReader();
  let all = "";
  while (!all.includes(text)) {
    const { value, done } = (await reader?.read()) ?? { done: true };
    if (done) break;
    all += new TextDecoder().decode(value);
  }
  await reader?.cancel();
  return all;
}

const ids = (events: string) => [...events.matchAll(/^id: (.*)$/gm)].map(([, id]) => id ?? "");

test("keeps the answer of a held call for a client that lost its connection", async () => {
  const bank = await sessionBank();
  const service = await proxied(bank.url, () => ({ outcome: null, status: "pending" }));
  const { post, back } = await session(service.url);
  const heard = await readTo(await post(payment(1)), "person");
  const [first = "", last = ""] = ids(heard);
  expect(heard).toMatch(/^retry: 1000\nid: \d+-1\ndata: \n\n/);
  service.rule({ outcome: "approve" });
  await expect.poll(() => service.observed).toMatchObject([{ status: "executed" }]);
  const rest = await (await back(last)).text();
  expect(rest).toContain("paid 1");
  expect(rest).not.toContain("person");
  const all = await (await back(first)).text();
  expect(all).toMatch(/person.*paid 1/s);
  expect(bank.payments).toEqual([1]);
});

test("continues a stream for a client that comes back before the answer", async () => {
  const bank = await sessionBank();
  const service = await proxied(bank.url, () => ({ outcome: null, status: "pending" }));
  const { post, back } = await session(service.url);
  const [, last = ""] = ids(await readTo(await post(payment(1)), "person"));
  const waiting = await back(last);
  service.rule({ outcome: "approve" });
  expect(await waiting.text()).toContain("paid 1");
});

test("refuses an event id of no stream, of another session, and with other credentials", async () => {
  const bank = await sessionBank();
  const service = await proxied(bank.url, () => ({ outcome: null, status: "pending" }));
  const [one, two] = [await session(service.url), await session(service.url)];
  const [first = ""] = ids(await readTo(await one.post(payment(1)), "person"));
  for (const unknown of [first, "9-9", "x"]) expect((await two.back(unknown)).status).toBe(400);
  expect((await one.back(first, { Authorization: "Bearer other" })).status).toBe(400);
});

test("continues the server's other messages after the last one, for a client that comes back", async () => {
  const bank = await sessionBank([], { eventStore: new InMemoryEventStore() });
  const service = await proxied(bank.url);
  const { headers, back } = await session(service.url);
  const first = await fetch(service.url, { headers });
  bank.servers[0]?.sendToolListChanged();
  const [last = ""] = ids(await readTo(first, "list_changed"));
  // Until the server noticed, it sends no second stream.
  const again = async () => {
    const answer = await back(last);
    const reader = answer.body?.getReader();
    bank.servers[0]?.sendToolListChanged();
    const { value } = (await reader?.read()) ?? {};
    await reader?.cancel();
    return new TextDecoder().decode(value);
  };
  await expect.poll(again).toContain("list_changed");
});

test("passes on that the server has no stream of other messages any more", async () => {
  const bank = await sessionBank([], { eventStore: new InMemoryEventStore() });
  const service = await proxied(bank.url);
  const { headers, back } = await session(service.url);
  const first = await fetch(service.url, { headers });
  bank.servers[0]?.sendToolListChanged();
  const [last = ""] = ids(await readTo(first, "list_changed"));
  bank.forget();
  const status = async () => {
    const answer = await back(last);
    await answer.body?.cancel();
    return answer.status;
  };
  await expect.poll(status).toBe(404);
});

test("resumes the server's own stream, if it breaks before the answer", async () => {
  const seen: unknown[] = [];
  const events = { "content-type": "text/event-stream" };
  const server = await serving(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { id, method } = JSON.parse(body === "" ? "{}" : body);
    seen.push([request.method, method ?? request.headers["last-event-id"] ?? null]);
    const answer = (result: object) => `data: ${line({ id: id ?? 1, result })}\n\n`;
    if (method === "initialize") {
      response.writeHead(200, { ...events, "mcp-session-id": "s" });
      return response.end(answer({ protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "b" } }));
    }
    if (method === "tools/list") return response.writeHead(200, events).end(answer({ tools: [{ name: "pay" }] }));
    if (method === "tools/call") return response.writeHead(200, events).end("retry: 1\nid: e1\ndata:\n\n");
    if (request.headers["last-event-id"] === "e1") return response.writeHead(200, events).end(answer({ content: [] }));
    return response.writeHead(request.method === "GET" ? 405 : 202).end();
  });
  const service = await proxied(`${server}/mcp`);
  const { post } = await session(service.url);
  expect(await (await post(payment(1))).text()).toContain('"content":[]');
  expect(seen.at(-1)).toEqual(["GET", "e1"]);
  expect(service.observed).toMatchObject([{ status: "executed" }]);
});

test("works with a server that resumes, and with the protocol's own client", async () => {
  const bank = await sessionBank([], { eventStore: new InMemoryEventStore() });
  const { url } = await proxied(bank.url);
  const client = new Client({ name: "desk", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)) as Parameters<Client["connect"]>[0]);
  onTestFinished(() => client.close());
  expect(JSON.stringify(await client.callTool({ name: "pay", arguments: { n: 1 } }))).toContain("paid 1");
});

test("answers a silent call with a stream, so that nobody closes the connection", async () => {
  const bank = await sessionBank();
  const service = await proxied(bank.url, () => ({ outcome: null, status: "pending" }), { keep_alive_ms: 1 });
  const { post } = await session(service.url);
  const { params, ...call } = payment(1);
  const answer = await post({ ...call, params: { ...params, _meta: undefined } });
  expect(await readTo(answer, ": keep-alive")).toContain("data: \n\n");
});
