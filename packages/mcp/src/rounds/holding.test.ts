/** Calls that wait for people. */
import type { Client as LaterClient } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { ElicitationCompleteNotificationSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { fromJsonSchema, McpServer } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import type { GovernorOptions } from "../governor.ts";
import { connectedThrough, revision } from "../testing/connected-client.ts";
import { fakeService } from "../testing/fake-service.ts";
import { callOf, governed, line, soon } from "../testing/governed.ts";

const held = () => fakeService(() => ({ outcome: null, status: "pending", escalation_id: "esc_1" }));
const page = "https://countersign.test/escalations/esc_1";

function bank() {
  const server = new McpServer({ name: "bank", version: "1.0.0" });
  const schema = fromJsonSchema<{ n: number }>({ type: "object", properties: { n: { type: "number" } } });
  server.registerTool("pay", { inputSchema: schema }, ({ n }) => ({ content: [{ type: "text", text: `paid ${n}` }] }));
  return server;
}

/** The protocol's own client of revision 2026-07-28, which can open pages. */
async function connected(service: ReturnType<typeof fakeService>, terms: Partial<GovernorOptions> = {}) {
  const made = await connectedThrough(
    (ends) => governed(undefined, { client: service.client, ...ends, ...terms }),
    bank,
    { capabilities: { elicitation: { url: {} } } },
  );
  await made.connect();
  return made;
}

const opening = (client: LaterClient, opened: unknown[], action: "accept" | "decline" = "accept") =>
  client.setRequestHandler("elicitation/create", ({ params }) => {
    opened.push(params);
    return { action };
  });
const pay = (client: LaterClient) => client.callTool({ name: "pay", arguments: { n: 1 } });

test("a client of 2026-07-28 shows the page of the review, comes back by itself, and gets the result of one action", async () => {
  const service = held();
  const { client } = await connected(service, { wait_ms: 0 });
  const opened: unknown[] = [];
  opening(client, opened);
  const paying = pay(client);
  // The client comes back without the model until people decide.
  await soon(() => expect(opened).toHaveLength(1));
  service.rule({ outcome: "approve" }, "int_1");
  expect((await paying).content).toEqual([{ type: "text", text: "paid 1" }]);
  expect(opened).toMatchObject([{ mode: "url", url: page, message: expect.stringContaining('"pay"') }]);
  await soon(() => expect(service.observed).toEqual([{ intent_id: "int_1", status: "executed" }]));
  expect(service.submitted).toHaveLength(1);
});

test("a user who does not open the page gets the model to know that the call still waits", async () => {
  const service = held();
  const { client } = await connected(service);
  opening(client, [], "decline");
  expect(await pay(client)).toMatchObject({
    ...{ isError: true, _meta: { "countersign/intent_id": "int_1" } },
    content: [{ text: expect.stringMatching(/must still decide.*Call the tool again/) }],
  });
});

const url = { elicitation: { url: {} } };
const payBy = (id: number, more: object = {}, capabilities: object = url) => {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": revision,
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  };
  return line({ id, method: "tools/call", params: { name: "pay", arguments: { n: 1, to: "ann" }, _meta, ...more } });
};
const resultOf = (text = "{}") => JSON.parse(text).result;

test("the state of a held call resumes its review after a restart, and its approval serves one call", async () => {
  const service = held();
  const first = governed(undefined, { client: service.client });
  first.governor.fromClient(payBy(1));
  await soon(() => expect(first.toClient).toHaveLength(1));
  const { resultType, inputRequests, requestState } = resultOf(first.toClient[0]);
  expect([resultType, Object.values(inputRequests)]).toMatchObject(["input_required", [{ params: { url: page } }]]);
  await first.governor.end();

  const inputResponses = { countersign_review: { action: "accept" } };
  const later = [0, 1].map(() => governed(undefined, { client: service.client }));
  for (const { governor } of later) governor.fromClient(payBy(2, { requestState, inputResponses }));
  service.rule({ outcome: "approve" }, "int_1");
  const toServer = () => later.flatMap((each) => each.toServer);
  const toClient = () => later.flatMap((each) => each.toClient);
  await soon(() => expect([toServer().length, toClient().length]).toEqual([1, 1]));
  // The server gets neither the proxy's state nor the responses to it.
  expect(toServer()).toEqual([payBy(2)]);
  expect(toClient()[0]).toContain("Claimed before");
  expect(service.submitted).toHaveLength(1);
});

test("after eight rounds without a ruling the model gets the advice to call again, and an equal call resumes the review", async () => {
  const service = held();
  const { governor, toClient } = governed(undefined, { client: service.client, wait_ms: 0 });
  let more: object = {};
  for (let id = 1; id <= 9; id += 1) {
    governor.fromClient(payBy(id, more));
    await soon(() => expect(toClient).toHaveLength(id));
    const { requestState, inputRequests } = resultOf(toClient[id - 1]);
    expect(inputRequests === undefined).toBe(id > 1);
    more = { requestState };
  }
  expect(resultOf(toClient[8])).toMatchObject({
    ...{ resultType: "complete", isError: true },
    content: [{ text: expect.stringMatching(`Call the tool again.*The review: ${page}`) }],
  });
  governor.fromClient(payBy(10, { arguments: { to: "ann", n: 1 } }));
  await soon(() => expect(toClient).toHaveLength(10));
  expect(service.submitted).toHaveLength(1);
});

