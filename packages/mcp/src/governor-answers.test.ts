import { expect, test } from "vitest";
import { runs } from "../../../scripts/property-runs.ts";
import { callOf, governed, line, soon } from "./testing/governed.ts";

test.each([
  ["approve", '"error":null'],
  ["approve", '"error":{"message":{"toString":1}}'],
  ["approve_modified", '"result":null'],
  ["approve_modified", `"result":{"content":[${"[".repeat(50_000)}${"]".repeat(50_000)}]}`],
] as const)("never reports a made call (%s) as not made", async (outcome, said) => {
  const { governor, toServer, toClient, observed } = governed(() => ({ outcome, modified_content: { n: 0 } }));
  governor.fromClient(callOf(1));
  await soon(() => expect(toServer).toHaveLength(1));
  governor.fromServer(`{"jsonrpc":"2.0","id":1,${said}}`);
  await soon(() => expect(toClient).toHaveLength(1));
  expect(toClient[0]).not.toContain("nothing was done");
  expect(observed).toMatchObject([{ status: said.startsWith('"error"') ? "failed" : "executed" }]);
});

const answered =
  '{"jsonrpc":"2.0","id":1,"result":{"content":[],"n":9007199254740993,"m":1.0,"text":"\\"12345678901234567"}}';

test.each([
  ["in an array", `[{"jsonrpc":"2.0","method":"notifications/x"},${answered}]`],
  ["with a method", answered.replace("{", '{"method":"ping",')],
  ["with a method that is none", answered.replace("{", '{"method":null,')],
  ["with no error beside its result", answered.replace("{", '{"error":null,')],
  ["without its version", answered.replace('"jsonrpc":"2.0",', "")],
])("recognizes an answer in any form, and records the outcome of its call: %s", async (how, said) => {
  const { governor, toServer, toClient, observed } = governed();
  governor.fromClient(callOf(1));
  governor.fromServer(said);
  expect(toClient.join()).not.toContain("result");
  await soon(() => expect(toServer).toHaveLength(1));
  governor.fromServer(said);
  await soon(() => expect(observed).toMatchObject([{ status: "executed" }]));
  expect(toClient.at(-1)).toBe(how === "in an array" ? answered : said);
  await governor.end();
  expect(observed).toHaveLength(1);
});

test("keeps the digits of numbers in an answer that reports a change", async () => {
  const modified = { outcome: "approve_modified", modified_content: { n: 0 } } as const;
  const { governor, toServer, toClient } = governed(() => modified);
  governor.fromClient(callOf(1));
  await soon(() => expect(toServer).toEqual([callOf(1, "pay", { n: 0 })]));
  governor.fromServer(answered);
  await soon(() => expect(toClient).toHaveLength(1));
  expect(JSON.parse(toClient[0] ?? "").result.content[0].text).toContain('{"n":0}');
  expect(toClient[0]).toContain('"n":9007199254740993,"m":1.0,');
});

test.each(["approve", "approve_modified", "block"] as const)(
  "passes a reviewer's text to the model: %s",
  async (outcome) => {
    const message_to_agent = "Use account 2.";
    const { governor, toServer, toClient } = governed(() => ({
      outcome,
      modified_content: { n: 0 },
      message_to_agent,
    }));
    governor.fromClient(callOf(1));
    if (outcome !== "block") {
      await soon(() => expect(toServer).toHaveLength(1));
      governor.fromServer(answered);
    }
    await soon(() => expect(toClient).toHaveLength(1));
    expect(JSON.parse(toClient[0] ?? "").result.content.at(-1).text).toContain(`says to you: ${message_to_agent}`);
  },
);

test("does not split a nested array of the server into answers", () => {
  const { governor, toClient } = governed();
  governor.fromClient(callOf(1));
  governor.fromServer(`[[${answered}], {"a":"[,]"} ]`);
  expect(toClient).toEqual([`[[${answered}]]`, '{"a":"[,]"}']);
});

test("splits an array of the server, however deep and however many numbers", async () => {
  const { governor, toServer, toClient, observed } = governed();
  governor.fromClient(callOf(1));
  await soon(() => expect(toServer).toHaveLength(1));
  const large = answered.replace(
    '"m":1.0',
    `"m":[${"1.0,".repeat(Math.max(500_000, runs(9_000_000)))}${"[".repeat(50_000)}${"]".repeat(50_000)}]`,
  );
  governor.fromServer(`[${large}]`);
  await soon(() => expect(observed).toMatchObject([{ status: "executed" }]));
  expect(toClient[0] === large).toBe(true);
  for (const each of ["[]", "[7", " [ ]", "[01]"]) governor.fromServer(each);
  expect(toClient.slice(1)).toEqual(["[]", "[7", " [ ]", "[01]"]);
});

