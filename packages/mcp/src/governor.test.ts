import { setImmediate } from "node:timers/promises";
import type { Decision } from "@countersign/contract";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { callOf, governed, line, soon } from "./testing/governed.ts";

test("passes all other messages of client and server unchanged", () => {
  const { governor, toServer, toClient, submitted } = governed();
  const said = [line({ id: 1, method: "ping" }), line({ method: "notifications/x" }), line({ id: "a", result: {} })];
  for (const each of said) governor.fromClient(each);
  const heard = [...said, "not JSON", "[]", '{"jsonrpc":"2.0","id":9,"error":{"code":1,"message":"?"}}'];
  for (const each of heard) governor.fromServer(each);
  expect(toServer).toEqual(said);
  expect(toClient).toEqual(heard);
  expect(submitted).toEqual([]);
});

test("keeps the digits in other client messages, and writes each name once and on one line", () => {
  const { governor, toServer } = governed();
  const said = [
    '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}',
    '{"jsonrpc":"2.0","id":4,"result":{"n":12345678901234567890,"m":0.1234567890123456789012,"k":1.0,"t":"1.0"}}',
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9007199254740993,"progress":1e400}}',
  ];
  governor.fromClient(said[0] ?? "");
  governor.fromClient(`[${said.slice(1)}]`);
  expect(toServer).toEqual(said);
  const odd = (said[0] ?? "").replace('"method"', '"method":"tools/call",\r"method"');
  governor.fromClient(odd);
  expect(toServer.slice(3)).toEqual(said.slice(0, 1));
});

test("sends the server the decided reading: writes a repeated name once, in a call or in its arguments", async () => {
  const { governor, toServer, submitted } = governed();
  governor.fromClient(
    '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"pay","name":"look","arguments":{"n":1,"n":2}}}',
  );
  await soon(() => expect(toServer).toHaveLength(1));
  expect(submitted[0]?.intent).toMatchObject({ action: { verb: "look" }, payload: { content: { n: 2 } } });
  expect(toServer).toEqual([callOf(1, "look", { n: 2 })]);
});

test("sends only the members that JSON-RPC defines, because a strict server refuses others", async () => {
  const { governor, toServer } = governed();
  governor.fromClient(JSON.stringify({ ...JSON.parse(callOf(1)), tenant: "other", result: {}, error: {} }));
  const bare = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "look" } };
  governor.fromClient(JSON.stringify({ ...bare, trace: 1 }));
  await soon(() => expect(toServer).toEqual([callOf(1), JSON.stringify(bare)]));
});