test("a client that cannot open pages waits, and then the model gets the advice to call again", async () => {
  const service = held();
  const { governor, toClient } = governed(undefined, { client: service.client, wait_ms: 0 });
  governor.fromClient(payBy(1, {}, { elicitation: {} }));
  await soon(() => expect(toClient).toHaveLength(1));
  expect(resultOf(toClient[0])).toMatchObject({ resultType: "complete", isError: true });
});

const initialize = line({ id: 0, method: "initialize", params: { capabilities: url, clientInfo: { name: "desk" } } });

test("a client of 2025-11-25 is asked to open the page while its call waits, and hears when people have decided", async () => {
  const service = held();
  const { governor, toServer, toClient } = governed(undefined, { client: service.client });
  governor.fromClient(initialize);
  governor.fromServer(line({ id: 0, result: {} }));
  governor.fromClient(callOf(1));
  await soon(() => expect(toClient).toHaveLength(2));
  const { id, method, params } = JSON.parse(toClient[1] ?? "");
  expect([method, params]).toMatchObject(["elicitation/create", { mode: "url", url: page, elicitationId: id }]);
  governor.fromClient(line({ id, result: { action: "decline" } }));
  governor.fromClient(line({ id, result: { action: "accept" } }));
  // The first answer is for the proxy. Nobody but the server can have asked for the second one.
  expect(toServer.slice(1)).toEqual([line({ id, result: { action: "accept" } })]);
  service.rule({ outcome: "approve" }, "int_1");
  await soon(() => expect(toServer.slice(2)).toEqual([callOf(1)]));
  const complete = { method: "notifications/elicitation/complete", params: { elicitationId: id } };
  expect(toClient.slice(2)).toEqual([line(complete)]);
});

test("the protocol's own client of 2025-11-25 opens the page, and a later equal call tells it of the ruling", async () => {
  const service = held();
  const [clientEnd, governorEnd] = InMemoryTransport.createLinkedPair();
  const { governor, toServer } = governed(undefined, {
    ...{ client: service.client, wait_ms: 0 },
    toClient: (said) => void governorEnd.send(JSON.parse(said)),
  });
  governorEnd.onmessage = (message) => governor.fromClient(JSON.stringify(message));
  const client = new Client({ name: "desk", version: "1" }, { capabilities: { elicitation: { url: {} } } });
  const opened: unknown[] = [];
  const complete: unknown[] = [];
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    opened.push(params);
    return { action: "accept" };
  });
  client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => {
    complete.push(params.elicitationId);
  });
  const answer = (result: object) => {
    const { id } = JSON.parse(toServer.at(-1) ?? "");
    governor.fromServer(line({ id, result }));
  };
  const connecting = client.connect(clientEnd);
  await soon(() => expect(toServer.at(-1)).toContain("initialize"));
  answer({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "bank", version: "1" } });
  await connecting;
  const call = { name: "pay", arguments: { n: 1 } };
  expect(await client.callTool(call)).toMatchObject({ isError: true });
  await soon(() => expect(opened).toMatchObject([{ mode: "url", url: page }]));
  service.rule({ outcome: "approve" }, "int_1");
  const paying = client.callTool(call);
  await soon(() => expect(toServer.at(-1)).toContain("tools/call"));
  answer({ content: [] });
  expect(await paying).toEqual({ content: [] });
  expect(complete).toEqual([(opened[0] as { elicitationId: string }).elicitationId]);
  await client.close();
});

test("a user is asked to open the page once for a review, however often the model calls again", async () => {
  const service = held();
  const { governor, toClient } = governed(undefined, { client: service.client, wait_ms: 0 });
  governor.fromClient(initialize);
  for (const [at, given] of [
    { n: 1, to: "ann" },
    { to: "ann", n: 1 },
  ].entries()) {
    governor.fromClient(callOf(at + 1, "pay", given));
    await soon(() => expect(toClient).toHaveLength(at + 2));
  }
  expect(toClient.filter((each) => each.includes("elicitation/create"))).toHaveLength(1);
  expect(service.submitted).toHaveLength(1);
});

test("a call that waits when the connection ends stays in review", async () => {
  const withdrawn: string[] = [];
  const service = held();
  const withdrawEscalation = async (escalation_id: string) => withdrawn.push(escalation_id) as never;
  const { governor, submitted } = governed(undefined, { client: { ...service.client, withdrawEscalation } });
  governor.fromClient(callOf(1));
  await soon(() => expect([...submitted, ...service.submitted]).toHaveLength(1));
  await governor.end();
  expect(withdrawn).toEqual([]);
});

test("a server that ends is reported to the model: for a call that waits, and for one that the server has", async () => {
  const service = fakeService(({ intent }) =>
    intent.action.verb === "look" ? { outcome: "approve" } : { outcome: null, status: "pending", escalation_id: "e" },
  );
  const { governor, toServer, toClient } = governed(undefined, { client: service.client });
  governor.fromClient(callOf("made", "look"));
  governor.fromClient(callOf("held"));
  governor.fromClient(callOf("unlisted", "new"));
  await soon(() => expect([toServer.length, service.submitted.length]).toEqual([2, 2]));
  await governor.end("server");
  const texts = Object.fromEntries(toClient.map((each) => [JSON.parse(each).id, resultOf(each).content[0].text]));
  expect(texts).toEqual({
    held: "The server has ended. Nothing was done.",
    unlisted: "The server has ended. Nothing was done.",
    made: expect.stringContaining("Find out whether the call was executed"),
  });
  expect(service.observed).toMatchObject([{ intent_id: "int_1", status: "failed" }]);
});
