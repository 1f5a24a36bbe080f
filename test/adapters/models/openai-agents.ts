import { type Model, type ModelRequest, Usage } from "@openai/agents";
import type { StubCall } from "./stub-call.ts";

export function stubModel(call: StubCall): StubModel {
  return new StubModel(call);
}

class StubModel implements Model {
  readonly requests: ModelRequest[] = [];
  readonly #call: StubCall;

  constructor(call: StubCall) {
    this.#call = call;
  }

  async getResponse(request: ModelRequest) {
    this.requests.push(request);
    const { call_id: callId, name, args } = this.#call;
    const ends = typeof request.input !== "string" && request.input.at(-1)?.type === "function_call_result";
    const said = { type: "output_text", text: "done" } as const;
    const status = "completed" as const;
    return {
      usage: new Usage(),
      output: ends
        ? [{ type: "message" as const, role: "assistant" as const, status, content: [said] }]
        : [{ type: "function_call" as const, callId, name, status, arguments: JSON.stringify(args) }],
    };
  }

  async *getStreamedResponse(): AsyncGenerator<never> {}
}
