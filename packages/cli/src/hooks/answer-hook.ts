/** Answers one hook of Claude Code with the service. Every error is an answer that denies the call. */
import type { ClaudeCodeHookAnswer, ClaudeCodeHookInput } from "@countersign/contract";
import type { Client, HookOptions } from "@countersign/sdk";
import { refusalText } from "../service.ts";

export interface HookTerms extends Omit<HookOptions, "wait" | "signal"> {
  /** Seconds that a held call waits for people. */
  readonly wait_seconds: number;
}

/** A client of which `status` returns the status of the last answer. */
export interface Asking {
  readonly client: Pick<Client, "answerClaudeCodeHook">;
  readonly status: () => number;
}

const request_wait_seconds_max = 50;
/** For connecting, and for retries. After this time Claude Code must have an answer. */
const spare_seconds = 30;

export async function answerHook(
  asking: Asking,
  input: ClaudeCodeHookInput,
  terms: HookTerms,
): Promise<ClaudeCodeHookAnswer> {
  const { wait_seconds, ...options } = terms;
  const end_ms = performance.now() + wait_seconds * 1_000;
  const signal = AbortSignal.timeout((wait_seconds + spare_seconds) * 1_000);
  try {
    for (;;) {
      const left_seconds = Math.max(0, Math.floor((end_ms - performance.now()) / 1_000));
      const wait = Math.min(request_wait_seconds_max, left_seconds);
      const answer = await asking.client.answerClaudeCodeHook(sent(input), { ...options, wait, signal });
      if (asking.status() !== 202 || wait < request_wait_seconds_max) return answer;
    }
  } catch (error) {
    return denial(input, error);
  }
}

/** The service needs no output of the tool, which may be large or secret. */
function sent(input: ClaudeCodeHookInput): ClaudeCodeHookInput {
  const { tool_response: _, ...others } = input as ClaudeCodeHookInput & { readonly tool_response?: unknown };
  return others.hook_event_name.startsWith("Post") ? { ...others, tool_input: {} } : others;
}

function denial({ hook_event_name }: ClaudeCodeHookInput, error: unknown): ClaudeCodeHookAnswer {
  const why = refusalText(error) ?? (error instanceof Error ? error.message : String(error));
  const text = `Not decided by Countersign, so nothing was done: ${why}`;
  if (hook_event_name.startsWith("Post"))
    return {
      hookSpecificOutput: { hookEventName: hook_event_name, additionalContext: `The outcome was not recorded: ${why}` },
    };
  return {
    hookSpecificOutput: { hookEventName: hook_event_name, permissionDecision: "deny", permissionDecisionReason: text },
  };
}
