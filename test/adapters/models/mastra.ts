import { MastraLanguageModelV2Mock } from "@mastra/core/test-utils/llm-mock";
import type { StubCall } from "./stub-call.ts";

export function stubModel({ call_id, name, args }: StubCall) {
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  const call = { type: "tool-call", toolCallId: call_id, toolName: name, input: JSON.stringify(args) } as const;
  return new MastraLanguageModelV2Mock({
    doGenerate: async ({ prompt }) => {
      const ends = prompt.at(-1)?.role === "tool";
      return {
        content: ends ? [{ type: "text", text: "done" }] : [call],
        finishReason: ends ? "stop" : "tool-calls",
        usage,
        warnings: [],
      };
    },
  });
}
