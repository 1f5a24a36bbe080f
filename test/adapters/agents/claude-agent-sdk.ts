import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSdkMcpServer, query, type SDKUserMessage, tool } from "@anthropic-ai/claude-agent-sdk";
import { countersignHooks } from "@countersign/sdk/claude-agent-sdk";
import { z } from "zod";
import { stubMessagesApi } from "../models/messages-api.ts";
import { bank, client, program } from "./agent-program.ts";

const tool_name = "mcp__bank__send_money";

await program(async (scenario) => {
  const { amount_usd, to, call_id, review, session, state } = scenario;
  const { done, send } = bank();
  const schema = { amount_usd: z.number(), to: z.string() };
  const sendMoney = tool("send_money", "Send money", schema, async (payment) => ({
    content: [{ type: "text", text: send(payment) }],
  }));
  const model = await stubMessagesApi({ call_id, name: tool_name, args: { amount_usd, to } });
  const home = state ?? mkdtempSync(join(tmpdir(), "countersign-claude-"));
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const messages = query({
    prompt: state === undefined ? "Pay" : goOn(ended),
    options: {
      hooks: countersignHooks(client(scenario), {
        ...{ agent: { id: "claude-agent-sdk-bot" }, review, matcher: "mcp__bank__.*" },
      }),
      mcpServers: { bank: createSdkMcpServer({ name: "bank", tools: [sendMoney], alwaysLoad: true }) },
      ...(state === undefined ? { sessionId: session } : { resume: session }),
      ...{ cwd: home, tools: [], settingSources: [], model: "stub", maxTurns: 4 },
      stderr: (text) => process.stderr.write(text),
      env: {
        PATH: process.env["PATH"],
        HOME: home,
        CLAUDE_CONFIG_DIR: home,
        ANTHROPIC_BASE_URL: model.base_url,
        ANTHROPIC_API_KEY: "stub",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      },
    },
  });
  let deferred = false;
  for await (const message of messages) {
    // A resumed session first says this if the server of the deferred tool is not connected yet.
    if (message.type !== "result" || message.stop_reason === "tool_deferred_unavailable") continue;
    deferred = message.subtype === "success" && message.deferred_tool_use !== undefined;
    end();
  }
  model.close();
  if (deferred) return { done, read: null, state: home };
  rmSync(home, { recursive: true, force: true });
  const { messages: asked = [] } = model.requests.at(-1) ?? {};
  const answers = asked.slice(asked.findLastIndex(({ role }) => role === "assistant") + 1);
  return { done, read: JSON.stringify(answers.map(({ content }) => content)), state: null };
});

/** Says nothing, and keeps the session's input open: the answers of hooks pass through it, and a string's ends with the first result. */
async function* goOn(ended: Promise<void>): AsyncGenerator<SDKUserMessage> {
  yield { type: "user", message: { role: "user", content: "" }, parent_tool_use_id: null };
  await ended;
}
