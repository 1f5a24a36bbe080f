/** The examples, as their READMEs run them, against one service. Only the models are stubs. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createClient } from "../../packages/sdk/src/index.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { stubMessagesApi } from "../adapters/models/messages-api.ts";
import { has_frameworks, node22 } from "../adapters/run-agent.ts";
import { pathWithCountersign, type RunningExample, setUp, startExample, temporaryFolder } from "./run-example.ts";

const root = join(import.meta.dirname, "../..");
const database = await testDatabase();
const { url } = await serviceNode(database);
const { admin_key, settings } = await setUp(url);
const admin = createClient({ base_url: url, api_key: admin_key });

/** Programs that start processes take long on a busy machine. */
const time_ms_max = 600_000;

/** Starts an example that sends money. `call_id` is new for each call of a model. */
type Send = (amount_usd: number, to: string) => RunningExample | Promise<RunningExample>;

let calls = 0;
const nextCall = (amount_usd: number, to: string, name = "send_money") => {
  calls += 1;
  return { call_id: `call_${calls}`, name, args: { amount_usd, to } };
};

/** A program in TypeScript, of which only the model is replaced. */
const agent =
  (name: string, more: Readonly<Record<string, string>> = {}): Send =>
  (amount_usd, to) => {
    const hooks = join(import.meta.dirname, "stub-models.mjs");
    const program = [node22(), "--conditions=@countersign/source", `--import=${hooks}`, "agent.ts", "Pay."] as const;
    const call = JSON.stringify(nextCall(amount_usd, to));
    return startExample(name, program, { ...settings, ...more, STUB_CALL: call });
  };

const claudeAgent: Send = async (amount_usd, to) => {
  const model = await stubMessagesApi(nextCall(amount_usd, to, "mcp__bank__send_money"));
  const home = temporaryFolder();
  const running = await agent("claude-agent-sdk", {
    ...{ HOME: home, CLAUDE_CONFIG_DIR: home, ANTHROPIC_BASE_URL: model.base_url, ANTHROPIC_API_KEY: "stub" },
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  })(amount_usd, to);
  void running.finished.then(model.close, model.close);
  return running;
};

const script =
  (name: string, ...program: readonly [string, ...string[]]): Send =>
  (amount_usd, to) =>
    startExample(name, [...program, String(amount_usd), to], {
      ...settings,
      ...{ PATH: pathWithCountersign(), PYTHONPATH: join(root, "clients/python/src") },
    });

const has_python = spawnSync("python3", ["--version"]).status === 0;
if (!has_python) console.warn("python3 is missing, so the test of examples/python is skipped");

/** Name, whether its tools are installed, and how it is started. */
const senders: readonly (readonly [name: string, can_run: boolean, send: Send])[] = [
  ["ai-sdk", has_frameworks, agent("ai-sdk")],
  ["openai-agents", has_frameworks, agent("openai-agents", { OPENAI_AGENTS_DISABLE_TRACING: "1" })],
  ["langchain", has_frameworks, agent("langchain")],
  ["mastra", has_frameworks, agent("mastra")],
  ["claude-agent-sdk", has_frameworks, claudeAgent],
  ["mcp-stdio", true, script("mcp-stdio", process.execPath, "client.mjs")],
  ["python", has_python, script("python", "python3", "-B", "agent.py")],
  ["curl", true, script("curl", "bash", "pay.sh")],
];

const latest = async () => (await admin.listIntents({ agent_id: "desk-bot", limit: 1 })).intents[0];

/** Approves the open review, of which there is one. */
async function approve() {
  const open = async () => (await admin.listEscalations({ status: "pending" })).escalations[0]?.escalation_id;
  await expect.poll(open, { timeout: time_ms_max }).toBeDefined();
  await admin.decideEscalation((await open()) ?? "", { outcome: "approve" });
}

/** Runs an example to its end, and expects it to make these payments. */
async function expectSent(send: Send, amount_usd: number, to: string, payments: readonly string[]): Promise<void> {
  const { stdout, stderr } = await (await send(amount_usd, to)).finished;
  const made = Array.from(stdout.matchAll(/^sent .* to .*$/gm), ([line]) => line);
  expect(made, `${stdout}${stderr}`).toEqual(payments);
}

describe.each(senders)("examples/%s", (name, can_run, send) => {
  test.skipIf(!can_run)(
    "does not run blocked calls, and waits for people",
    async () => {
      await expectSent(send, 5000, "ann", []);
      expect(await latest()).toMatchObject({ verdict: "block", payload: { content: { amount_usd: 5000, to: "ann" } } });
      const held = expectSent(send, 300, "ann", ["sent 300 USD to ann"]);
      await Promise.race([approve(), held]);
      await held;
      await expect.poll(async () => (await latest())?.execution?.status).toBe("executed");
    },
    time_ms_max,
  );

  // The tests of the adapters and of `countersign mcp` show this for the others.
  if (name !== "python" && name !== "curl") return;
  test.skipIf(!can_run)("runs approved calls, and changed ones with their changes", async () => {
    await expectSent(send, 20, "ann", ["sent 20 USD to ann"]);
    await expectSent(send, 80, "petty cash", ["sent 50 USD to petty cash"]);
  });
});

describe("examples/functions", () => {
  const send = async (...words: readonly string[]) => {
    const program = [node22(), "--conditions=@countersign/source", "agent.ts", ...words] as const;
    return (await startExample("functions", program, settings).finished).stdout;
  };

  test.skipIf(!has_frameworks)(
    "suspends a call, resumes it in a new process, and makes it once",
    async () => {
      expect(await send("20", "ann", "i-1")).toBe("sent 20 USD to ann\nThe model reads: sent\n");
      expect(await send("5000", "ann", "i-2")).toMatch(/^The model reads: Blocked, nothing was done\. no-large-sums: /);
      expect(await send("300", "ann", "i-3")).toMatch(/^Waits for review esc_\w+\. Run this again/);
      await approve();
      expect(await send("300", "ann", "i-3")).toBe("sent 300 USD to ann\nThe model reads: sent\n");
      expect(await send("300", "ann", "i-3")).toMatch(/^The model reads: Already executed/);
    },
    time_ms_max,
  );
});

test(
  "examples/authzen permits, changes and refuses payments, and permits a held one after a person approved it",
  async () => {
    const send = script("authzen", "bash", "pay.sh");
    await expectSent(send, 20, "ann", ["sent 20 USD to ann"]);
    await expectSent(send, 80, "petty cash", ["sent 50 USD to petty cash"]);
    await expectSent(send, 5000, "ann", []);
    await expectSent(send, 310, "ann", []);
    await approve();
    await expectSent(send, 310, "ann", ["sent 310 USD to ann"]);
  },
  time_ms_max,
);
