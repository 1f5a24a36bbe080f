/** An agent of Mastra whose tool asks Countersign. */
import { createClient } from "@countersign/sdk";
import { guardTools } from "@countersign/sdk/mastra";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { model } from "./model.ts";

const countersign = createClient({
  base_url: process.env.COUNTERSIGN_URL ?? "http://127.0.0.1:8080",
  api_key: process.env.COUNTERSIGN_API_KEY,
});

const sendMoney = createTool({
  id: "send_money",
  description: "Send money",
  inputSchema: z.object({ amount_usd: z.number(), to: z.string() }),
  execute: async ({ amount_usd, to }) => {
    console.log(`sent ${amount_usd} USD to ${to}`);
    return { receipt: "sent" };
  },
});

const tools = guardTools(
  countersign,
  { agent: { id: "desk-bot" }, onPending: ({ escalation_id }) => console.log(`waits for review ${escalation_id}`) },
  { send_money: sendMoney },
);

const agent = new Agent({ id: "desk", name: "Desk", instructions: "You pay what the user asks for.", model, tools });
const { text } = await agent.generate(process.argv[2] ?? "Send 20 USD to ann.");
console.log(text);
