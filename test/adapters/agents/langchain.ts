import { deserialize, serialize } from "node:v8";
import { countersignMiddleware } from "@countersign/sdk/langchain";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { createAgent, createMiddleware, tool } from "langchain";
import { z } from "zod";
import { stubModel } from "../models/langchain.ts";
import { bank, callOf, client, program } from "./agent-program.ts";

await program(async (scenario) => {
  const { session, review, state, answer = { type: "approve" } } = scenario;
  const { done, send } = bank();
  const sendMoney = tool((payment: { amount_usd: number; to: string }) => send(payment), {
    name: "send_money",
    description: "Send money",
    schema: z.object({ amount_usd: z.number(), to: z.string().trim() }),
  });
  const model = stubModel(state === undefined ? callOf(scenario) : undefined);
  const saver = new MemorySaver();
  if (state !== undefined) Object.assign(saver, deserialize(Buffer.from(state, "base64")));
  const agent = createAgent({
    model,
    tools: [sendMoney],
    middleware: [
      createMiddleware(countersignMiddleware(client(scenario), { agent: { id: "langchain-bot" }, review, interrupt })),
    ],
    checkpointer: saver,
  });
  const config = { configurable: { thread_id: session } };
  const input =
    state === undefined
      ? { messages: [{ role: "user", content: "Pay" }] }
      : new Command({ resume: { decisions: [answer] } });
  const result = await agent.invoke(input as Parameters<typeof agent.invoke>[0], config);
  const { storage, writes } = saver;
  if ("__interrupt__" in result) return { done, read: null, state: serialize({ storage, writes }).toString("base64") };
  const read = model.calls.at(-1)?.messages.at(-1);
  return { done, read: `${read?.type} ${JSON.stringify(read?.content)}`, state: null };
});
