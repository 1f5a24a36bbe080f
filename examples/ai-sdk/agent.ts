/** An agent of the Vercel AI SDK whose tool asks Countersign. */
import { createClient } from "@countersign/sdk";
import { guardTools } from "@countersign/sdk/ai-sdk";
import { generateText, isStepCount, tool } from "ai";
import { z } from "zod";
import { model } from "./model.ts";

const countersign = createClient({
  base_url: process.env.COUNTERSIGN_URL ?? "http://127.0.0.1:8080",
  api_key: process.env.COUNTERSIGN_API_KEY,
});

const sendMoney = tool({
  description: "Send money",
  inputSchema: z.object({ amount_usd: z.number(), to: z.string() }),
  execute: async ({ amount_usd, to }) => {
    console.log(`sent ${amount_usd} USD to ${to}`);
    return "sent";
  },
});

const { tools } = guardTools(
  countersign,
  { agent: { id: "desk-bot" }, onPending: ({ escalation_id }) => console.log(`waits for review ${escalation_id}`) },
  { send_money: sendMoney },
);

const prompt = process.argv[2] ?? "Send 20 USD to ann.";
const { text } = await generateText({ model, tools, prompt, stopWhen: isStepCount(5) });
console.log(text);
