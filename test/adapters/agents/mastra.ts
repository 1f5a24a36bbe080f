import { guardTools } from "@countersign/sdk/mastra";
import { Mastra } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { stubModel } from "../models/mastra.ts";
import { bank, callOf, client, program } from "./agent-program.ts";

await program(async (scenario) => {
  const { review, session, state } = scenario;
  const { done, send } = bank();
  const sendMoney = createTool({
    id: "send_money",
    description: "Send money",
    inputSchema: z.object({ amount_usd: z.number(), to: z.string().trim() }),
    execute: async (payment) => ({ receipt: send(payment) }),
  });
  const tools = guardTools(
    client(scenario),
    { agent: { id: "mastra-bot" }, session, review },
    { send_money: sendMoney },
  );
  const model = stubModel(callOf(scenario));
  const storage = new InMemoryStore();
  const payer = new Agent({ id: "payer", name: "Payer", instructions: "Pay", model, tools });
  new Mastra({ agents: { payer }, storage, logger: false });
  const { workflows } = storage.stores;
  if (workflows === undefined) throw new Error("the store keeps no runs");
  const saved = state === undefined ? null : JSON.parse(state);
  for (const run of saved?.runs ?? []) await workflows.persistWorkflowSnapshot({ ...run, snapshot: run.snapshot });
  const result =
    saved === null
      ? await payer.generate("Pay", { maxSteps: 3 })
      : await payer.resumeGenerate({}, { runId: saved.run_id, toolCallId: scenario.call_id });
  if (result.finishReason === "suspended") {
    const { runs } = await workflows.listWorkflowRuns();
    return { done, read: null, state: JSON.stringify({ run_id: result.runId, runs }) };
  }
  const read = model.doGenerateCalls.at(-1)?.prompt.at(-1);
  return { done, read: JSON.stringify(read?.content), state: null };
});
