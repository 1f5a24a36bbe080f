/** Calls of several rounds, with the protocol's own client and server of revision 2026-07-28. */
import { acceptedContent, fromJsonSchema, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { connectedThrough, revision } from "../testing/connected-client.ts";
import type { Answering } from "../testing/fake-service.ts";
import { fakeService } from "../testing/fake-service.ts";
import { governed, line, soon } from "../testing/governed.ts";

/** `pay` asks twice before it pays, and keeps its state with the client. */
function bank(paid: unknown[]) {
  const server = new McpServer({ name: "bank", version: "1.0.0" });
  const schema = fromJsonSchema<{ n: number }>({ type: "object", properties: { n: { type: "number" } } });
  server.registerTool("pay", { inputSchema: schema }, ({ n }, { mcpReq: { inputResponses, requestState } }) => {
    const state = requestState<string>();
    if (state === undefined) return inputRequired({ requestState: "step 1" });
    const answer = acceptedContent<{ account: string }>(inputResponses, "account");
    if (answer === undefined) {
      const requestedSchema = { type: "object" as const, properties: { account: { type: "string" as const } } };
      const ask = inputRequired.elicit({ message: "From which account?", requestedSchema });
      return inputRequired({ inputRequests: { account: ask }, requestState: `${state}, step 2` });
    }
    paid.push([n, answer.account, state]);
    return { content: [{ type: "text", text: `paid ${n}` }] };
  });
  return server;
}

async function paying(answering?: Answering) {
  const service = fakeService(answering);
  const paid: unknown[] = [];
  const made = await connectedThrough(
    (ends) => governed(undefined, { ...ends, client: service.client }),
    () => bank(paid),
    { capabilities: { elicitation: { form: {} } } },
  );
  made.client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { account: "A" } }));
  await made.connect();
  return { ...made, ...service, paid, pay: (n: number) => made.client.callTool({ name: "pay", arguments: { n } }) };
}

test("three rounds are one action: one decision, one claim, and one outcome at the end", async () => {
  const { pay, paid, submitted, observed } = await paying();
  expect((await pay(5)).content).toEqual([{ type: "text", text: "paid 5" }]);
  expect(paid).toEqual([[5, "A", "step 1, step 2"]]);
  expect(submitted).toHaveLength(1);
  await soon(() => expect(observed).toEqual([{ intent_id: "int_1", status: "executed" }]));
});

test("each round is made with the modified arguments, and only the last answer reports the change", async () => {
  const { pay, paid, toClient } = await paying(() => ({ outcome: "approve_modified", modified_content: { n: 2 } }));
  expect(JSON.stringify(await pay(5))).toMatch(/paid 2.*Countersign changed this call/);
  expect(paid).toEqual([[2, "A", "step 1, step 2"]]);
  expect(toClient).toEqual([]);
});

const meta = { "io.modelcontextprotocol/protocolVersion": revision, "io.modelcontextprotocol/clientCapabilities": {} };
const payBy = (id: number, more: object = {}) =>
  line({ id, method: "tools/call", params: { name: "pay", arguments: { n: 1, to: "ann" }, _meta: meta, ...more } });
const asking = (id: number, more: object = { requestState: "of the server" }) =>
  line({ id, result: { resultType: "input_required", ...more } });
const complete = (id: number) => line({ id, result: { resultType: "complete", content: [] } });
const resultOf = (text = "{}") => JSON.parse(text).result;

/** Plays a client and a server of one call that has been answered with a request for input. */
async function begun(service = fakeService(), terms: Parameters<typeof governed>[1] = {}, more?: object) {
  const made = governed(undefined, { client: service.client, ...terms });
  made.governor.fromClient(payBy(1));
  await soon(() => expect(made.toServer).toHaveLength(1));
  made.governor.fromServer(asking(1, more));
  await soon(() => expect(made.toClient).toHaveLength(1));
  const { requestState } = resultOf(made.toClient[0]);
  return { ...made, ...service, requestState: requestState as string, inputResponses: { a: { action: "accept" } } };
}

test("the server gets its own state back, and the client's responses; without a state of its own it gets none", async () => {
  for (const [said, state] of [
    [{ requestState: "of the server" }, { requestState: "of the server" }],
    [{ inputRequests: { a: {} } }, {}],
  ] as const) {
    const { governor, toServer, requestState, inputResponses } = await begun(undefined, undefined, said);
    expect(requestState).not.toContain("server");
    governor.fromClient(payBy(2, { requestState, inputResponses }));
    await soon(() => expect(toServer).toHaveLength(2));
    const params = { name: "pay", arguments: { n: 1, to: "ann" }, _meta: meta, inputResponses, ...state };
    expect(JSON.parse(toServer[1] ?? "")).toEqual({ jsonrpc: "2.0", id: 2, method: "tools/call", params });
    await governor.end();
  }
});

test("a round goes on after a restart of the proxy, with the arguments in another order", async () => {
  const { requestState, client, submitted, observed } = await begun();
  const { governor, toServer, toClient } = governed(undefined, { client });
  governor.fromClient(payBy(7, { arguments: { to: "ann", n: 1 }, requestState }));
  await soon(() => expect(toServer).toHaveLength(1));
  governor.fromServer(complete(7));
  await soon(() => expect(toClient).toEqual([complete(7)]));
  expect([submitted.length, observed]).toEqual([1, [{ intent_id: "int_1", status: "executed" }]]);
});

