import type { ClaudeCodeHookAnswer, ClaudeCodeHookInput, ClaudeCodeHookQuery } from "@countersign/contract";
import type { Transport } from "../transport.ts";

type Query = { readonly [Name in keyof ClaudeCodeHookQuery]?: ClaudeCodeHookQuery[Name] | undefined };

export interface HookOptions extends Query {
  readonly signal?: AbortSignal | undefined;
}

export function hookCalls(call: Transport) {
  return {
    /**
     * Answers a hook of Claude Code. The program `countersign hook claude-code` does this, and denies the call after an
     * error.
     */
    answerClaudeCodeHook: (input: ClaudeCodeHookInput, { signal, ...query }: HookOptions = {}) =>
      call<ClaudeCodeHookAnswer>("POST", "/v1/hooks/claude-code", {
        body: input,
        query: { ...query },
        repeatable: true,
        agent_token: true,
        signal,
      }),
  };
}
