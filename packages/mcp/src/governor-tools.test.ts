import fc from "fast-check";
import { expect, test } from "vitest";
import { callOf, governed, line, soon } from "./testing/governed.ts";

/** Returns a governor whose server answers nothing by itself, and whose client has not listed tools. */
function unlisted(...[answering, terms]: Parameters<typeof governed>) {
  const toServer: string[] = [];
  const heard = governed(answering, { toServer: (said) => void toServer.push(said), ...terms });
  const lists = () => toServer.map((each) => JSON.parse(each)).filter(({ method }) => method === "tools/list");
  const list = (names: readonly string[], nextCursor?: string) => {
    const tools = names.map((name) => ({ name, title: `the ${name}` }));
    heard.governor.fromServer(line({ id: lists().at(-1).id, result: { tools, nextCursor } }));
  };
  return { ...heard, toServer, lists, list };
}

const unknown = (id: number, name: string) => line({ id, error: { code: -32_602, message: `Unknown tool: ${name}` } });

test("lists the tools itself once before the first call, unseen by the client", async () => {
  const { governor, toServer, toClient, submitted, lists, list } = unlisted();
  for (const id of [1, 2]) governor.fromClient(callOf(id, "pay", { n: id }));
  expect([lists().length, toServer.length, submitted]).toEqual([1, 1, []]);
  list(["look"], "page 2");
  await soon(() => expect(lists().at(-1)?.params).toEqual({ cursor: "page 2" }));
  list(["pay"]);
  await soon(() => expect(toServer.slice(2)).toEqual([callOf(1), callOf(2, "pay", { n: 2 })]));
  expect(submitted[0]?.intent.payload?.summary).toBe("the pay");
  governor.fromClient(callOf(3, "look"));
  await soon(() => expect(toServer.slice(4)).toEqual([callOf(3, "look")]));
  expect(toClient).toEqual([]);
  await governor.end();
});

test.each(["Pay", "pay ", "p\u0430y", "pay\u200b", "pays", "toString"])(
  "answers a call of an unlisted tool as the protocol says: %j",
  async (name) => {
    const { governor, toServer, toClient, submitted, notes, list } = unlisted();
    governor.fromClient(callOf(1, name));
    list(["pay", "look"]);
    await soon(() => expect(toClient).toEqual([unknown(1, name)]));
    expect([submitted.length, toServer.length, notes.length]).toEqual([0, 1, 1]);
  },
);

test("finds a tool that the server added, with or without its notification", async () => {
  const { governor, toServer, toClient, submitted, lists, list } = unlisted();
  governor.fromClient(callOf(1));
  list(["pay"]);
  await soon(() => expect(toServer).toHaveLength(2));
  governor.fromClient(callOf(2, "look"));
  list(["pay", "look"]);
  await soon(() => expect(toServer.at(-1)).toBe(callOf(2, "look")));
  const changed = '{"jsonrpc":"2.0","method":"notifications\\/tools\\/list_changed"}';
  governor.fromServer(changed);
  governor.fromClient(callOf(3));
  expect(lists()).toHaveLength(3);
  // A change during the listing begins it again.
  list(["pay"], "page 2");
  await soon(() => expect(lists()).toHaveLength(4));
  governor.fromServer(changed);
  list(["pay"]);
  await soon(() => expect(lists()).toHaveLength(5));
  list(["look"]);
  await soon(() => expect(toClient).toEqual([changed, changed, unknown(3, "pay")]));
  expect(submitted).toHaveLength(2);
  await governor.end();
});

test.each([{ error: { code: -32_601, message: "no such method" } }, { result: null }])(
  "makes no call without a list, and the next call asks for it again: %j",
  async (answer) => {
    const { governor, toClient, notes, submitted, lists, list, toServer } = unlisted();
    governor.fromClient(callOf(1));
    governor.fromServer(line({ id: "countersign-1", ...answer }));
    await soon(() => expect(toClient).toHaveLength(1));
    expect(JSON.parse(toClient[0] ?? "").result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("Nothing was done: the server did not list its tools") }],
    });
    expect([notes.length, submitted]).toEqual([1, []]);
    governor.fromClient(callOf(2));
    expect(lists()).toHaveLength(2);
    list(["pay"]);
    await soon(() => expect(toServer.at(-1)).toBe(callOf(2)));
    await governor.end();
  },
);

test("does not make a call that is cancelled, or whose connection ends, during the listing", async () => {
  const { governor, toServer, toClient, submitted, list } = unlisted();
  for (const id of [1, 2]) governor.fromClient(callOf(id));
  governor.fromClient(line({ method: "notifications/cancelled", params: { requestId: 1 } }));
  await governor.end();
  list(["pay"]);
  expect([toServer.length, toClient, submitted]).toEqual([1, [], []]);
});

test("refuses a client's request with the id of one of the governor's own", () => {
  const { governor, toServer, toClient } = unlisted();
  governor.fromClient(callOf(1));
  governor.fromClient(line({ id: "countersign-1", method: "ping" }));
  expect(toServer).toHaveLength(1);
  expect(JSON.parse(toClient[0] ?? "")).toMatchObject({ id: "countersign-1", error: { code: -32_600 } });
});

test.each([
  "Tools/Call",
  "tools/call ",
  "\ttools/call",
  "tools/call\u0000",
  "tools\u200b/call",
  "TOOLS/CALL",
  "tool\u017f/call",
  "\uff54ools/call",
  "Initialize",
  "tools/list\n",
])("refuses a method that differs from a governed one only in case, white space or hidden characters: %j", (method) => {
  const { governor, toServer, toClient, notes, submitted } = governed();
  governor.fromClient(line({ id: 1, method, params: { name: "pay", arguments: {} } }));
  governor.fromClient(line({ method, params: { name: "pay" } }));
  expect(toClient.map((each) => JSON.parse(each))).toMatchObject([{ id: 1, error: { code: -32_601 } }]);
  expect([toServer, submitted, notes.length]).toEqual([[], [], 1]);
});

test("passes methods of the protocol and of extensions", () => {
  const { governor, toServer } = governed();
  const methods = [
    "tools/list",
    "tools/calls",
    "x/tools/call",
    "resources/subscribe",
    "Tools",
    "call",
    "completion/complete",
  ];
  for (const [id, method] of methods.entries()) governor.fromClient(line({ id, method }));
  expect(toServer.map((each) => JSON.parse(each).method)).toEqual(methods);
});

test("sends no call to the server undecided, however spelled", async () => {
  const noise = fc.constantFrom("", "", " ", "\t", "\u200b", "\u00ad", "\u0000", "\u2060", "\ufe0f");
  const letters = Array.from("tools/call", (char) =>
    fc.tuple(
      fc.constantFrom(char, char.toUpperCase(), String.fromCodePoint((char.codePointAt(0) ?? 0) + 0xfee0)),
      noise,
    ),
  );
  const spelled = fc.tuple(noise, fc.tuple(...letters)).map((parts) => parts.flat(2).join(""));
  await fc.assert(
    fc.asyncProperty(spelled, async (method) => {
      const { governor, toServer } = governed(() => ({ outcome: "block" }));
      governor.fromClient(line({ id: 1, method, params: { name: "pay", arguments: {} } }));
      await governor.end();
      expect(toServer).toEqual([]);
    }),
  );
});
