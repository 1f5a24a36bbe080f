/** The adapters of the SDK, each in its own framework with a stub model, against one service. */
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createClient } from "../../packages/sdk/src/index.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";
import { activatePaymentPolicies } from "../examples/payment-policies.ts";
import type { Scenario } from "./agents/agent-program.ts";
import { has_frameworks, runAgent } from "./run-agent.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);
const org = await reviewedOrganization(database.db, url, { packs: [] });
const admin = createClient({ base_url: url, api_key: org.admin });
const reviewer = createClient({ base_url: url, api_key: org.reviewer });
await activatePaymentPolicies(admin);

/** Each scenario of the Claude Agent SDK starts a program of its own, which takes long on a busy machine. */
const time_ms_max = 900_000;

/** Program, agent and framework label. */
const frameworks = [
  ["functions", "functions-bot", "functions"],
  ["ai-6", "ai-6-bot", "ai-sdk"],
  ["ai-7", "ai-7-bot", "ai-sdk"],
  ["openai-agents", "openai-agents-bot", "openai-agents"],
  ["langchain", "langchain-bot", "langchain"],
  ["claude-agent-sdk", "claude-agent-sdk-bot", "claude-agent-sdk"],
  ["mastra", "mastra-bot", "mastra"],
] as const;

/** Decides the review of a payment of this agent, as soon as it is open. */
async function decide(agent_id: string, amount_usd: number, ruling: Parameters<typeof reviewer.decideEscalation>[1]) {
  const open = async () => {
    const { intents } = await admin.listIntents({ agent_id });
    return intents.find(
      ({ status, payload }) => status === "pending" && payload?.content?.["amount_usd"] === amount_usd,
    )?.intent_id;
  };
  await expect.poll(open, { timeout: time_ms_max }).toBeDefined();
  const { escalation_id } = await admin.getDecision((await open()) ?? "");
  await reviewer.decideEscalation(escalation_id ?? "", ruling);
}

