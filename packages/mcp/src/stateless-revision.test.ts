/** Revision 2026-07-28 has no `initialize`. */
import { unnamed_agent_id } from "@countersign/contract";
import { fromJsonSchema, McpServer } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { connectedThrough, revision } from "./testing/connected-client.ts";
import { governed, line, soon } from "./testing/governed.ts";

const money = { type: "object", properties: { n: { type: "number" } } } as const;

function bank(): McpServer {
  const server = new McpServer({ name: "bank", version: "1.0.0" });
  server.registerTool("pay", { title: "Pay", inputSchema: fromJsonSchema<{ n?: number }>(money) }, ({ n }) => ({
    content: [{ type: "text", text: `paid ${n}` }],
  }));
  server.registerResource("news", "file:///news", {}, () => ({ contents: [{ uri: "file:///news", text: "sunny" }] }));
  return server;
}

async function connected(...[answering, terms]: Parameters<typeof governed>) {
  const made = await connectedThrough((ends) => governed(answering, { ...ends, ...terms }), bank);
  await made.connect();
  return { ...made, pay: (n: number) => made.client.callTool({ name: "pay", arguments: { n } }) };
}

test("applies rules on agents and targets to calls: each message names its client and its server", async () => {
  const { client, pay, submitted, observed } = await connected();
  expect(client.getNegotiatedProtocolVersion()).toBe(revision);
  await client.listTools();
  expect((await pay(1)).content).toEqual([{ type: "text", text: "paid 1" }]);
  expect(submitted).toMatchObject([
    {
      intent: {
        agent: { id: "desk" },
        action: { verb: "pay", target: { type: "mcp_server", identifier: "bank" } },
        payload: { summary: "Pay", content: { n: 1 } },
      },
    },
  ]);
  await soon(() => expect(observed).toMatchObject([{ status: "executed" }]));
});

test("answers in the result form of the protocol's own client: for a block, a wait, a change, a refusal", async () => {
  const { client, pay } = await connected(
    ({ intent }) => {
      const { n } = intent.payload?.content ?? {};
      if (n === 2) return { outcome: "approve_modified", modified_content: { n: 1 } };
      return n === 3 ? { outcome: null, status: "pending" } : { outcome: "block" };
    },
    { wait_ms: 0 },
  );
  const text = async (n: number) => JSON.stringify(await pay(n));
  expect(await text(1)).toContain("countersign/intent_id");
  expect(await text(2)).toMatch(/paid 1.*Countersign changed this call/);
  const progress: unknown[] = [];
  const waited = await client.callTool(
    { name: "pay", arguments: { n: 3 } },
    { onprogress: (each) => progress.push(each) },
  );
  expect(JSON.stringify(waited)).toContain("Call the tool again");
  expect(progress).toMatchObject([{ progress: 0.001 }]);
  const twins = await client.callTool({ name: "pay", arguments: { n: 1, N: 2 } });
  expect(twins).toMatchObject({ isError: true });
});

test("refuses a tool that the server never listed, after it lists the tools in the client's revision", async () => {
  const { client, pay, submitted } = await connected();
  await expect(client.callTool({ name: "PAY", arguments: { n: 1 } })).rejects.toMatchObject({
    code: -32_602,
    message: expect.stringContaining("Unknown tool: PAY"),
  });
  expect(submitted).toEqual([]);
  expect((await pay(1)).content).toEqual([{ type: "text", text: "paid 1" }]);
  expect(submitted[0]?.intent).toMatchObject({
    action: { target: { identifier: "bank" } },
    payload: { summary: "Pay" },
  });
});

const meta = (client?: string) => ({
  "io.modelcontextprotocol/protocolVersion": revision,
  "io.modelcontextprotocol/clientCapabilities": {},
  ...(client !== undefined && { "io.modelcontextprotocol/clientInfo": { name: client, version: "1" } }),
});
const payBy = (id: number, client?: string, more: object = {}) =>
  line({ id, method: "tools/call", params: { name: "pay", arguments: { n: 1 }, _meta: meta(client), ...more } });

test("uses a name for its own message only, and no agent name for a call without one", async () => {
  const { governor, submitted } = governed();
  governor.fromClient(line({ id: 1, method: "server/discover", params: { _meta: meta("desk") } }));
  for (const [id, client] of [undefined, "desk", "clerk", ""].entries()) governor.fromClient(payBy(id + 2, client));
  expect(submitted.map(({ intent }) => intent.agent.id)).toEqual([unnamed_agent_id, "desk", "clerk", unnamed_agent_id]);
  await governor.end();
});

test("trims white space around a name, and ignores a name of white space only", async () => {
  const { governor, submitted } = governed();
  for (const [id, client] of [" desk\n", `${"c".repeat(127)} d`, " \u00a0"].entries())
    governor.fromClient(payBy(id, client));
  expect(submitted.map(({ intent }) => intent.agent.id)).toEqual(["desk", "c".repeat(127), unnamed_agent_id]);
  await governor.end();
});

test("does not resume one agent's review for another agent's call", async () => {
  const { governor, toClient, submitted } = governed(() => ({ outcome: null, status: "pending" }), { wait_ms: 0 });
  for (const [id, client] of ["desk", "clerk", "desk"].entries()) {
    governor.fromClient(payBy(id, client));
    await soon(() => expect(toClient).toHaveLength(id + 1));
  }
  expect(submitted.map(({ intent }) => intent.agent.id)).toEqual(["desk", "clerk"]);
  await governor.end();
});

test("takes the server's name from the first result that has one", async () => {
  const { governor, submitted, toServer } = governed();
  const _meta = { "io.modelcontextprotocol/serverInfo": { name: "bank", version: "1" } };
  governor.fromClient(payBy(1, "desk"));
  await soon(() => expect(toServer).toHaveLength(1));
  governor.fromServer(line({ id: 1, result: { resultType: "complete", content: [], _meta } }));
  governor.fromClient(payBy(2, "desk"));
  const type = "mcp_server";
  expect(submitted.map(({ intent }) => intent.action.target)).toEqual([{ type }, { type, identifier: "bank" }]);
  await governor.end();
});

test("states the type of a result only if the request named its revision", async () => {
  const { governor, toClient } = governed(() => ({ outcome: "block" }));
  governor.fromClient(payBy(1, "desk", { task: {} }));
  governor.fromClient(line({ id: 2, method: "tools/call", params: { name: "pay" } }));
  await soon(() => expect(toClient).toHaveLength(2));
  expect(toClient.map((each) => JSON.parse(each).result.resultType)).toEqual(["complete", undefined]);
});

test("decides on reads of resources: the client gets the text, or an error with the reason", async () => {
  let outcome: "approve" | "block" = "approve";
  const { client, submitted } = await connected(() => ({
    outcome,
    reasons: [{ policy: "p", message: "No." }] as never,
  }));
  expect((await client.readResource({ uri: "file:///news" })).contents).toMatchObject([{ text: "sunny" }]);
  expect(submitted).toMatchObject([
    { intent: { agent: { id: "desk" }, action: { type: "data.read", verb: "resources/read" } } },
  ]);
  outcome = "block";
  const blocked = client.readResource({ uri: "file:///news" }, { cacheMode: "bypass" });
  await expect(blocked).rejects.toMatchObject({ code: -32_010, message: expect.stringContaining("p: No.") });
});
