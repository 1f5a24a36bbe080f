/** Revision 2026-07-28, which has no sessions, with the protocol's own client and server. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, onTestFinished, test } from "vitest";
import { type Heard, proxied, saidIn, serving, sessionBank, statelessBank } from "../testing/http-ends.ts";

const revision = "2026-07-28";

async function connected(url: string, headers: Record<string, string> = {}) {
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  const client = new Client({ name: "desk", version: "1" }, { versionNegotiation: { mode: { pin: revision } } });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return { client, pay: (given: object) => client.callTool({ name: "pay", arguments: { ...given } }) };
}

const meta = {
  "io.modelcontextprotocol/protocolVersion": revision,
  "io.modelcontextprotocol/clientInfo": { name: "desk", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

interface PostOptions {
  readonly headers?: object;
  readonly signal?: AbortSignal;
  readonly token?: unknown;
  readonly body?: (text: string) => string;
}

/** Posts one call as a client would, with ids of the test's choice. */
function posted(
  url: string,
  id: unknown,
  given: object,
  { headers = {}, signal, token, body = (text) => text }: PostOptions = {},
) {
  const params = { name: "pay", arguments: given, _meta: { ...meta, progressToken: token } };
  return fetch(url, {
    method: "POST",
    headers: {
      ...{ "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
      ...{ "MCP-Protocol-Version": revision, "Mcp-Method": "tools/call", "Mcp-Name": "pay", ...headers },
    },
    body: body(JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params })),
    ...(signal !== undefined && { signal }),
  });
}

const sent = (heard: readonly Heard[]) => heard.filter(({ headers }) => headers["mcp-method"] === "tools/call");

test("decides on calls, and repeats the decided body in the headers that the server wants", async () => {
  const heard: Heard[] = [];
  const bank = await statelessBank(heard);
  const { url, submitted } = await proxied(bank.url, ({ intent }) => {
    const { n } = intent.payload?.content ?? {};
    if (n === 2) return { outcome: "approve_modified", modified_content: { n: 1, to: "Zoë" } };
    return n === 3 ? { outcome: "block" } : { outcome: "approve" };
  });
  const { client, pay } = await connected(url);
  expect(client.getNegotiatedProtocolVersion()).toBe(revision);
  await client.listTools();
  expect(JSON.stringify(await pay({ n: 1, to: "ann" }))).toContain("paid 1");
  expect(JSON.stringify(await pay({ n: 2, to: "bob" }))).toMatch(/paid 1.*Countersign changed this call/);
  expect(await pay({ n: 3, to: "ann" })).toMatchObject({ isError: true });
  expect(bank.payments).toEqual([
    { n: 1, to: "ann" },
    { n: 1, to: "Zoë" },
  ]);
  expect(sent(heard).map(({ headers }) => headers["mcp-param-to"])).toEqual(["ann", "=?base64?Wm/Dqw==?="]);
  expect(submitted[0]?.intent).toMatchObject({
    agent: { id: "desk" },
    action: { target: { type: "mcp_server", identifier: "bank" } },
  });
});

test("answers clients of the same credentials that use the same ids at the same time", async () => {
  const bank = await statelessBank();
  const service = await proxied(bank.url, () => ({ outcome: null, status: "pending" }));
  const answers = [1, 2].map((n) => posted(service.url, "same", { n }, { token: 0 }).then((each) => each.text()));
  await expect.poll(() => service.waiting()).toBe(2);
  service.rule({ outcome: "approve" });
  service.rule({ outcome: "approve" });
  const messages = (await Promise.all(answers)).map((events) =>
    [...events.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data)),
  );
  const waits = { method: "notifications/progress", params: { progressToken: 0 } };
  expect(messages).toMatchObject([
    [waits, { id: "same", result: { content: [{ text: "paid 1" }] } }],
    [waits, { id: "same", result: { content: [{ text: "paid 2" }] } }],
  ]);
});

test("refuses a message that is nested too deep, also if its id is in use", async () => {
  const bank = await statelessBank();
  const service = await proxied(bank.url, () => ({ outcome: null, status: "pending" }), { keep_alive_ms: 1 });
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const nested = async () => {
    const answer = await posted(
      service.url,
      1,
      {},
      { body: (text) => text.replace('"arguments":{}', `"arguments":{"x":${deep}}`) },
    );
    return (await answer.text()).includes("nested too deep");
  };
  expect(await nested()).toBe(true);
  const held = posted(service.url, 1, { n: 1 });
  await expect.poll(() => service.waiting()).toBe(1);
  expect(await nested()).toBe(true);
  service.rule({ outcome: "approve" });
  expect(await (await held).text()).toContain("paid 1");
});

test("does not let a client cancel by message, because ids of other clients may be equal", async () => {
  const bank = await statelessBank();
  const service = await proxied(bank.url, () => ({ outcome: null, status: "pending" }));
  const held = posted(service.url, 1, { n: 1 });
  await expect.poll(() => service.waiting()).toBe(1);
  const cancelled = await fetch(service.url, {
    method: "POST",
    headers: {
      ...{ "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
      "MCP-Protocol-Version": revision,
    },
    body: JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } }),
  });
  expect(cancelled.status).toBe(202);
  service.rule({ outcome: "approve" });
  expect(await (await held).text()).toContain("paid 1");
});

