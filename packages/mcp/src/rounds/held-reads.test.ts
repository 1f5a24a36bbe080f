/** Reads and prompts that people decide on, and that the server answers in several rounds. */
import { acceptedContent, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { connectedThrough, revision } from "../testing/connected-client.ts";
import { fakeService } from "../testing/fake-service.ts";
import { governed, line, soon } from "../testing/governed.ts";

const held = () => fakeService(() => ({ outcome: null, status: "pending", escalation_id: "esc_1" }));
const page = "https://countersign.test/escalations/esc_1";

/** Asks the user for a password before it gives the resource or the prompt. */
function library() {
  const server = new McpServer({ name: "library", version: "1" });
  const requestedSchema = { type: "object" as const, properties: { word: { type: "string" as const } } };
  const password = inputRequired.elicit({ message: "The password?", requestedSchema });
  const wordIn = (responses: Parameters<typeof acceptedContent>[0]) =>
    acceptedContent<{ word: string }>(responses, "password")?.word;
  const ask = inputRequired({ inputRequests: { password }, requestState: "of the server" });
  server.registerResource("diary", "file:///diary", {}, (uri, { mcpReq: { inputResponses } }) => {
    const word = wordIn(inputResponses);
    return word === undefined ? ask : { contents: [{ uri: uri.href, text: `opened with ${word}` }] };
  });
  server.registerPrompt("greet", {}, ({ mcpReq: { inputResponses } }) => {
    const word = wordIn(inputResponses);
    if (word === undefined) return ask;
    return { messages: [{ role: "user", content: { type: "text", text: `opened with ${word}` } }] };
  });
  return server;
}

async function reading() {
  const service = held();
  const made = await connectedThrough((ends) => governed(undefined, { ...ends, client: service.client }), library, {
    capabilities: { elicitation: { url: {}, form: {} } },
  });
  const opened: unknown[] = [];
  made.client.setRequestHandler("elicitation/create", ({ params }) => {
    if (params.mode !== "url") return { action: "accept", content: { word: "sesame" } };
    opened.push(params);
    service.rule({ outcome: "approve" }, "int_1");
    return { action: "accept" };
  });
  await made.connect();
  return { client: made.client, opened, service };
}

test.each([
  ['the read of "file:///diary"', (client: Reader) => client.readResource({ uri: "file:///diary" })],
  ['the prompt "greet"', (client: Reader) => client.getPrompt({ name: "greet" })],
] as const)("%s: the page of the review, then the server's question, and one action", async (about, read) => {
  const { client, opened, service } = await reading();
  expect(JSON.stringify(await read(client))).toContain("opened with sesame");
  const message = `A person must decide on ${about} first. Open the review in Countersign.`;
  expect(opened).toEqual([{ mode: "url", url: page, message }]);
  expect(service.submitted).toHaveLength(1);
  await soon(() => expect(service.observed).toEqual([{ intent_id: "int_1", status: "executed" }]));
});

type Reader = Awaited<ReturnType<typeof reading>>["client"];

const url = { elicitation: { url: {} } };
const _meta = {
  "io.modelcontextprotocol/protocolVersion": revision,
  "io.modelcontextprotocol/clientCapabilities": url,
};
const readBy = (id: number, more: object = {}) =>
  line({ id, method: "resources/read", params: { uri: "file:///diary", _meta, ...more } });
const answerOf = (said: string | undefined) => JSON.parse(said ?? "{}");

test("the state of a read serves this read only, also when another one of the same kind asks", async () => {
  const service = fakeService();
  const { governor, toServer, toClient } = governed(undefined, { client: service.client });
  governor.fromClient(readBy(1));
  await soon(() => expect(toServer).toHaveLength(1));
  governor.fromServer(line({ id: 1, result: { resultType: "input_required", requestState: "s" } }));
  await soon(() => expect(toClient).toHaveLength(1));
  const { requestState } = answerOf(toClient[0]).result;
  governor.fromClient(readBy(2, { requestState, uri: "file:///secrets" }));
  await soon(() => expect(answerOf(toClient[1]).error.message).toContain("belongs to another call"));
  governor.fromClient(readBy(3, { requestState }));
  await soon(() => expect(toServer.slice(1)).toEqual([readBy(3, { requestState: "s" })]));
  expect(service.submitted).toHaveLength(1);
});

test("a user who does not open the page of a read gets an error that says how to go on", async () => {
  const { governor, toServer, toClient } = governed(undefined, { client: held().client });
  governor.fromClient(readBy(1));
  await soon(() => expect(toClient).toHaveLength(1));
  const { requestState } = answerOf(toClient[0]).result;
  governor.fromClient(readBy(2, { requestState, inputResponses: { countersign_review: { action: "cancel" } } }));
  await soon(() => expect(toClient).toHaveLength(2));
  expect(answerOf(toClient[1]).error).toMatchObject({
    code: -32_010,
    message: expect.stringMatching(/nothing was done. Read the resource again to continue waiting/),
  });
  expect(toServer).toEqual([]);
});

test("a client of 2025-11-25 is asked to open the page of a read, with a long address cut", async () => {
  const service = held();
  const { governor, toServer, toClient } = governed(undefined, { client: service.client });
  governor.fromClient(line({ id: 0, method: "initialize", params: { capabilities: url } }));
  const read = line({ id: 1, method: "resources/read", params: { uri: `file:///${"a".repeat(5_000)}` } });
  governor.fromClient(read);
  await soon(() => expect(toClient).toHaveLength(1));
  const { method, params } = answerOf(toClient[0]);
  expect([method, params.url]).toEqual(["elicitation/create", page]);
  expect(params.message).toMatch(/^A person must decide on the read of "file:\/\/\/a{192}…" first\./);
  service.rule({ outcome: "approve" });
  await soon(() => expect(toServer.at(-1)).toBe(read));
});