test("a round is made once: its state is refused again, in another proxy, and after the end of the call", async () => {
  const { governor, toServer, toClient, requestState, client, submitted } = await begun();
  const other = governed(undefined, { client });
  governor.fromClient(payBy(2, { requestState }));
  governor.fromClient(payBy(3, { requestState }));
  other.governor.fromClient(payBy(2, { requestState }));
  await soon(() => expect([toServer.length, toClient.length, other.toClient.length]).toEqual([2, 2, 1]));
  governor.fromServer(complete(2));
  await soon(() => expect(toClient).toHaveLength(3));
  governor.fromClient(payBy(4, { requestState }));
  await soon(() => expect(toClient).toHaveLength(4));
  for (const each of [toClient[1], other.toClient[0], toClient[3]])
    expect(resultOf(each)).toMatchObject({
      ...{ resultType: "complete", isError: true, _meta: { "countersign/intent_id": "int_1" } },
      content: [{ text: expect.stringContaining("was made before") }],
    });
  expect([toServer.length, other.toServer.length, submitted.length]).toEqual([2, 0, 1]);
});

test.each([
  ["another tool", { name: "look" }, "belongs to another call"],
  ["other arguments", { arguments: { n: 2, to: "ann" } }, "belongs to another call"],
  ["another agent", { _meta: { ...meta, "io.modelcontextprotocol/clientInfo": { name: "x" } } }, "another call"],
])("a state is refused for %s, and nothing is done", async (_, more, text) => {
  const { governor, toServer, toClient, submitted, requestState } = await begun();
  governor.fromClient(payBy(2, { requestState, ...more }));
  await soon(() => expect(toClient).toHaveLength(2));
  expect(JSON.parse(toClient[1] ?? "{}").error).toMatchObject({
    code: -32_602,
    message: expect.stringMatching(`Nothing was done.*${text}`),
  });
  expect([toServer.length, submitted.length]).toEqual([1, 1]);
});

test("a forged, a changed, a foreign and an expired state are refused, and nothing is done", async () => {
  let now_ms = 0;
  const { governor, toServer, toClient, submitted, requestState } = await begun(undefined, { now_ms: () => now_ms });
  const foreign = await begun(undefined, { state_secret: "svc_other" });
  const at = requestState.length - 3;
  const changed = `${requestState.slice(0, at)}${requestState[at] === "A" ? "B" : "A"}${requestState.slice(at + 1)}`;
  for (const state of ["of the server", "countersign1.", "countersign1.AAAA", changed, foreign.requestState])
    governor.fromClient(payBy(toClient.length + 1, { requestState: state }));
  now_ms = 24 * 3_600_000;
  governor.fromClient(payBy(90, { requestState }));
  await soon(() => expect(toClient).toHaveLength(7));
  for (const each of toClient.slice(1))
    expect(each).toMatch(/Nothing was done: its requestState (does not come from this proxy|has expired)/);
  expect([toServer.length, submitted.length]).toEqual([1, 1]);
});

test.each([[{ requestState: 7 }], [{ RequestState: "s" }], [{ inputresponses: {} }]])(
  "refuses a call whose server may read a round that nobody decided on: %j",
  (more) => {
    const { governor, toServer, toClient, submitted } = governed();
    governor.fromClient(payBy(1, more));
    expect(JSON.parse(toClient[0] ?? "{}").error.code).toBe(-32_602);
    expect([...toServer, ...submitted]).toEqual([]);
  },
);

test("responses that nobody asked for are left out: the call is decided on, and made without them", async () => {
  const { governor, toServer } = governed();
  governor.fromClient(payBy(1, { inputResponses: { a: { action: "accept" } } }));
  await soon(() => expect(toServer).toHaveLength(1));
  expect(JSON.parse(toServer[0] ?? "{}").params).not.toHaveProperty("inputResponses");
});

test("a round without an answer of the service is not made, and the client may try it again", async () => {
  const service = fakeService();
  const { governor, toServer, toClient, requestState, observed } = await begun(service);
  const { claimIntent } = service.client;
  Object.assign(service.client, { claimIntent: () => Promise.reject(new Error("away")) });
  const away = governed(undefined, { client: service.client });
  away.governor.fromClient(payBy(2, { requestState }));
  await soon(() => expect(away.toClient[0]).toContain("Not decided, so nothing was done: away"));
  Object.assign(service.client, { claimIntent });
  governor.fromClient(payBy(3, { requestState }));
  await soon(() => expect(toServer).toHaveLength(2));
  governor.fromServer(line({ id: 3, error: { code: -32_602, message: "no such account" } }));
  await soon(() => expect(toClient).toHaveLength(2));
  expect([away.toServer, observed]).toMatchObject([[], [{ intent_id: "int_1", status: "failed" }]]);
});

test("a round that the client cancels before the server gets it is not made, and ends the action as failed", async () => {
  const { governor, toServer, observed, requestState } = await begun();
  governor.fromClient(payBy(2, { requestState }));
  governor.fromClient(line({ method: "notifications/cancelled", params: { requestId: 2 } }));
  await soon(() => expect(observed).toMatchObject([{ intent_id: "int_1", status: "failed" }]));
  expect(toServer).toHaveLength(1);
});

test("keeps the digits of an answer whose state it replaces", async () => {
  const { governor, toServer, toClient } = governed();
  governor.fromClient(payBy(1));
  await soon(() => expect(toServer).toHaveLength(1));
  governor.fromServer(asking(1).replace('"of the server"', '"s","n":9007199254740993,"m":1.0'));
  await soon(() => expect(toClient[0]).toContain('"n":9007199254740993,"m":1.0'));
});
