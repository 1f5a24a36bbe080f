import { createOpenAiGuard } from "@countersign/sdk/openai-agents";
import { Agent, Runner, RunState, tool } from "@openai/agents";
import { z } from "zod";
import { stubModel } from "../models/openai-agents.ts";
import { bank, callOf, client, program } from "./agent-program.ts";

await program(async (scenario) => {
  const { review, session, state, guardrails = false } = scenario;
  const { done, send } = bank();
  const guard = createOpenAiGuard(client(scenario), { agent: { id: "openai-agents-bot" }, session, review });
  const about = { name: "send_money", description: "Send money" };
  const parameters = z.object({ amount_usd: z.number(), to: z.string().trim() });
  const sendMoney = guardrails
    ? tool({ ...about, parameters, ...guard.guardrails(parameters), execute: async (payment) => send(payment) })
    : tool(guard.tool({ ...about, parameters, execute: async (payment) => send(payment) }));
  const model = stubModel(callOf(scenario));
  const agent = new Agent({ name: "Payer", model, tools: [sendMoney] });
  const saved = state === undefined ? null : await RunState.fromString(agent, state);
  if (saved !== null && !(await guard.resume(saved))) return { done, read: null, state: saved.toString() };
  const result = await new Runner({ tracingDisabled: true }).run(agent, saved ?? "Pay");
  if (result.interruptions.length > 0) return { done, read: null, state: result.state.toString() };
  const { input } = model.requests.at(-1) ?? {};
  return { done, read: JSON.stringify(Array.isArray(input) ? input.at(-1) : input), state: null };
});
