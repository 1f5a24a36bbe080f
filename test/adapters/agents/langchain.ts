import { deserialize, serialize } from "node:v8";
import { countersignMiddleware } from "@countersign/sdk/langchain";
import { fakeModel } from "@langchain/core/testing";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { AIMessage, createAgent, createMiddleware, tool } from "langchain";
import { z } from "zod";
import { bank, client, program } from "./agent-program.ts";

await program(async (scenario) => {
  const { amount_usd, to, call_id, session, review, state, answer = { type: "approve" } } = scenario;
  const { done, send } = bank();
  const sendMoney = tool((payment: { amount_usd: number; to: string }) => send(payment), {
    name: "send_money",
    description: "Send money",
    schema: z.object({ amount_usd: z.number(), to: z.string().trim() }),
  });
  // The schema removes the space, so that raw arguments and those of the tool differ.
  const calls = [{ name: "send_money", args: { amount_usd, to: `${to} ` }, id: call_id }];
  const model = state === undefined ? fakeModel().respondWithTools(calls) : fakeModel();
  model.respond(new AIMessage("done"));
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
