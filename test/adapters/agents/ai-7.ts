import { guardTools } from "@countersign/sdk/ai-sdk";
import { generateText, isStepCount, type ModelMessage, tool } from "ai";
import { z } from "zod";
import { stubModel } from "../models/ai-sdk.ts";
import { bank, callOf, client, program } from "./agent-program.ts";

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
    { agent: { id: "ai-7-bot" }, session, review },
    { send_money: sendMoney },
  );
  const before: ModelMessage[] = state === undefined ? [{ role: "user", content: "Pay ann" }] : JSON.parse(state);
  const messages = await guarded.resume(before);
  if (messages === null) return { done, read: null, state: JSON.stringify(before) };
  const model = stubModel(callOf(scenario));
  const { response, finishReason, content } = await generateText({
    ...{ model, messages, tools: guarded.tools, toolApproval: guarded.toolApproval, stopWhen: isStepCount(3) },
  });
  const suspended = content.some((part) => part.type === "tool-approval-request" && part.isAutomatic !== true);
  if (suspended) return { done, read: null, state: JSON.stringify([...messages, ...response.messages]) };
  const read = model.doGenerateCalls.at(-1)?.prompt.at(-1);
  return { done, read: `${finishReason} ${JSON.stringify(read?.content)}`, state: null };
});
