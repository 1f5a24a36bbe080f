/** An agent of the OpenAI Agents SDK whose tool asks Countersign. */
import { createClient } from "@countersign/sdk";
import { createOpenAiGuard } from "@countersign/sdk/openai-agents";
import { Agent, run, tool } from "@openai/agents";
import { z } from "zod";
import { model } from "./model.ts";

const countersign = createClient({
  base_url: process.env.COUNTERSIGN_URL ?? "http://127.0.0.1:8080",
  api_key: process.env.COUNTERSIGN_API_KEY,
});

const guard = createOpenAiGuard(countersign, {
  agent: { id: "desk-bot" },
  onPending: ({ escalation_id }) => console.log(`waits for review ${escalation_id}`),
});

const sendMoney = tool(
  guard.tool({
    name: "send_money",
    description: "Send money",
    parameters: z.object({ amount_usd: z.number(), to: z.string() }),
    execute: async ({ amount_usd, to }) => {
      console.log(`sent ${amount_usd} USD to ${to}`);
      return "sent";
    },
  }),
);

const agent = new Agent({ name: "Desk", instructions: "You pay what the user asks for.", model, tools: [sendMoney] });
const { finalOutput } = await run(agent, process.argv[2] ?? "Send 20 USD to ann.");
console.log(finalOutput);
