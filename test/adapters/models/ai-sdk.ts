import { MockLanguageModelV4 } from "ai/test";
import type { StubCall } from "./stub-call.ts";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

export function stubModel({ call_id, name, args }: StubCall) {
  const call = { type: "tool-call", toolCallId: call_id, toolName: name, input: JSON.stringify(args) } as const;
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const ends = prompt.at(-1)?.role === "tool";
      return {
        content: ends ? [{ type: "text", text: "done" }] : [call],
        finishReason: { unified: ends ? "stop" : "tool-calls", raw: undefined },
        usage,
        warnings: [],
      };
    },
  });
}
