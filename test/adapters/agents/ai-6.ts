import { guardTools } from "@countersign/sdk/ai-sdk";
import { generateText, type ModelMessage, stepCountIs, tool } from "ai-6";
import { MockLanguageModelV3 } from "ai-6/test";
import { z } from "zod";
import type { StubCall } from "../models/stub-call.ts";
import { bank, callOf, client, program } from "./agent-program.ts";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

function stubModel({ call_id, name, args }: StubCall) {
  return new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      const call = { type: "tool-call", toolCallId: call_id, toolName: name, input: JSON.stringify(args) } as const;
      const ends = prompt.at(-1)?.role === "tool";
      return {
        content: ends ? [{ type: "text", text: "done" }] : [call],
        finishReason: { unified: ends ? "stop" : "tool-calls", raw: undefined },
        usage,
        warnings: [],
      };
    },
  });
}

await program(async (scenario) => {
  const { review, session, state } = scenario;
  const { done, send } = bank();
  const sendMoney = tool({
    description: "Send money",
    inputSchema: z.object({ amount_usd: z.number(), to: z.string().trim() }),
    execute: async (payment) => send(payment),
  });
  const guarded = guardTools(
    client(scenario),
    { agent: { id: "ai-6-bot" }, session, review },
    { send_money: sendMoney },
  );
  const before: ModelMessage[] = state === undefined ? [{ role: "user", content: "Pay ann" }] : JSON.parse(state);
  const messages = await guarded.resume(before);
  if (messages === null) return { done, read: null, state: JSON.stringify(before) };
  const model = stubModel(callOf(scenario));
  const { response, finishReason, content } = await generateText({
    ...{ model, messages, tools: guarded.tools, stopWhen: stepCountIs(3) },
  });
  const suspended = content.some(({ type }) => type === "tool-approval-request");
  if (suspended) return { done, read: null, state: JSON.stringify([...messages, ...response.messages]) };
  const read = model.doGenerateCalls.at(-1)?.prompt.at(-1);
  return { done, read: `${finishReason} ${JSON.stringify(read?.content)}`, state: null };
});
