import { Client as StatelessClient } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { StdioServerTransport as StatelessStdio } from "@modelcontextprotocol/server/stdio";
import { expect, test } from "vitest";
import { bridged, type deciding, type Heard, serving, sessionBank, statelessBank } from "../testing/http-ends.ts";

async function connected(server: string, ...given: Parameters<typeof deciding>) {
  const made = bridged(server, ...given);
  const client = new Client({ name: "desk", version: "1" });
  // The server transport also suits a client: it reads one stream and writes another.
  await client.connect(new StdioServerTransport(made.output, made.input));
  return { client, pay: (n: number) => client.callTool({ name: "pay", arguments: { n } }), ...made };
}

test("decides on the calls of a client on standard streams, within one session of the server", async () => {
  const heard: Heard[] = [];
  const bank = await sessionBank(heard);
  const { client, pay, input, finished, observed } = await connected(bank.url, ({ intent }) =>
    intent.payload?.content?.["n"] === 2 ? { outcome: "block" } : { outcome: "approve" },
  );
  const changed = new Promise((resolve) => client.setNotificationHandler(ToolListChangedNotificationSchema, resolve));
  await expect.poll(() => heard.some(({ method }) => method === "GET")).toBe(true);
  bank.servers[0]?.sendToolListChanged();
  await changed;
  expect(JSON.stringify(await pay(1))).toContain("paid 1");
  expect(await pay(2)).toMatchObject({ isError: true });
  expect(bank.payments).toEqual([1]);
  input.end();
  expect(await finished).toBe(0);
  expect(observed).toMatchObject([{ status: "executed" }, { status: "skipped" }]);
  const [first, ...others] = heard.map(({ headers }) => headers);
  expect(first).not.toHaveProperty("mcp-session-id");
  for (const each of others)
    expect(each).toMatchObject({ "mcp-session-id": expect.any(String), "mcp-protocol-version": "2025-11-25" });
  expect(heard.every(({ headers }) => headers.authorization === "Bearer own")).toBe(true);
  expect(heard.at(-1)?.method).toBe("DELETE");
});

test("writes the headers that revision 2026-07-28 wants", async () => {
  const heard: Heard[] = [];
  const bank = await statelessBank(heard);
  const { input, output } = bridged(bank.url);
  const negotiation = { versionNegotiation: { mode: { pin: "2026-07-28" } } };
  const client = new StatelessClient({ name: "desk", version: "1" }, negotiation);
  await client.connect(new StatelessStdio(output, input));
  const paid = await client.callTool({ name: "pay", arguments: { n: 1, to: "ann" } });
  expect(JSON.stringify(paid)).toContain("paid 1");
  expect(heard.at(-1)?.headers).toMatchObject({
    ...{ "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "pay", "mcp-param-to": "ann" },
  });
});

test("closes the request of a cancelled call, which is recorded as failed", async () => {
  let [made, closed] = [0, 0];
  const server = await serving(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { id, method } = JSON.parse(body);
    if (method === "tools/call") {
      made += 1;
      return void response.on("close", () => (closed += 1));
    }
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { tools: [{ name: "pay" }] } }));
  });
  const { input, observed } = bridged(server);
  const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
  const say = (message: object) => input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  say({ id: 1, method: "tools/call", params: { name: "pay", arguments: {}, _meta } });
  await expect.poll(() => made).toBe(1);
  say({ method: "notifications/cancelled", params: { requestId: 1 } });
  await expect.poll(() => closed).toBe(1);
  await expect.poll(() => observed).toMatchObject([{ status: "failed" }]);
});

test("says why the server did not answer, with what its operator can do", async () => {
  const denied = await serving((_, response) => response.writeHead(401).end());
  for (const [server, why] of [
    ["http://127.0.0.1:9/mcp", "cannot be reached: ECONNREFUSED"],
    [denied, "HTTP status 401. Give the server's credentials with --header-env."],
  ] as const) {
    const { input, output, notes } = bridged(server);
    input.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
    await expect.poll(() => notes).toEqual([expect.stringContaining(why)]);
    expect(JSON.parse(String(output.read()))).toMatchObject({
      id: 1,
      error: { message: expect.stringContaining(why) },
    });
  }
});

test("ends with 1 when the server ended the session, so that the client starts a new one", async () => {
  const bank = await sessionBank();
  const { client, pay, finished } = await connected(bank.url);
  await client.ping();
  bank.forget();
  expect(JSON.stringify(await pay(2))).toContain("HTTP status 404");
  expect(await finished).toBe(1);
});
