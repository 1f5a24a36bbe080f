/** Calls that wait until people accept the changed definition of their tool, in both revisions of the protocol. */
import { acceptedContent, fromJsonSchema, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import type { GovernorOptions } from "../governor.ts";
import { connectedThrough, revision } from "../testing/connected-client.ts";
import { type Answering, fakeService } from "../testing/fake-service.ts";
import { callOf, governed, line, soon } from "../testing/governed.ts";
import { memoryPins } from "../testing/memory-pins.ts";

const pageOf = (id: string) => `https://countersign.test/escalations/${id}`;
const isChange = ({ intent }: Parameters<Answering>[0]) => intent.action.verb === "accept_tool_change";
/** People decide on changes of tools. */
const changesHeld: Answering = (submission) =>
  isChange(submission) ? { outcome: null, status: "pending", escalation_id: "esc_tool" } : { outcome: "approve" };
/** People decide on calls, too. */
const allHeld: Answering = (submission) => ({
  ...{ outcome: null, status: "pending" },
  escalation_id: isChange(submission) ? "esc_tool" : "esc_call",
});

const asked = { "io.modelcontextprotocol/clientCapabilities": { elicitation: { url: {} } } };
const _meta = { "io.modelcontextprotocol/protocolVersion": revision, ...asked };
const payBy = (id: number, more: object = {}) =>
  line({ id, method: "tools/call", params: { name: "pay", arguments: { n: 1 }, _meta, ...more } });
const accept = { countersign_review: { action: "accept" } };

/** A governor whose client has listed the tool `pay`, which was pinned with another definition. */
function changedTool(answering: Answering, terms: Partial<GovernorOptions> = {}, service = fakeService(answering)) {
  const { store, pins } = memoryPins();
  store.pinFirst("pay", { description: "pays" });
  const { governor, toServer, toClient } = governed(undefined, { client: service.client, pins: store, ...terms });
  const list = (description: string) => {
    governor.fromClient(line({ id: "l", method: "tools/list" }));
    governor.fromServer(line({ id: "l", result: { tools: [{ name: "pay", description }] } }));
  };
  list("pays all");
  const made = () => toServer.filter((each) => JSON.parse(each).method === "tools/call");
  const said = () => toClient.map((each) => JSON.parse(each)).filter(({ id }) => id !== "l");
  /** Makes the call, and returns its next answer. */
  const answerTo = async (id: number, more: object = {}) => {
    governor.fromClient(payBy(id, more));
    const answer = () => said().find((each) => each.id === id)?.result;
    await soon(() => expect(answer()).toBeDefined());
    return answer();
  };
  return { governor, service, pins, list, made, said, answerTo };
}

test("a client of 2026-07-28 opens the page of the change, comes back by itself, and the call goes on", async () => {
  const { governor, service, pins, made, answerTo } = changedTool(changesHeld);
  const { resultType, inputRequests, requestState } = await answerTo(1);
  expect(resultType).toBe("input_required");
  const message =
    'A person must decide on the changed definition of the tool "pay" first. Open the review in Countersign.';
  expect(inputRequests.countersign_review.params).toEqual({ mode: "url", url: pageOf("esc_tool"), message });
  governor.fromClient(payBy(2, { requestState, inputResponses: accept }));
  await soon(() => expect(service.waiting()).toBe(1));
  expect(made()).toEqual([]);
  service.rule({ outcome: "approve" });
  // The server gets neither the proxy's state nor the responses to it.
  await soon(() => expect(made()).toEqual([payBy(2)]));
  expect([service.submitted.length, pins.get("pay")]).toEqual([2, { description: "pays all" }]);
});

test("a wait for the definition goes on after a restart, and the page is not shown again", async () => {
  const first = changedTool(changesHeld);
  const { requestState } = await first.answerTo(1);
  await first.governor.end();
  const later = changedTool(changesHeld, undefined, first.service);
  later.governor.fromClient(payBy(2, { requestState, inputResponses: accept }));
  await soon(() => expect(first.service.waiting()).toBe(1));
  expect(later.said()).toEqual([]);
  first.service.rule({ outcome: "approve" });
  await soon(() => expect(later.made()).toEqual([payBy(2)]));
});

test("after people accepted the definition, the client opens the page of the call's own review", async () => {
  const { governor, service, made, answerTo } = changedTool(allHeld);
  const first = await answerTo(1);
  service.rule({ outcome: "approve" });
  const second = await answerTo(2, { requestState: first.requestState, inputResponses: accept });
  expect(second.inputRequests.countersign_review.params).toMatchObject({
    url: pageOf("esc_call"),
    message: expect.stringContaining('the call of "pay"'),
  });
  governor.fromClient(payBy(3, { requestState: second.requestState, inputResponses: accept }));
  service.rule({ outcome: "approve" }, "int_2");
  await soon(() => expect(made()).toEqual([payBy(3)]));
  expect(service.submitted).toHaveLength(2);
});

test("a tool that changes during the call's review is asked about, and then the same review goes on", async () => {
  const { governor, service, list, made, answerTo } = changedTool(allHeld);
  list("pays");
  const accepted = await answerTo(1);
  service.rule({ outcome: "approve" });
  const held = await answerTo(2, { requestState: accepted.requestState, inputResponses: accept });
  list("pays everybody");
  const changed = await answerTo(3, { requestState: held.requestState, inputResponses: accept });
  expect(changed.inputRequests.countersign_review.params.url).toBe(pageOf("esc_tool"));
  service.rule({ outcome: "approve" }, "int_3");
  governor.fromClient(payBy(4, { requestState: changed.requestState, inputResponses: accept }));
  await soon(() => expect(service.waiting()).toBe(1));
  service.rule({ outcome: "approve" }, "int_2");
  await soon(() => expect(made()).toEqual([payBy(4)]));
  // Two changes and one call.
  expect(service.submitted).toHaveLength(3);
});

test("a user who does not open the page of the change gets the model to know that the call still waits", async () => {
  const { made, answerTo } = changedTool(changesHeld);
  const { requestState } = await answerTo(1);
  const declined = { countersign_review: { action: "decline" } };
  expect(await answerTo(2, { requestState, inputResponses: declined })).toMatchObject({
    ...{ resultType: "complete", isError: true, _meta: { "countersign/intent_id": "int_1" } },
    content: [{ text: expect.stringMatching(/must still decide.*Call the tool again/) }],
  });
  expect(made()).toEqual([]);
});

test("a client of 2025-11-25 is asked once to open the page of the change, and hears of the ruling", async () => {
  const { governor, service, made, said } = changedTool(changesHeld, { wait_ms: 0 });
  const params = { capabilities: { elicitation: { url: {} } }, clientInfo: { name: "desk" } };
  governor.fromClient(line({ id: 0, method: "initialize", params }));
  governor.fromClient(line({ id: 1, method: "tools/call", params: { name: "pay", _meta: { progressToken: "t" } } }));
  governor.fromClient(callOf(2));
  await soon(() => expect(said().filter(({ result }) => result?.isError)).toHaveLength(2));
  const shown = said().filter(({ method }) => method === "elicitation/create");
  expect(shown).toMatchObject([{ params: { mode: "url", url: pageOf("esc_tool") } }]);
  expect(said()).toContainEqual(
    expect.objectContaining({ params: { progressToken: "t", progress: 0.001, message: expect.any(String) } }),
  );
  service.rule({ outcome: "approve" });
  const complete = { method: "notifications/elicitation/complete", params: { elicitationId: shown[0].id } };
  await soon(() => expect(said()).toContainEqual(expect.objectContaining(complete)));
  governor.fromClient(callOf(3));
  await soon(() => expect(made()).toEqual([callOf(3)]));
});

test("the definition and the call wait within one time limit, because clients give up after theirs", async () => {
  let now_ms = 0;
  const { governor, service, made, said } = changedTool(allHeld, { now_ms: () => now_ms });
  governor.fromClient(callOf(1));
  await soon(() => expect(service.waiting()).toBe(1));
  now_ms = 60_000;
  service.rule({ outcome: "approve" });
  await soon(() => expect(said()).toMatchObject([{ id: 1, result: { isError: true } }]));
  expect(said()[0].result.content[0].text).toContain(pageOf("esc_call"));
  expect(made()).toEqual([]);
});

test("a round of a call that was made before the change goes on without a question", async () => {
  const { governor, service, list, made, said, answerTo } = changedTool(changesHeld);
  const held = await answerTo(1);
  service.rule({ outcome: "approve" });
  governor.fromClient(payBy(2, { requestState: held.requestState, inputResponses: accept }));
  await soon(() => expect(made()).toHaveLength(1));
  governor.fromServer(line({ id: 2, result: { resultType: "input_required", requestState: "s" } }));
  await soon(() => expect(said().at(-1)).toMatchObject({ id: 2 }));
  const { requestState } = said().at(-1).result;
  list("pays everybody");
  governor.fromClient(payBy(3, { requestState }));
  await soon(() => expect(made()).toEqual([payBy(2), payBy(3, { requestState: "s" })]));
  expect(service.submitted).toHaveLength(2);
});

test("with the protocol's own client and server: the page of the change, then the server's question, and one call", async () => {
  const service = fakeService(changesHeld);
  const paid: unknown[] = [];
  const { store } = memoryPins();
  store.pinFirst("pay", { description: "pays" });
  const { client, connect } = await connectedThrough(
    (ends) => governed(undefined, { ...ends, client: service.client, pins: store }),
    () => {
      const server = new McpServer({ name: "bank", version: "1" });
      const inputSchema = fromJsonSchema<{ n: number }>({ type: "object", properties: { n: { type: "number" } } });
      server.registerTool("pay", { inputSchema }, ({ n }, { mcpReq: { inputResponses } }) => {
        const answer = acceptedContent<{ account: string }>(inputResponses, "account");
        const requestedSchema = { type: "object" as const, properties: { account: { type: "string" as const } } };
        const account = inputRequired.elicit({ message: "From which account?", requestedSchema });
        if (answer === undefined) return inputRequired({ inputRequests: { account }, requestState: "s" });
        paid.push([n, answer.account]);
        return { content: [{ type: "text", text: "paid" }] };
      });
      return server;
    },
    { capabilities: { elicitation: { url: {}, form: {} } } },
  );
  const opened: unknown[] = [];
  client.setRequestHandler("elicitation/create", ({ params }) => {
    if (params.mode !== "url") return { action: "accept", content: { account: "A" } };
    opened.push(params.url);
    service.rule({ outcome: "approve" }, "int_1");
    return { action: "accept" };
  });
  await connect();
  await client.listTools();
  expect((await client.callTool({ name: "pay", arguments: { n: 5 } })).content).toEqual([
    { type: "text", text: "paid" },
  ]);
  expect([opened, paid, service.submitted.length]).toEqual([[pageOf("esc_tool")], [[5, "A"]], 2]);
  await soon(() =>
    expect(service.observed).toMatchObject([
      { intent_id: "int_1", status: "executed" },
      { intent_id: "int_2", status: "executed" },
    ]),
  );
});