test("sends the server no call that was not approved, whatever the client's line", async () => {
  const odd = fc.oneof(fc.jsonValue(), fc.constantFrom("tools/call", "Tools/Call", "tools/call ", "2.0", "pay", null));
  const message = fc.record(
    {
      jsonrpc: fc.oneof(fc.constant("2.0"), odd),
      id: odd,
      method: odd,
      params: fc.oneof(odd, fc.record({ name: odd, arguments: odd })),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(fc.oneof(message, fc.array(message, { maxLength: 3 }), odd), async (sent) => {
      const { governor, toServer, submitted } = governed(() => ({ outcome: "block" }));
      governor.fromClient(JSON.stringify(sent) ?? "");
      await governor.end();
      for (const each of toServer) expect(JSON.parse(each).method).not.toBe("tools/call");
      for (const { intent } of submitted) expect(typeof intent.action.verb).toBe("string");
    }),
  );
});

test.each([
  ["{", -32_700],
  ["7", -32_600],
  ["[]", -32_600],
  [line({ id: {}, method: "ping" }), -32_600],
  [line({ id: 1 }), -32_600],
  [line({ id: 1, method: "tools/call", params: [] }), -32_600],
  [callOf(1, 7), -32_602],
  [callOf(1, "pay", [1]), -32_602],
  [line({ id: 1, method: "ping", Method: "tools/call", params: { name: "pay" } }), -32_600],
  [line({ id: 1, method: "ping", "param\u017f": {} }), -32_600],
  [line({ id: 1, method: "tools/call", params: { name: "look", NAME: "pay" } }), -32_602],
  [line({ id: 1, method: "tools/call", params: { name: "pay", arguments: {}, Arguments: { n: 1 } } }), -32_602],
])("refuses an invalid message or call: %s", (text, code) => {
  const { governor, toServer, toClient } = governed();
  governor.fromClient(text);
  expect(toClient.map((each) => JSON.parse(each).error.code)).toEqual([code]);
  expect(toServer).toEqual([]);
});

test.each(["9007199254740993", "-9007199254740993.0", "4503599627370497.75", "1234567890123456789012", "1e400"])(
  "does not make a call with a number that the server would round: %s",
  (number) => {
    const { governor, toClient, submitted } = governed();
    governor.fromClient(callOf(1, "pay", { to: [{ n: 0 }] }).replace('"n":0', `"n":${number}`));
    expect(JSON.parse(toClient[0] ?? "")).toMatchObject({ id: 1, result: { isError: true } });
    expect(toClient[0]).toMatch(/the number at \/to\/0\/n of the arguments.*Send it as a text/);
    expect(submitted).toEqual([]);
  },
);

test.each(["1e21", "1.5e300", "100.10", "-0.0"])(
  "makes a call with a number in another spelling: %s",
  async (number) => {
    const { governor, toServer, submitted } = governed();
    governor.fromClient(callOf(1, "pay", { n: 0 }).replace('"n":0', `"n":${number}`));
    await soon(() => expect(toServer).toHaveLength(1));
    expect(JSON.parse(toServer[0] ?? "").params.arguments.n === Number(number)).toBe(true);
    expect(submitted[0]?.intent.payload?.content).toEqual({ n: Number(number) });
  },
);

test("keeps the digits of a call's id and token, also in messages to the client", async () => {
  const large = "9007199254740993";
  const sent = `{"jsonrpc":"2.0","id":${large},"method":"tools/call","params":{"name":"pay","arguments":{"n":1},"_meta":{"progressToken":${large}}}}`;
  const { governor, toServer, toClient, rule } = governed(() => ({ outcome: null, status: "pending" }));
  governor.fromClient(sent);
  await soon(() => expect(toClient[0]).toContain(`"progressToken":${large},`));
  governor.fromClient(sent);
  expect(toClient[1]).toContain(`"id":${large},"error"`);
  await soon(() => {
    rule({ outcome: "approve" });
    expect(toServer).toEqual([sent]);
  });
  governor.fromServer(`{"jsonrpc":"2.0","id":${large},"result":{}}`);
  await soon(() => expect(toClient).toHaveLength(3));
  governor.fromClient(sent);
  await soon(() => {
    rule({ outcome: "block" });
    expect(toClient.at(-1)).toContain(`"id":${large},"result":{"content"`);
  });
  await governor.end();
});

const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;

/** Node 26 serializes any depth. */
function isWritten(text: string): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === text;
  } catch {
    return false;
  }
}

test.skipIf(isWritten(deep))("refuses a message nested too deep to serialize, and reads the next one", async () => {
  const { governor, toServer, toClient, submitted } = governed();
  const call = { name: "pay", _meta: { n: 0 } };
  const said = [
    { method: "x", params: { n: 0 } },
    JSON.parse(callOf(2, "pay", { n: 0 })),
    { method: "tools/call", params: call },
  ];
  for (const [at, each] of said.entries())
    governor.fromClient(line({ ...each, id: at + 1 }).replace('"n":0', `"n":${deep}`));
  expect(toClient.map((each) => JSON.parse(each)).map(({ id, error }) => [id, error?.code])).toEqual([
    [1, -32_600],
    [2, -32_600],
    [3, -32_600],
  ]);
  expect(submitted).toEqual([]);
  governor.fromClient(callOf(2));
  await soon(() => expect(toServer).toEqual([callOf(2)]));
});

test("begins no call after the end, because its outcome could not be recorded", async () => {
  const { governor, toServer, toClient, submitted } = governed();
  await governor.end();
  governor.fromClient(callOf(1));
  expect([...submitted, ...toServer, ...toClient]).toEqual([]);
});