describe.skipIf(!has_frameworks)("with the frameworks (npm ci --prefix test/adapters)", () => {
  describe.each(frameworks)("%s", (name, agent_id, framework) => {
    const session = randomUUID();
    const run = (scenarios: readonly Scenario[]) => runAgent(name, { url, key: org.agent }, scenarios);
    const scenario = (call_id: string, amount_usd: number, more: Partial<Scenario> = {}): Scenario => ({
      ...{ amount_usd, to: "ann", call_id, session, review: "wait", ...more },
    });
    const intents = async () => (await admin.listIntents({ agent_id })).intents;

    test(
      "decides each call, suspends it for people, and resumes it in a new process",
      async () => {
        const first = run([
          scenario("approve", 20),
          scenario("modify", 80, { to: "petty cash" }),
          scenario("block", 5000),
          scenario("wait", 200),
          scenario("refuse", 201),
          scenario("suspend", 300, { review: "suspend" }),
        ]);
        await Promise.race([decide(agent_id, 200, { outcome: "approve" }), first]);
        await Promise.race([decide(agent_id, 201, { outcome: "block", message_to_agent: "Ask Bob first." }), first]);
        const [approved, modified, blocked, waited, refused, suspended, ...away] = await first;

        expect(approved).toEqual({ done: [{ amount_usd: 20, to: "ann" }], read: expect.any(String), state: null });
        expect(approved?.read).toContain("sent 20 USD to ann");
        expect(approved?.read).not.toContain("Countersign");
        expect(modified).toMatchObject({ done: [{ amount_usd: 50, to: "petty cash" }] });
        expect(modified?.read).toContain("sent 50 USD to petty cash");
        expect(modified?.read).toContain("Countersign changed this call");
        expect(blocked).toMatchObject({ done: [], state: null });
        expect(blocked?.read).toMatch(/no-large-sums: .*Do not repeat this call/s);
        expect(waited).toMatchObject({ done: [{ amount_usd: 200, to: "ann" }] });
        expect(refused).toMatchObject({ done: [] });
        expect(refused?.read).toMatch(/The reviewer says to you: Ask Bob first.*Do not repeat this call/s);
        expect(suspended).toMatchObject({ done: [], read: null, state: expect.any(String) });
        for (const undecided of away)
          expect(undecided).toMatchObject({ done: [], read: expect.stringContaining("no answer from") });
        expect(await intents()).toHaveLength(6);
        expect((await intents())[0]?.agent).toEqual({ id: agent_id, framework, session_id: session });

        const again = scenario("suspend", 300, { review: "suspend", state: suspended?.state ?? "" });
        const [early] = await run([again]);
        expect(early).toMatchObject({ done: [], read: null, state: expect.any(String) });
        await decide(agent_id, 300, { outcome: "approve", message_to_agent: "Use account 2." });
        const { state: _, ...replayed } = again;
        const [resumed, replay] = await run([{ ...again, state: early?.state ?? "" }, replayed]);
        expect(resumed).toMatchObject({ done: [{ amount_usd: 300, to: "ann" }], state: null });
        expect(resumed?.read).toMatch(/sent 300 USD to ann.*Use account 2/s);
        expect(replay).toMatchObject({ done: [] });
        expect(replay?.read).toContain("Already executed");
        await expect
          .poll(async () => (await intents()).map(({ execution }) => execution?.status).reverse())
          .toEqual(["executed", "executed", "skipped", "executed", "skipped", "executed"]);
      },
      time_ms_max,
    );
  });

  test(
    "a rejection in LangChain's own envelope ends the call, also an approved one, and the model reads why",
    async () => {
      const [access, agent_id] = [{ url, key: org.agent }, "langchain-bot"];
      const asked = {
        amount_usd: 400,
        to: "bob",
        call_id: "reject",
        session: randomUUID(),
        review: "suspend",
      } as const;
      const [suspended] = await runAgent("langchain", access, [asked]);
      const answer = { type: "reject", message: "Bob was paid yesterday." };
      const state = suspended?.state ?? "";
      const [rejected] = await runAgent("langchain", access, [{ ...asked, state, answer }]);
      expect(rejected).toMatchObject({
        done: [],
        read: expect.stringMatching(/nothing was done. Bob was paid yesterday/),
      });
      const { intents } = await admin.listIntents({ agent_id, limit: 1 });
      expect(await admin.getDecision(intents[0]?.intent_id ?? "")).toMatchObject({ escalation_status: "cancelled" });

      const late = { ...asked, amount_usd: 401, call_id: "reject late" };
      const [held] = await runAgent("langchain", access, [late]);
      await decide(agent_id, 401, { outcome: "approve" });
      const [unused] = await runAgent("langchain", access, [{ ...late, state: held?.state ?? "", answer }]);
      expect(unused).toMatchObject({ done: [], read: expect.stringContaining("Bob was paid yesterday") });
    },
    time_ms_max,
  );

  test(
    "guardrails of OpenAI Agents let a call run, refuse it, or name the arguments that may be used",
    async () => {
      const session = randomUUID();
      const guarded = { to: "ann", session, guardrails: true, review: "suspend" } as const;
      const [approved, modified, blocked, pending] = await runAgent("openai-agents", { url, key: org.agent }, [
        { ...guarded, amount_usd: 22, call_id: "g1" },
        { ...guarded, amount_usd: 82, to: "petty cash", call_id: "g2" },
        { ...guarded, amount_usd: 5002, call_id: "g3" },
        { ...guarded, amount_usd: 202, call_id: "g4" },
      ]);
      expect(approved).toMatchObject({ done: [{ amount_usd: 22 }], read: expect.stringContaining("sent 22 USD") });
      expect(modified).toMatchObject({ done: [], read: expect.stringMatching(/exactly these: .*amount_usd.*50/) });
      expect(blocked).toMatchObject({ done: [], read: expect.stringMatching(/no-large-sums: .*Do not repeat/s) });
      expect(pending).toMatchObject({ done: [], read: expect.stringContaining("A person must decide") });
      const ended = async () => {
        const { intents } = await admin.listIntents({ agent_id: "openai-agents-bot", limit: 4 });
        return intents.map(({ execution }) => execution?.status).reverse();
      };
      await expect.poll(ended).toEqual(["executed", "none", "skipped", "none"]);
    },
    time_ms_max,
  );

  test(
    "the programs compile with the frameworks' own types",
    () => {
      const tsc = join(import.meta.dirname, "../../node_modules/.bin/tsc");
      const { stdout } = spawnSync(tsc, ["-p", join(import.meta.dirname, "tsconfig.json")], { encoding: "utf8" });
      expect(stdout).toBe("");
    },
    time_ms_max,
  );
});