test("reports an error if a requested task does not exist, and reports a change with each result of the task", async () => {
  const { governor, toServer, toClient } = governed(({ intent }) =>
    intent.action.verb === "pay" ? { outcome: "block" } : { outcome: "approve_modified", modified_content: { n: 0 } },
  );
  const task = (id: number, name: string, given: object = { n: 1 }) =>
    line({ id, method: "tools/call", params: { name, arguments: given, task: {} } });
  governor.fromClient(task(1, "pay"));
  await soon(() => expect(toClient).toHaveLength(1));
  governor.fromClient(task(2, "pay", { n: 1, N: 2 }));
  for (const each of toClient)
    expect(JSON.parse(each).error).toMatchObject({
      code: -32_010,
      message: expect.stringContaining("othing was done"),
    });
  expect(JSON.parse(toClient[0] ?? "").error.data).toEqual({ "countersign/intent_id": "int_1" });
  governor.fromClient(task(3, "look"));
  await soon(() => expect(toServer).toHaveLength(1));
  const said = [line({ id: 3, result: { task: { taskId: "t" } } })];
  governor.fromServer(said[0] ?? "");
  await soon(() => expect(toClient.slice(2)).toEqual(said));
  for (const id of [4, 5]) {
    governor.fromClient(line({ id, method: "tasks/result", params: { taskId: "t" } }));
    governor.fromServer(line({ id, result: { content: [] } }));
    expect(toClient.at(-1)).toContain("Countersign changed this call");
  }
  governor.fromClient(line({ id: 7, method: "tasks/result", params: { taskId: "t" } }));
  governor.fromServer(`{"jsonrpc":"2.0","id":7,"result":{"content":[${"[".repeat(50_000)}${"]".repeat(50_000)}]}}`);
  expect(JSON.parse(toClient.at(-1) ?? "")).toMatchObject({ id: 7, error: { code: -32_010 } });
  governor.fromClient(line({ id: 6, method: "tasks/result", params: { taskId: "other" } }));
  governor.fromServer(line({ id: 6, result: { content: [] } }));
  expect(toClient.at(-1)).toBe(line({ id: 6, result: { content: [] } }));
});

test("remembers additions to answers for the last thousand requests without one", async () => {
  const { governor, toServer, toClient, submitted } = governed(() => ({
    ...{ outcome: "approve_modified", modified_content: { n: 0 } },
  }));
  governor.fromClient(line({ id: "t", method: "tools/call", params: { name: "look", task: {} } }));
  await soon(() => expect(toServer).toHaveLength(1));
  governor.fromServer(line({ id: "t", result: { task: { taskId: "t" } } }));
  await soon(() => expect(toClient).toHaveLength(1));
  const list = { method: "tools/list" };
  const result = { method: "tasks/result", params: { taskId: "t" } };
  const tool = (title: string) => ({ tools: [{ name: "pay", title }] });
  for (const asked of [list, result, list, result]) governor.fromClient(line({ id: toServer.length, ...asked }));
  for (let id = 5; id < 1_003; id++) governor.fromClient(line({ id, ...(id % 2 === 0 ? result : list) }));
  governor.fromServer(line({ id: 1, result: tool("forgotten") }));
  governor.fromServer(line({ id: 2, result: { content: [] } }));
  expect(toClient.at(-1)).toBe(line({ id: 2, result: { content: [] } }));
  governor.fromServer(line({ id: 4, result: { content: [] } }));
  expect(toClient.at(-1)).toContain("Countersign changed this call");
  governor.fromClient(callOf("a"));
  governor.fromServer(line({ id: 3, result: tool("known") }));
  governor.fromClient(callOf("b"));
  await soon(() => expect(submitted).toHaveLength(3));
  expect(submitted.slice(1).map(({ intent }) => intent.payload?.summary)).toEqual([undefined, "known"]);
  await governor.end();
});

test("accepts the call's number as a text in an answer, as the protocol's own client does", async () => {
  const { governor, toServer, toClient, observed } = governed();
  const said = line({ id: "1", result: { content: [] } });
  governor.fromClient(callOf(1));
  governor.fromServer(said);
  expect(toClient).toEqual([]);
  await soon(() => expect(toServer).toHaveLength(1));
  governor.fromServer(said);
  await soon(() => expect(observed).toMatchObject([{ status: "executed" }]));
  expect(toClient).toEqual([said]);
});

test("does not take an answer with a number for the answer to a call with a text id", async () => {
  const { governor, toServer, toClient } = governed();
  for (const id of [1, "1"]) governor.fromClient(callOf(id));
  await soon(() => expect(toServer).toHaveLength(2));
  for (const id of ["1", 1]) {
    governor.fromServer(line({ id, result: {} }));
    await soon(() => expect(toClient.at(-1)).toBe(line({ id, result: {} })));
  }
});
