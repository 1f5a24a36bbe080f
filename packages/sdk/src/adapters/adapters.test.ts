/** Rules of the adapters that need no framework. `test/adapters` runs them in their frameworks. */
import { expect, test, vi } from "vitest";
import { answering, decided } from "../testing/answering.ts";
import { guardTools as guardAiTools } from "./ai-sdk.ts";
import { countersignHooks } from "./claude-agent-sdk.ts";
import { guardFunction } from "./functions.ts";
import { countersignMiddleware } from "./langchain.ts";
import { guardTools as guardMastraTools } from "./mastra.ts";
import { createOpenAiGuard } from "./openai-agents.ts";

const options = { agent: { id: "bot" } };
const changed = { outcome: "approve_modified", modified_content: { usd: 1 } } as const;
const note = 'Countersign changed this call before it was made. It was made with: {"usd":1}';

function changing() {
  const { client, observed } = answering(changed);
  return { client: { ...client, getDecision: async () => decided(changed) }, observed };
}

async function* parts() {
  yield 1;
}

test("a tool that cannot be guarded is refused before its first call", () => {
  const { client } = changing();
  const elsewhere = { pay: { description: "runs elsewhere", execute: undefined } };
  expect(() => guardAiTools(client, options, elsewhere)).toThrow("pay has no function to guard");
  expect(() => guardMastraTools(client, options, elsewhere)).toThrow("pay has no function to guard");
  const asking = { pay: { execute: () => 1, needsApproval: true } };
  expect(() => guardAiTools(client, options, asking)).toThrow("pay has a needsApproval of its own");
  expect(() => guardAiTools(client, options, { pay: { execute: parts } })).toThrow("in parts");
  expect(() => guardFunction(client, options, "pay", parts)).toThrow("in parts");
  const streaming = { name: "pay", parameters: {}, execute: parts };
  expect(() => createOpenAiGuard(client, options).tool(streaming)).toThrow("in parts");
  expect(() => countersignMiddleware(client, { ...options, review: "suspend" })).toThrow(
    "needs the option `interrupt`",
  );
});

test.each([
  ["a text", undefined, "sent", [{ type: "text", text: "sent" }]],
  ["an object", undefined, { id: 1 }, [{ type: "text", text: '{"id":1}' }]],
  ["an own text", () => ({ type: "text", value: "own" }), "sent", [{ type: "text", text: "own" }]],
  [
    "an own image",
    () => ({ type: "content", value: [{ type: "media", data: "" }] }),
    "sent",
    [{ type: "media", data: "" }],
  ],
])("AI SDK: the model reads the note after %s", async (_, toModelOutput, result, content) => {
  const { client } = changing();
  const execute = async (_input: object, _options: object) => result;
  const { tools } = guardAiTools(client, options, { pay: { execute, toModelOutput } });
  const output = await tools.pay.execute({ usd: 5 }, { toolCallId: "c" });
  expect(output).toBe(result);
  const read = await (tools.pay as { toModelOutput?: (given: object) => unknown }).toModelOutput?.({
    ...{ toolCallId: "c", output },
  });
  expect(read).toEqual({ type: "content", value: [...content, { type: "text", text: note }] });
});

test("AI SDK: `resume` leaves requests of unguarded tools open, and answers nothing without requests", async () => {
  const { client } = changing();
  const { resume } = guardAiTools(client, options, { pay: { execute: () => 1 } });
  const said = [{ role: "user", content: "Pay" }];
  expect(await resume(said)).toEqual(said);
  const part = { toolCallId: "c", toolName: "other", input: {} };
  const request = { type: "tool-approval-request", approvalId: "a", toolCallId: "c" };
  const content = [{ type: "tool-call", ...part }, request];
  expect(await resume([...said, { role: "assistant", content }])).toBeNull();
});

test.each([
  ["a text", "sent", { countersign_result: "sent", countersign_notes: [note] }],
  ["an object", { id: 1 }, { id: 1, countersign_notes: [note] }],
])(
  "Mastra: the note is beside %s, and the tool's own output for the model gets the plain result",
  async (_, result, noted) => {
    const { client } = changing();
    const toModelOutput = vi.fn((output: unknown) => ({ type: "text", value: JSON.stringify(output) }));
    const pay = { execute: async (_input: object, _context?: object) => result as object | string, toModelOutput };
    const tools = guardMastraTools(client, options, { pay });
    const output = await tools.pay.execute({ usd: 5 });
    expect(output).toEqual(noted);
    const texts = [JSON.stringify(result), note].map((text) => ({ type: "text", text }));
    expect(await tools.pay.toModelOutput(output)).toEqual({ type: "content", value: texts });
    expect(toModelOutput).toHaveBeenCalledWith(result);
  },
);