test("gives notifications of a subscription the client's own id", async () => {
  const bank = await statelessBank();
  const { url } = await proxied(bank.url);
  const streams = await Promise.all(
    ["one", "two"].map(async () => {
      const { client } = await connected(url);
      const changed = new Promise((resolve) =>
        client.setNotificationHandler("notifications/tools/list_changed", resolve),
      );
      await client.listen({ toolsListChanged: true });
      return { changed };
    }),
  );
  bank.handler.notify.toolsChanged();
  await Promise.all(streams.map(({ changed }) => changed));
});

test("resumes a review for an equal call of the same credentials only", async () => {
  const bank = await statelessBank();
  const service = await proxied(bank.url, () => ({ outcome: null, status: "pending" }));
  const { governor } = service;
  governor.wait_ms = 0;
  const call = async (authorization: string) =>
    JSON.stringify(await (await posted(service.url, 1, { n: 1 }, { headers: { authorization } })).text());
  for (const who of ["Bearer a", "Bearer a", "Bearer b"]) expect(await call(who)).toContain("Call the tool again");
  expect(service.submitted).toHaveLength(2);
});

test("takes a closed request as its cancellation", async () => {
  const bank = await statelessBank();
  const service = await proxied(bank.url, () => ({ outcome: null, status: "pending", escalation_id: "esc_1" }));
  const leaving = new AbortController();
  const left = posted(service.url, 1, { n: 1 }, { signal: leaving.signal }).catch(() => "left");
  await expect.poll(() => service.waiting()).toBe(1);
  leaving.abort();
  expect(await left).toBe("left");
  await expect.poll(() => service.withdrawn).toEqual(["esc_1"]);
  expect(bank.payments).toEqual([]);
});

test("closes its own request at the server when the client leaves, and records the call as failed", async () => {
  let closed = 0;
  const server = await serving((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      const { id, method } = JSON.parse(body);
      const result = { resultType: "complete", tools: [{ name: "pay", inputSchema: { type: "object" } }] };
      if (method === "tools/list")
        return response
          .setHeader("content-type", "application/json")
          .end(JSON.stringify({ jsonrpc: "2.0", id, result }));
      response.on("close", () => (closed += 1));
      return response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    });
  });
  const service = await proxied(`${server}/mcp`);
  const leaving = new AbortController();
  const answer = await posted(service.url, 1, { n: 1 }, { signal: leaving.signal });
  expect(answer.headers.get("content-type")).toBe("text/event-stream");
  leaving.abort();
  await expect.poll(() => closed).toBe(1);
  await expect.poll(() => service.observed).toMatchObject([{ status: "failed" }]);
});

test.each([
  ["MCP-Protocol-Version", { "MCP-Protocol-Version": "2025-11-25" }],
  ["Mcp-Method", { "Mcp-Method": "tools/list" }],
  ["Mcp-Name", { "Mcp-Name": "look" }],
  ["Mcp-Name", { "Mcp-Name": "=?base64?bG9vaw==?=" }],
  ["Mcp-Name", { "Mcp-Name": "pay, pay" }],
])("refuses a header that disagrees with the body: %s %j", async (name, headers) => {
  const bank = await statelessBank();
  const { url, submitted } = await proxied(bank.url);
  const answer = await posted(url, 7, { n: 1 }, { headers });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({
    id: 7,
    error: { code: -32_020, message: expect.stringContaining(name) },
  });
  expect([submitted, bank.payments]).toEqual([[], []]);
});

test("refuses a parameter's header that is missing or disagrees with the arguments, and writes its own", async () => {
  const heard: Heard[] = [];
  const bank = await statelessBank(heard);
  const { url } = await proxied(bank.url);
  const { client } = await connected(url);
  await client.listTools();
  const other = await posted(url, 1, { n: 1, to: "ann" }, { headers: { "Mcp-Param-To": "bob" } });
  expect([other.status, (await saidIn(other)).error.code]).toEqual([400, -32_020]);
  const missing = await posted(url, 2, { n: 1, to: "ann" });
  expect([missing.status, (await saidIn(missing)).error.code]).toEqual([400, -32_020]);
  expect(bank.payments).toEqual([]);
  const agreed = await posted(url, 3, { n: 1, to: "ann" }, { headers: { "Mcp-Param-To": "ann" } });
  expect(await agreed.text()).toContain("paid 1");
  expect(sent(heard).map(({ headers }) => headers["mcp-param-to"])).toEqual(["ann"]);
});

test("answers a method that only looks like a governed one as unknown, with HTTP status 404", async () => {
  const bank = await statelessBank();
  const { url } = await proxied(bank.url);
  const answer = await fetch(url, {
    method: "POST",
    headers: {
      ...{ "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
      ...{ "MCP-Protocol-Version": revision, "Mcp-Method": "Tools/Call" },
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "Tools/Call", params: { name: "pay", _meta: meta } }),
  });
  expect([answer.status, (await saidIn(answer)).error.code]).toEqual([404, -32_601]);
});

test("lets a client of both revisions find out which one the server has", async () => {
  const bank = await sessionBank();
  const { url } = await proxied(bank.url);
  const client = new Client({ name: "desk", version: "1" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  onTestFinished(() => client.close());
  expect(client.getNegotiatedProtocolVersion()).toBe("2025-11-25");
  expect(JSON.stringify(await client.callTool({ name: "pay", arguments: { n: 1 } }))).toContain("paid 1");
});
