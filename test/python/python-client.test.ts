/** The Python client against the service. */
import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { createClient } from "../../packages/sdk/src/index.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";
import { activatePaymentPolicies } from "../examples/payment-policies.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const has_python = spawnSync("python3", ["--version"]).status === 0;
if (!has_python) console.warn("python3 is missing, so the tests of the Python client are skipped");

const database = await testDatabase();
const { url } = await serviceNode(database);
const org = await reviewedOrganization(database.db, url, { packs: [] });
const admin = createClient({ base_url: url, api_key: org.admin });
const reviewer = createClient({ base_url: url, api_key: org.reviewer });
await activatePaymentPolicies(admin);

interface Line {
  readonly pending?: string;
  readonly ran?: object;
  readonly resumed?: boolean;
  readonly result?: string;
  readonly blocked?: string;
}

/** Starts the agent in a new process. */
function start(how: "guard" | "carry-out", amount_usd: number, to: string) {
  const env = {
    PATH: process.env["PATH"],
    PYTHONPATH: join(root, "clients/python/src"),
    SERVICE: url,
    AGENT_KEY: org.agent,
  };
  const agent = spawn("python3", ["-B", join(root, "test/python/agent.py"), how, String(amount_usd), to], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void agent.kill("SIGKILL"));
  const lines: Line[] = [];
  const printed = createInterface({ input: agent.stdout }).on("line", (line) => void lines.push(JSON.parse(line)));
  const finished = new Promise<Line[]>((resolve, reject) => {
    agent.once("error", reject);
    printed.once("close", () => resolve(lines));
  });
  const pending = async () => {
    await expect.poll(() => lines.find((line) => line.pending !== undefined)).toBeDefined();
    return lines[0]?.pending ?? "";
  };
  return { agent, finished, pending };
}

const executions = async () => {
  const { intents } = await admin.listIntents({ agent_id: "python-bot" });
  return intents.map(({ execution }) => execution?.status);
};

describe.skipIf(!has_python)("an agent in Python", () => {
  test("runs approved calls, runs changed calls with their changes, and does not run blocked ones", async () => {
    expect(await start("guard", 20, "ann").finished).toEqual([
      { ran: { amount_usd: 20, to: "ann" } },
      { result: "sent 20 USD to ann" },
    ]);
    expect(await start("guard", 80, "petty cash").finished).toEqual([
      { ran: { amount_usd: 50, to: "petty cash" } },
      { result: "sent 50 USD to petty cash" },
    ]);
    const [blocked, ...more] = await start("guard", 5000, "ann").finished;
    expect(blocked?.blocked).toMatch(
      /^Blocked, nothing was done\. no-large-sums: An agent may not send more than 1000 USD\. /,
    );
    expect(more).toEqual([]);
    expect((await executions()).slice(0, 3)).toEqual(["skipped", "executed", "executed"]);
  });

  test("waits for reviewers, and runs the call as they changed it", async () => {
    const waiting = start("guard", 400, "bob");
    const modifications = [{ op: "replace" as const, path: "/amount_usd", value: 90 }];
    await reviewer.decideEscalation(await waiting.pending(), { outcome: "approve_modified", modifications });
    expect((await waiting.finished).slice(1)).toEqual([
      { ran: { amount_usd: 90, to: "bob" } },
      { result: "sent 90 USD to bob" },
    ]);
  });

  test("dies while it waits, and a new process carries out the action that people approved meanwhile", async () => {
    const waiting = start("carry-out", 500, "eve");
    const escalation_id = await waiting.pending();
    waiting.agent.kill("SIGKILL");
    expect(await waiting.finished).toEqual([{ pending: escalation_id }]);
    await reviewer.decideEscalation(escalation_id, { outcome: "approve" });
    expect(await start("carry-out", 500, "eve").finished).toEqual([
      { ran: { amount_usd: 500, to: "eve" }, resumed: true },
      { result: "sent" },
    ]);
    expect((await executions()).slice(0, 2)).toEqual(["executed", "handed_on"]);
  });
});
