/** An agent of LangChain whose tool calls go through Countersign. */
import { createClient } from "@countersign/sdk";
import { countersignMiddleware } from "@countersign/sdk/langchain";
import { createAgent, createMiddleware, tool } from "langchain";
import { z } from "zod";
import { model } from "./model.ts";

const countersign = createClient({
  base_url: process.env.COUNTERSIGN_URL ?? "http://127.0.0.1:8080",
  api_key: process.env.COUNTERSIGN_API_KEY,
});

const sendMoney = tool(
  async ({ amount_usd, to }) => {
    console.log(`sent ${amount_usd} USD to ${to}`);
    return "sent";
  },
  {
    name: "send_money",
    description: "Send money",
    schema: z.object({ amount_usd: z.number(), to: z.string() }),
  },
);

const guard = countersignMiddleware(countersign, {
  agent: { id: "desk-bot" },
  onPending: ({ escalation_id }) => console.log(`waits for review ${escalation_id}`),
});

const agent = createAgent({ model, tools: [sendMoney], middleware: [createMiddleware(guard)] });
const prompt = process.argv[2] ?? "Send 20 USD to ann.";
const { messages } = await agent.invoke({ messages: [{ role: "user", content: prompt }] });
console.log(messages.at(-1)?.text);
