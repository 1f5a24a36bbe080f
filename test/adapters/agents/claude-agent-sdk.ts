import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSdkMcpServer, query, tool } from "@anthropic-ai/claude-agent-sdk";
import { countersignHooks } from "@countersign/sdk/claude-agent-sdk";
import { z } from "zod";
import { bank, client, program } from "./agent-program.ts";
import { stubMessagesApi } from "./stub-messages-api.ts";

const tool_name = "mcp__bank__send_money";

await program(async (scenario) => {
  const { review, session, state } = scenario;
  const { done, send } = bank();
  const schema = { amount_usd: z.number(), to: z.string() };
  const sendMoney = tool("send_money", "Send money", schema, async (payment) => ({
    content: [{ type: "text", text: send(payment) }],
  }));
  const model = await stubMessagesApi(tool_name, scenario);
  const home = state ?? mkdtempSync(join(tmpdir(), "countersign-claude-"));
  const messages = query({
    prompt: state === undefined ? "Pay" : "",
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
    if (message.type === "result" && message.subtype === "success") deferred = message.deferred_tool_use !== undefined;
  }
  model.close();
  if (deferred) return { done, read: null, state: home };
  rmSync(home, { recursive: true, force: true });
  const { messages: asked = [] } = model.requests.at(-1) ?? {};
  const answers = asked.slice(asked.findLastIndex(({ role }) => role === "assistant") + 1);
  return { done, read: JSON.stringify(answers.map(({ content }) => content)), state: null };
});