test("decides on the calls of a batch one by one", async () => {
  const { governor, toServer, toClient } = governed(({ intent }) => ({
    outcome: intent.action.verb === "pay" ? "block" : "approve",
  }));
  governor.fromClient(`[${callOf(1)},${callOf(2, "look")},7]`);
  await soon(() => expect(toServer).toEqual([callOf(2, "look")]));
  await soon(() => expect(toClient).toHaveLength(2));
  expect(toClient.map((each) => JSON.parse(each)).map(({ id, result }) => [id, result?.isError])).toEqual([
    [undefined, undefined],
    [1, true],
  ]);
});

test("refuses an array with too many messages as a whole", () => {
  const { governor, toServer, toClient } = governed();
  const ping = line({ id: 1, method: "ping" });
  governor.fromClient(`[${Array(1_001).fill(ping)}]`);
  expect(toClient.map((each) => JSON.parse(each))).toEqual([
    { jsonrpc: "2.0", error: expect.objectContaining({ code: -32_600 }) },
  ]);
  expect(toServer).toEqual([]);
  governor.fromClient(`[${Array(1_000).fill(ping)}]`);
  expect(toServer).toHaveLength(1_000);
});

test("drops a call without an id, one with another's id, and an answer before its call", async () => {
  const { governor, toServer, toClient, notes, rule } = governed(() => ({ outcome: null, status: "pending" }));
  governor.fromClient(line({ method: "tools/call", params: { name: "pay" } }));
  governor.fromClient(callOf(1));
  governor.fromClient(callOf(1, "other"));
  governor.fromServer(line({ id: 1, result: { content: [] } }));
  expect(toClient.map((each) => JSON.parse(each).error.code)).toEqual([-32_600]);
  expect(notes).toEqual([expect.stringContaining("without an id"), expect.stringContaining("has not received")]);
  await soon(() => {
    rule({ outcome: "approve" });
    expect(toServer).toEqual([callOf(1)]);
  });
  governor.fromServer(line({ id: 1, result: { content: [] } }));
  await soon(() => expect(toClient[1]).toBe(line({ id: 1, result: { content: [] } })));
});

test("refuses a request with the id of a call under way: its answer would be recorded as the call's", async () => {
  const { governor, toServer, toClient, observed } = governed();
  governor.fromClient(callOf(1));
  await soon(() => expect(toServer).toEqual([callOf(1)]));
  governor.fromClient(line({ id: 1, method: "ping" }));
  expect(toServer).toHaveLength(1);
  expect(JSON.parse(toClient[0] ?? "")).toMatchObject({ id: 1, error: { code: -32_600 } });
  governor.fromClient(line({ id: 1, result: {} }));
  expect(toServer).toHaveLength(2);
  governor.fromServer(line({ id: 1, result: { isError: true } }));
  await soon(() => expect(observed).toMatchObject([{ status: "failed" }]));
});

test("refuses a call with the id of another request under way: its answer would be recorded as the call's", async () => {
  const { governor, toServer, toClient, observed } = governed();
  for (const id of [1, "2"]) governor.fromClient(line({ id, method: "ping" }));
  for (const id of [1, 2]) governor.fromClient(callOf(id));
  await soon(() => expect(toServer).toHaveLength(3));
  expect(toServer[2]).toBe(callOf(2));
  expect(toClient.map((each) => JSON.parse(each))).toMatchObject([{ id: 1, error: { code: -32_600 } }]);
  for (const id of [1, "2"]) governor.fromServer(line({ id, result: {} }));
  expect(toClient.slice(1)).toEqual([1, "2"].map((id) => line({ id, result: {} })));
  governor.fromClient(callOf(1));
  await soon(() => expect(toServer).toHaveLength(4));
  expect(observed).toEqual([]);
  for (const id of [1, "2"]) governor.fromServer(line({ id, result: { isError: true } }));
  await soon(() => expect(observed).toMatchObject([{ status: "failed" }, { status: "failed" }]));
});

