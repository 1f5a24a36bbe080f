/** An agent of the Claude Agent SDK whose tool calls go through Countersign. */
import { createSdkMcpServer, query, tool } from "@anthropic-ai/claude-agent-sdk";
import { createClient } from "@countersign/sdk";
import { countersignHooks } from "@countersign/sdk/claude-agent-sdk";
import { z } from "zod";

const countersign = createClient({
  base_url: process.env.COUNTERSIGN_URL ?? "http://127.0.0.1:8080",
  api_key: process.env.COUNTERSIGN_API_KEY,
});

const sendMoney = tool(
  "send_money",
  "Send money",
  { amount_usd: z.number(), to: z.string() },
  async ({ amount_usd, to }) => {
    console.log(`sent ${amount_usd} USD to ${to}`);
    return { content: [{ type: "text", text: "sent" }] };
  },
);

const hooks = countersignHooks(countersign, {
  agent: { id: "desk-bot" },
  onPending: ({ escalation_id }) => console.log(`waits for review ${escalation_id}`),
});

// Countersign sees this tool as mcp__bank__send_money. Without the built-in tools, the agent can only pay.
const bank = createSdkMcpServer({ name: "bank", tools: [sendMoney], alwaysLoad: true });
const options = { hooks, mcpServers: { bank }, tools: [], settingSources: [] };
for await (const message of query({ prompt: process.argv[2] ?? "Send 20 USD to ann.", options }))
  if (message.type === "result" && message.subtype === "success") console.log(message.result);
