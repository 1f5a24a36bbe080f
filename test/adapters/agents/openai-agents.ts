import { createOpenAiGuard } from "@countersign/sdk/openai-agents";
import { Agent, type Model, type ModelRequest, Runner, RunState, tool, Usage } from "@openai/agents";
import { z } from "zod";
import { bank, client, program, type Scenario } from "./agent-program.ts";

/** Calls the tool once, and answers after it has read the result. */
class StubModel implements Model {
  readonly requests: ModelRequest[] = [];
  readonly #scenario: Scenario;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
  }

  async getResponse(request: ModelRequest) {
    this.requests.push(request);
    const { call_id, amount_usd, to } = this.#scenario;
    const ends = typeof request.input !== "string" && request.input.at(-1)?.type === "function_call_result";
    const said = { type: "output_text", text: "done" } as const;
    return {
      usage: new Usage(),
      output: ends
        ? [{ type: "message" as const, role: "assistant" as const, status: "completed" as const, content: [said] }]
        : [
            {
              ...{ type: "function_call" as const, callId: call_id, name: "send_money", status: "completed" as const },
              // The schema removes the space, so that raw arguments and those of the tool differ.
              arguments: JSON.stringify({ amount_usd, to: `${to} ` }),
            },
          ],
    };
  }

  async *getStreamedResponse(): AsyncGenerator<never> {}
}

await program(async (scenario) => {
  const { review, session, state, guardrails = false } = scenario;
  const { done, send } = bank();
  const guard = createOpenAiGuard(client(scenario), { agent: { id: "openai-agents-bot" }, session, review });
  const about = { name: "send_money", description: "Send money" };
  const parameters = z.object({ amount_usd: z.number(), to: z.string().trim() });
  const sendMoney = guardrails
    ? tool({ ...about, parameters, ...guard.guardrails(parameters), execute: async (payment) => send(payment) })
    : tool(guard.tool({ ...about, parameters, execute: async (payment) => send(payment) }));
  const model = new StubModel(scenario);
  const agent = new Agent({ name: "Payer", model, tools: [sendMoney] });
  const saved = state === undefined ? null : await RunState.fromString(agent, state);
  if (saved !== null && !(await guard.resume(saved))) return { done, read: null, state: saved.toString() };
  const result = await new Runner({ tracingDisabled: true }).run(agent, saved ?? "Pay");
  if (result.interruptions.length > 0) return { done, read: null, state: result.state.toString() };
  const { input } = model.requests.at(-1) ?? {};
  return { done, read: JSON.stringify(Array.isArray(input) ? input.at(-1) : input), state: null };
});