test("passes the server's line on unchanged after a plain approval, and adds no arguments to a call without any", async () => {
  const { governor, toServer, toClient } = governed();
  governor.fromClient(line({ id: "x", method: "tools/call", params: { name: "look", _meta: { a: 1 } } }));
  await soon(() => expect(JSON.parse(toServer[0] ?? "{}").params).toEqual({ name: "look", _meta: { a: 1 } }));
  const spaced = '{ "id": "x", "jsonrpc": "2.0", "result": { "content": [], "n": 1.0 } }';
  governor.fromServer(spaced);
  await soon(() => expect(toClient).toEqual([spaced]));
});

test("remembers open reviews for the last thousand calls", async () => {
  const { governor, toClient, submitted } = governed(() => ({ outcome: null, status: "pending" }), { wait_ms: 0 });
  for (let n = 0; n <= 1_000; n++) {
    governor.fromClient(callOf(n, "pay", { n }));
    if (n % 250 === 0) await soon(() => expect(toClient).toHaveLength(n + 1));
  }
  governor.fromClient(callOf("again", "pay", { n: 1_000 }));
  await soon(() => expect(toClient).toHaveLength(1_002));
  expect(submitted).toHaveLength(1_001);
  governor.fromClient(callOf("again", "pay", { n: 0 }));
  await soon(() => expect(submitted).toHaveLength(1_002));
  await governor.end();
});

test("resumes a review after an outage of the service, and uses its approval once", async () => {
  const pending = { intent_id: "int_1", outcome: null, status: "pending" } as unknown as Decision;
  const approved = { ...pending, outcome: "approve", status: "final" } as Decision;
  const submitIntent = vi.fn(async () => ({ intent_id: "int_1", decision: pending }) as never);
  const getDecision = vi.fn().mockRejectedValueOnce(new Error("away")).mockResolvedValue(approved);
  const waitForOutcome = () => Promise.reject(new Error("away"));
  const nothing = async () => ({}) as never;
  const other = { claimIntent: nothing, recordObservation: nothing, withdrawEscalation: nothing };
  const client = { submitIntent, getDecision, waitForOutcome, ...other };
  const { governor, toServer, toClient } = governed(undefined, { client });
  for (const id of [1, 2]) {
    governor.fromClient(callOf(id));
    await soon(() => expect(toClient[id - 1]).toContain("away"));
  }
  governor.fromClient(callOf(3));
  await soon(() => expect(toServer).toEqual([callOf(3)]));
  expect(submitIntent).toHaveBeenCalledTimes(1);
  governor.fromServer(line({ id: 3, result: {} }));
  governor.fromClient(callOf(4));
  await soon(() => expect(submitIntent).toHaveBeenCalledTimes(2));
  await soon(() => expect(toClient).toHaveLength(4));
  expect(toServer).toHaveLength(1);
});

test("keeps an approval that comes as the wait ends for the same call", async () => {
  const pending = { intent_id: "int_1", outcome: null, status: "pending" } as unknown as Decision;
  const approved = { ...pending, outcome: "approve", status: "final" } as Decision;
  const recordObservation = vi.fn(async () => ({}) as never);
  const client = {
    submitIntent: async () => ({ intent_id: "int_1", decision: pending }) as never,
    getDecision: async () => approved,
    waitForOutcome: (_: string, signal?: AbortSignal) =>
      new Promise<Decision>((resolve) => signal?.addEventListener("abort", () => resolve(approved))),
    claimIntent: async () => approved,
    recordObservation,
    withdrawEscalation: async () => ({}) as never,
  };
  const { governor, toServer, toClient } = governed(undefined, { client, wait_ms: 0 });
  governor.fromClient(callOf(1));
  await soon(() => expect(toClient[0]).toContain("Call the tool again"));
  governor.fromClient(callOf(2));
  governor.fromClient(line({ method: "notifications/cancelled", params: { requestId: 2 } }));
  governor.fromClient(callOf(3));
  await soon(() => expect(toClient[1]).toContain("Call the tool again"));
  governor.fromClient(callOf(4));
  await soon(() => expect(toServer).toEqual([callOf(4)]));
  expect(recordObservation).not.toHaveBeenCalled();
  await governor.end();
});

