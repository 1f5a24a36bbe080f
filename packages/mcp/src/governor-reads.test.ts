import { expect, test } from "vitest";
import { governed, line, soon } from "./testing/governed.ts";

const read = (id: unknown, params: object = { uri: "file:///a" }) => line({ id, method: "resources/read", params });
const get = (id: unknown, params: object = { name: "greet", arguments: { to: "ann" } }) =>
  line({ id, method: "prompts/get", params });
const text = (said: string | undefined) => JSON.parse(said ?? "").error?.message;

test("a read is submitted as data.read with the URI, and passes unchanged if approved", async () => {
  const { governor, toServer, toClient, submitted, observed } = governed();
  governor.fromClient(read(1, { uri: "file:///a", _meta: { size: 1.0 } }));
  await soon(() => expect(toServer).toEqual([read(1, { uri: "file:///a", _meta: { size: 1.0 } })]));
  expect(submitted[0]?.intent).toMatchObject({
    action: { type: "data.read", verb: "resources/read", target: { type: "mcp_server" } },
    payload: { content: { uri: "file:///a" } },
  });
  const answer = line({ id: 1, result: { contents: [{ uri: "file:///a", text: "secret" }] } });
  governor.fromServer(answer);
  await soon(() => expect(observed).toMatchObject([{ status: "executed" }]));
  expect(toClient).toEqual([answer]);
});

test("a prompt is submitted with its name and arguments, and without arguments if it has none", async () => {
  const { governor, toServer, submitted } = governed();
  for (const [id, params] of [{ name: "greet", arguments: { to: "ann" } }, { name: "greet" }].entries()) {
    governor.fromClient(get(id, params));
    await soon(() => expect(toServer.at(-1)).toBe(get(id, params)));
    expect(submitted.at(-1)?.intent).toMatchObject({ action: { type: "data.read", verb: "prompts/get" } });
    expect(submitted.at(-1)?.intent.payload?.content).toEqual(params);
  }
});

test.each([read, get])("a blocked read never reaches the server, and its error has the reason", async (asked) => {
  const { governor, toServer, toClient } = governed(() => ({
    outcome: "block",
    reasons: [{ policy: "no-secrets", message: "Secret." }] as never,
  }));
  governor.fromClient(asked(1));
  await soon(() => expect(toClient).toHaveLength(1));
  const data = { "countersign/intent_id": "int_1" };
  expect(JSON.parse(toClient[0] ?? "").error).toMatchObject({ code: -32_010, data });
  expect(text(toClient[0])).toContain("no-secrets: Secret.");
  expect(toServer).toEqual([]);
});

test("a held read waits for people, and an equal read after the wait resumes its review", async () => {
  const { governor, toServer, toClient, submitted } = governed(() => ({ status: "pending" }), { wait_ms: 1 });
  governor.fromClient(read(1));
  await soon(() => expect(text(toClient[0])).toContain("Read the resource again to continue waiting."));
  governor.fromClient(line({ id: 2, method: "tools/call", params: { name: "look", arguments: { uri: "file:///a" } } }));
  await soon(() => expect(submitted).toHaveLength(2));
  governor.fromClient(read(3));
  await soon(() => expect(toClient).toHaveLength(3));
  expect([submitted.length, toServer.length]).toEqual([2, 0]);
});

test("the server gets the changed URI, and nothing of the asked one; the client gets a note with the resource", async () => {
  const { governor, toServer, toClient } = governed(({ intent }) => ({
    outcome: "approve_modified",
    modified_content: intent.action.verb === "prompts/get" ? { name: "greet" } : { uri: "file:///public" },
  }));
  governor.fromClient(read(1));
  await soon(() => expect(toServer).toEqual([read(1, { uri: "file:///public" })]));
  governor.fromServer(line({ id: 1, result: { contents: [{ uri: "file:///public", text: "news" }] } }));
  await soon(() => expect(toClient).toHaveLength(1));
  const changed = expect.stringContaining('{"uri":"file:///public"}');
  const note = { uri: "countersign://intents/int_1", mimeType: "text/plain", text: changed };
  expect(JSON.parse(toClient[0] ?? "").result.contents).toEqual([{ uri: "file:///public", text: "news" }, note]);
  governor.fromClient(get(2));
  await soon(() => expect(toServer[1]).toBe(get(2, { name: "greet" })));
  governor.fromServer(line({ id: 2, result: { messages: [] } }));
  await soon(() => expect(toClient).toHaveLength(2));
  const said = { role: "user", content: { type: "text", text: expect.stringContaining('{"name":"greet"}') } };
  expect(JSON.parse(toClient[1] ?? "").result.messages).toEqual([said]);
});

test.each([
  read(1, {}),
  read(1, { uri: 1 }),
  read(1, { uri: "file:///a", URI: "file:///b" }),
  get(1, { name: ["greet"] }),
  get(1, { name: "greet", arguments: [] }),
  get(1, { name: "greet", Arguments: {} }),
])("a malformed read, or one that a lenient server reads otherwise, is refused: %s", (asked) => {
  const { governor, toServer, toClient, submitted } = governed();
  governor.fromClient(asked);
  expect(JSON.parse(toClient[0] ?? "").error.code).toBe(-32_602);
  expect([toServer, submitted]).toEqual([[], []]);
});

test.each(["Resources/Read", "resources/read ", "prompts/g\u200bet"])(
  "a look-alike method is refused: %j",
  (method) => {
    const { governor, toServer, toClient } = governed();
    governor.fromClient(line({ id: 1, method, params: { uri: "file:///a" } }));
    expect(JSON.parse(toClient[0] ?? "").error.code).toBe(-32_601);
    expect(toServer).toEqual([]);
  },
);

test("reads count as without side effects only if the server's annotations are trusted", async () => {
  const { governor, submitted } = governed(undefined, { trust_annotations: true });
  governor.fromClient(read(1));
  await soon(() => expect(submitted[0]?.context?.facts).toEqual({ security: { side_effect: false } }));
  const { governor: plain, submitted: without } = governed();
  plain.fromClient(read(1));
  await soon(() => expect(without).toHaveLength(1));
  expect(without[0]?.context).toBeUndefined();
});
