/** Revision 2025-11-25, with the protocol's own client and server. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  LoggingMessageNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { expect, onTestFinished, test } from "vitest";
import { type Heard, proxied, sessionBank } from "../testing/http-ends.ts";

async function connected(url: string, headers: Record<string, string> = {}) {
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  const client = new Client({ name: "desk", version: "1" });
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  onTestFinished(() => client.close());
  return { client, transport, pay: (n: number) => client.callTool({ name: "pay", arguments: { n } }) };
}

const textOf = (result: unknown) => JSON.stringify(result);

test.each([
  ["events", {}],
  ["JSON", { json: true }],
  ["no sessions of its own", { sessions: false }],
])("decides on the calls of a session; the server answers with %s", async (_, options) => {
  const bank = await sessionBank([], options);
  const { url, submitted, observed } = await proxied(bank.url, ({ intent }) =>
    intent.payload?.content?.["n"] === 2 ? { outcome: "block" } : { outcome: "approve" },
  );
  const { client, transport, pay } = await connected(url);
  expect(transport.sessionId).toMatch(/^[\da-f-]{36}$/);
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["pay"]);
  expect(textOf(await pay(1))).toContain("paid 1");
  expect(await pay(2)).toMatchObject({ isError: true });
  expect(bank.payments).toEqual([1]);
  expect(submitted[0]?.intent).toMatchObject({
    agent: { id: "desk", framework: "mcp" },
    action: { verb: "pay", target: { type: "mcp_server", identifier: "bank" } },
    payload: { summary: "Pay", content: { n: 1 } },
  });
  await expect.poll(() => observed).toMatchObject([{ status: "executed" }, { status: "skipped" }]);
});

test("sends the server the changed arguments, and its messages about a call to the client of the call", async () => {
  const bank = await sessionBank();
  const { url } = await proxied(bank.url, () => ({ outcome: "approve_modified", modified_content: { n: 1 } }));
  const { client, pay } = await connected(url);
  const logged: unknown[] = [];
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logged.push(params.data));
  expect(textOf(await pay(2))).toMatch(/paid 1.*Countersign changed this call/);
  expect(bank.payments).toEqual([1]);
  expect(logged).toEqual(["paying 1"]);
});

test("shows a call's wait for people as progress, and sessions neither share nor see each other's calls", async () => {
  const bank = await sessionBank();
  const service = await proxied(bank.url, ({ intent }) =>
    intent.payload?.content?.["n"] === 1 ? { outcome: null, status: "pending" } : { outcome: "approve" },
  );
  const [first, second] = [await connected(service.url), await connected(service.url)];
  const progress: unknown[] = [];
  // Both clients count their requests from 0.
  const held = first.client.callTool({ name: "pay", arguments: { n: 1 } }, undefined, {
    onprogress: (each) => progress.push(each),
  });
  expect(textOf(await second.pay(2))).toContain("paid 2");
  await expect.poll(() => progress).toEqual([expect.objectContaining({ message: expect.stringContaining("person") })]);
  expect(bank.payments).toEqual([2]);
  service.rule({ outcome: "approve" });
  expect(textOf(await held)).toContain("paid 1");
  const [of_second, of_first] = service.submitted.map(({ intent }) => intent.agent.session_id);
  expect(of_first).not.toBe(of_second);
});

test("passes on the server's own messages, and what the client's credentials are", async () => {
  const heard: Heard[] = [];
  const bank = await sessionBank(heard);
  const { url } = await proxied(bank.url, undefined, { headers: { "x-tenant": "acme" } });
  const { client, pay } = await connected(url, { Authorization: "Bearer mine", "X-Other": "no", Cookie: "c=1" });
  await expect.poll(() => heard.some(({ method }) => method === "GET")).toBe(true);
  const changed = new Promise((resolve) => client.setNotificationHandler(ToolListChangedNotificationSchema, resolve));
  bank.servers[0]?.sendToolListChanged();
  await changed;
  await pay(1);
  for (const { headers } of heard) expect(headers).toMatchObject({ authorization: "Bearer mine", "x-tenant": "acme" });
  expect(heard.flatMap(({ headers }) => [headers["x-other"], headers.cookie]).filter(Boolean)).toEqual([]);
  expect(heard.at(-1)?.headers["mcp-protocol-version"]).toBe("2025-11-25");
});

test("ends a session at the server, too, when the client ends it", async () => {
  const heard: Heard[] = [];
  const bank = await sessionBank(heard);
  const { url } = await proxied(bank.url);
  const { transport } = await connected(url);
  const session_id = transport.sessionId ?? "";
  await transport.terminateSession();
  expect(heard.at(-1)).toMatchObject({ method: "DELETE" });
  expect(heard.at(-1)?.headers["mcp-session-id"]).not.toBe(session_id);
  const after = await fetch(url, { headers: { "Mcp-Session-Id": session_id, Accept: "text/event-stream" } });
  expect(after.status).toBe(404);
});

test("answers a waiting call when the proxy ends, and leaves its review for an equal call", async () => {
  const bank = await sessionBank();
  const service = await proxied(bank.url, () => ({ outcome: null, status: "pending", escalation_id: "esc_1" }));
  const { pay } = await connected(service.url);
  const failed = expect(pay(1)).rejects.toThrow("The proxy ended");
  await expect.poll(() => service.waiting()).toBe(1);
  await service.end();
  expect(service.withdrawn).toEqual([]);
  expect(bank.payments).toEqual([]);
  await failed;
});