test.each([
  [true, ["esc_1"], 2],
  [false, [], 1],
])(
  "withdraws a call that is cancelled during its review (%s), or keeps it for the same call",
  async (withdraws, ids, asked) => {
    const held = () => ({ outcome: null, status: "pending", escalation_id: "esc_1" }) as const;
    const { governor, submitted, withdrawn } = governed(held, { withdraws });
    governor.fromClient(callOf(1));
    await soon(() => expect(submitted).toHaveLength(1));
    governor.fromClient(line({ method: "notifications/cancelled", params: { requestId: 1 } }));
    await setImmediate();
    expect(withdrawn).toEqual(ids);
    governor.fromClient(callOf(2));
    await soon(() => expect(submitted).toHaveLength(asked));
    await governor.end();
  },
);

test("cuts a name between characters, and keeps the first name given", async () => {
  const { governor, submitted } = governed();
  const begin = (id: number, client: string, server: string) => {
    governor.fromClient(line({ id, method: "initialize", params: { clientInfo: { name: client } } }));
    governor.fromServer(line({ id, result: { serverInfo: { name: server } } }));
  };
  begin(1, `${"c".repeat(127)}😀`, "bank");
  begin(2, "another", "safe");
  governor.fromClient(callOf(3));
  expect(submitted[0]?.intent.agent.id).toBe("c".repeat(127));
  expect(submitted[0]?.intent.action.target?.identifier).toBe("bank");
  await governor.end();
});

test("refuses more simultaneous calls than the limit, until some end", async () => {
  const { governor, toClient, submitted, rule } = governed(() => ({ outcome: null, status: "pending" }));
  for (let n = 0; n <= 256; n++) governor.fromClient(callOf(n, "pay", { n }));
  expect(toClient.map((each) => JSON.parse(each))).toMatchObject([{ id: 256, error: { code: -32_010 } }]);
  await soon(() => expect(submitted).toHaveLength(256));
  await soon(() => {
    rule({ outcome: "block" });
    expect(toClient.length).toBeGreaterThan(1);
  });
  governor.fromClient(callOf("one more"));
  expect(submitted).toHaveLength(257);
  await governor.end();
});

test("cuts a client's long name to an agent id's length, and knows tools of several pages", async () => {
  const { governor, submitted } = governed(undefined, { trust_annotations: true });
  governor.fromClient(line({ id: 0, method: "initialize", params: { clientInfo: { name: "c".repeat(500) } } }));
  const page = (name: string, nextCursor?: string) => ({
    tools: [{ name, annotations: { readOnlyHint: true } }],
    nextCursor,
  });
  governor.fromClient(line({ id: 1, method: "tools/list" }));
  governor.fromServer(line({ id: 1, result: page("look", "2") }));
  governor.fromClient(line({ id: 2, method: "tools/list", params: { cursor: "2" } }));
  governor.fromServer(line({ id: 2, result: { tools: [...page("peek").tools, { name: "pay" }] } }));
  for (const name of ["look", "peek", "pay"]) governor.fromClient(callOf(name, name));
  await soon(() => expect(submitted).toHaveLength(3));
  expect(submitted.map(({ context }) => context?.facts.security?.["side_effect"])).toEqual([false, false, true]);
  expect(submitted[0]?.intent.agent.id).toBe("c".repeat(128));
  await governor.end();
});

test.each([[{ n: 1, N: 5_000 }], [{ a: [{ to: "ann", "\u212a": 1, k: 2 }] }], [{ s: 1, "\u017f": 2 }]])(
  "refuses names that differ only in case, because the server may take the other one: %j",
  async (given) => {
    const { governor, toServer, toClient, submitted } = governed();
    governor.fromClient(callOf(1, "pay", given));
    expect(JSON.parse(toClient[0] ?? "{}").result).toMatchObject({ isError: true });
    expect([...toServer, ...submitted]).toEqual([]);
    governor.fromClient(callOf(2, "pay", { n: 1, m: [{ n: 1 }, { N: 2 }], m2: 1, "m²": 2 }));
    await soon(() => expect(toServer).toHaveLength(1));
    await governor.end();
  },
);
