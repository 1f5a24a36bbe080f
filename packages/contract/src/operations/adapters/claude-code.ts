import { limits } from "../../limits.ts";
import { ClaudeCodeHookAnswer, ClaudeCodeHookInput, ClaudeCodeHookQuery } from "../../resources/index.ts";
import type { Operation } from "../operation.ts";

export const claudeCodeOperations = {
  /** See docs/how-to/claude-code.md. */
  answerClaudeCodeHook: {
    method: "POST",
    path: "/v1/hooks/claude-code",
    tag: "Intents",
    summary: "Answer a hook of Claude Code",
    description:
      "PreToolUse submits the tool call as an intent, waits for people if it is held, and claims it. PostToolUse and " +
      "PostToolUseFailure report its outcome. `tool_use_id` is the Idempotency-Key, so a repeated request continues the same " +
      "review. A fault of the decision is answered as a denial, because Claude Code runs a tool whose hook answers another status.",
    auth: ["operator", "host", "agent"],
    rate: "intents",
    agent_token: true,
    bearer: true,
    query: ClaudeCodeHookQuery,
    body: ClaudeCodeHookInput,
    body_bytes_max: limits.body_bytes_max,
    answers: {
      200: { description: "The final answer.", schema: ClaudeCodeHookAnswer },
      202: {
        description: "The call still waits for people, and is denied. Send the request again.",
        schema: ClaudeCodeHookAnswer,
      },
    },
    refuses: ["not_found", "idempotency_conflict"],
  },
} as const satisfies Record<string, Operation>;