test("LangChain: the note is added to the call's message, also in parts and inside a command", async () => {
  const { client } = changing();
  const { wrapToolCall } = countersignMiddleware(client, options);
  const request = { toolCall: { id: "c", name: "pay", args: { usd: 5 } }, runtime: {} };
  const message = (content: unknown) => ({ tool_call_id: "c", content });
  const text = await wrapToolCall(request, ({ toolCall }) => message(`paid ${toolCall.args.usd}`));
  expect(text.content).toBe(`paid 1\n\n${note}`);
  const inParts = await wrapToolCall(request, () => message([{ type: "text", text: "paid" }]));
  expect(inParts.content).toEqual([
    { type: "text", text: "paid" },
    { type: "text", text: note },
  ]);
  const other = { tool_call_id: "d", content: "other" };
  const command = await wrapToolCall(request, () => ({ update: { messages: [other, message("paid")] } }));
  expect(command.update.messages).toEqual([other, message(`paid\n\n${note}`)]);
});

const trimmed = {
  "~standard": {
    validate: ({ to }: { to: unknown }) => (typeof to === "string" ? { value: { to: to.trim() } } : { issues: [] }),
  },
};

test.each([
  ["converted ones are decided, and the tool gets the model's own", " ann ", "ann", " ann "],
  ["invalid ones are decided as they are", 5, 5, 5],
])("arguments of a tool with a schema: %s", async (_, given, decidedTo, executed) => {
  const { client, submitted } = answering({ outcome: "approve" });
  const asked = { ...client, getDecision: async () => decided({ outcome: "approve" }) };
  const execute = vi.fn(async (_input: object, _context: object) => "paid");
  const { pay } = guardMastraTools(asked, options, { pay: { execute, inputSchema: trimmed } });
  await pay.execute({ to: given }, {});
  const { wrapToolCall } = countersignMiddleware(asked, options);
  const toolCall = { id: "c", name: "pay", args: { to: given } };
  const handler = vi.fn(() => ({ content: "" }));
  await wrapToolCall({ toolCall, tool: { schema: trimmed }, runtime: {} }, handler);
  expect(submitted.map(({ intent }) => intent.payload?.content)).toEqual([{ to: decidedTo }, { to: decidedTo }]);
  expect(execute).toHaveBeenCalledWith({ to: executed }, {});
  const agent = { toolCallId: "d", suspend: async () => undefined };
  await pay.execute({ to: given }, { agent });
  expect(execute).toHaveBeenLastCalledWith({ to: decidedTo }, { agent });
  submitted.pop();
  expect(handler).toHaveBeenCalledWith(expect.objectContaining({ toolCall: { ...toolCall, args: { to: executed } } }));
});

test("Claude Agent SDK: a failed tool is recorded as failed, and a hook of an unknown call changes nothing", async () => {
  const { client, observed } = changing();
  const { PreToolUse, PostToolUse, PostToolUseFailure } = countersignHooks(client, { ...options, matcher: "pay" });
  const call = { session_id: "s", tool_name: "pay", tool_input: { usd: 5 }, tool_use_id: "t" };
  const { signal } = new AbortController();
  const before = await PreToolUse[0]?.hooks[0]?.(call, "t", { signal });
  expect(before?.hookSpecificOutput).toMatchObject({ permissionDecision: "allow", updatedInput: { usd: 1 } });
  expect(await PostToolUse[0]?.hooks[0]?.({ ...call, tool_use_id: "u" }, "u", { signal })).toEqual({});
  await PostToolUseFailure[0]?.hooks[0]?.({ ...call, error: "no money" }, "t", { signal });
  await expect.poll(() => observed).toEqual([{ status: "failed", detail: "no money" }]);
  expect(PreToolUse[0]).toMatchObject({ matcher: "pay", onFailure: "block" });
});
