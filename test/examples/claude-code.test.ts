/** examples/claude-code: Claude Code itself with the hooks of the folder, against the service. Only the model is a stub. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { createClient } from "../../packages/sdk/src/index.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { stubMessagesApi } from "../adapters/models/messages-api.ts";
import { examples, pathWithCountersign, setUp, startExample, temporaryFolder } from "./run-example.ts";

/** Returns the program of Claude Code that the Claude Agent SDK brings. Undefined: `npm ci --prefix test/adapters` has not run. */
function claudeProgram(): string | undefined {
  const packages = join(import.meta.dirname, "../adapters/node_modules/@anthropic-ai");
  const names = existsSync(packages) ? readdirSync(packages) : [];
  return names.map((name) => join(packages, name, "claude")).find((path) => existsSync(path));
}

const program = claudeProgram();
const database = await testDatabase();
const { url } = await serviceNode(database);
const { admin_key, settings } = await setUp(url);
const admin = createClient({ base_url: url, api_key: admin_key });

/** Starts Claude Code, whose model runs one command, and returns what the model read. */
async function run(command: string) {
  const model = await stubMessagesApi({ call_id: `toolu_${command.length}`, name: "Bash", args: { command } });
  onTestFinished(model.close);
  const home = temporaryFolder();
  const { finished } = startExample("claude-code", [program ?? "", "-p", "Go on."], {
    ...{ ...settings, PATH: pathWithCountersign() },
    ...{ HOME: home, CLAUDE_CONFIG_DIR: home, ANTHROPIC_BASE_URL: model.base_url, ANTHROPIC_API_KEY: "stub" },
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  });
  expect(await finished).toMatchObject({ code: 0, stdout: "done\n" });
  return JSON.stringify(model.requests.at(-1)?.messages.at(-1)?.content);
}

const latest = async () => (await admin.listIntents({ agent_id: "claude-code", limit: 1 })).intents[0];

test("the settings are those that `countersign hook install` writes", async () => {
  const installed = await runCli(["hook", "install", "--yes"], {}, join(examples, "claude-code"));
  expect(installed).toMatchObject({ code: 0, stdout: ".claude/settings.json needs no change\n" });
});

describe.skipIf(program === undefined)("Claude Code (npm ci --prefix test/adapters)", () => {
  test("runs an approved command, and the hook reports it", async () => {
    expect(await run("echo hello from bash")).toContain("hello from bash");
    expect(await latest()).toMatchObject({
      action: { verb: "Bash", type: "code.execute" },
      verdict: "approve",
      execution: { status: "executed" },
    });
  }, 600_000);

  test("does not run a blocked command, and waits for people before it reads a secret", async () => {
    expect(await run("rm -rf ~")).toContain("coding.wipe");
    expect((await latest())?.verdict).toBe("block");
    const read = run("cat .env.example-of-the-test");
    const open = async () => (await admin.listEscalations({ status: "pending" })).escalations[0]?.escalation_id;
    await expect.poll(open, { timeout: 600_000 }).toBeDefined();
    await admin.decideEscalation((await open()) ?? "", {
      outcome: "block",
      message_to_agent: "No secrets, please.",
    });
    expect(await read).toContain("No secrets, please.");
  }, 600_000);
});
