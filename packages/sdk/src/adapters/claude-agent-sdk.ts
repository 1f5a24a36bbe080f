/** Guards the tools of the Claude Agent SDK with hooks, also its built-in ones and those of MCP servers. */
import {
  type Admitted,
  createToolGate,
  type GateClient,
  type GateOptions,
  type Review,
  undecidedText,
} from "./tool-gate.ts";

export type { GateClient, GateOptions, Review };

export interface ClaudeOptions extends GateOptions {
  /** Matches the names of the guarded tools, as the SDK's own matchers do. Default: all tools. */
  readonly matcher?: string;
}

interface HookInput {
  readonly session_id: string;
  readonly tool_name: string;
  readonly tool_input: unknown;
  readonly tool_use_id: string;
  readonly error?: string;
}

interface PreToolUseOutput {
  readonly hookSpecificOutput: {
    readonly hookEventName: "PreToolUse";
    readonly permissionDecision: "allow" | "deny" | "defer";
    readonly permissionDecisionReason?: string;
    readonly updatedInput?: Record<string, unknown>;
    readonly additionalContext?: string;
  };
}

interface Matcher<Output> {
  readonly matcher?: string;
  // biome-ignore lint/suspicious/noExplicitAny: the input is a union of the framework's own types
  readonly hooks: ((input: any, id: string | undefined, options: { signal: AbortSignal }) => Promise<Output>)[];
  readonly timeout?: number;
  readonly onFailure?: "block";
}

export interface CountersignHooks {
  readonly PreToolUse: Matcher<PreToolUseOutput>[];
  readonly PostToolUse: Matcher<object>[];
  readonly PostToolUseFailure: Matcher<object>[];
}

/** Longer than any review, in seconds. The framework's default would end the wait after one minute. */
const wait_seconds = 7 * 86_400;

/**
 * Returns `hooks` for the options of `query`. An approved call needs no further permission, except from the framework's
 * own deny rules. If the service cannot be reached, the call is blocked.
 */
export function countersignHooks(client: GateClient, options: ClaudeOptions): CountersignHooks {
  const gate = createToolGate(client, "claude-agent-sdk", options);
  const matcher = options.matcher === undefined ? {} : { matcher: options.matcher };
  const admitted = new Map<string, Admitted>();
  const ended = (id: string): Admitted | undefined => {
    const call = admitted.get(id);
    admitted.delete(id);
    return call;
  };
  const before = async (
    { session_id, tool_name, tool_input, tool_use_id }: HookInput,
    _id: string | undefined,
    { signal }: { readonly signal: AbortSignal },
  ) => {
    const call = { name: tool_name, args: tool_input, call_id: tool_use_id, session: session_id, signal };
    const answer = await gate.admit(call).catch(undecidedText);
    if (typeof answer === "string") return output({ permissionDecision: "deny", permissionDecisionReason: answer });
    if (answer.kind === "refused") return output({ permissionDecision: "deny", permissionDecisionReason: answer.text });
    if (answer.kind === "suspended") return output({ permissionDecision: "defer" });
    admitted.set(tool_use_id, answer);
    return output({
      permissionDecision: "allow",
      ...(answer.changed && { updatedInput: { ...answer.args } }),
      ...(answer.notes.length > 0 && { additionalContext: answer.notes.join("\n\n") }),
    });
  };
  const after = async ({ tool_use_id }: HookInput) => {
    ended(tool_use_id)?.succeeded();
    return {};
  };
  const afterFailure = async ({ tool_use_id, error = "" }: HookInput) => {
    ended(tool_use_id)?.failed(error);
    return {};
  };
  return {
    PreToolUse: [{ ...matcher, hooks: [before], timeout: wait_seconds, onFailure: "block" }],
    PostToolUse: [{ ...matcher, hooks: [after] }],
    PostToolUseFailure: [{ ...matcher, hooks: [afterFailure] }],
  };
}

function output(decision: Omit<PreToolUseOutput["hookSpecificOutput"], "hookEventName">): PreToolUseOutput {
  return { hookSpecificOutput: { hookEventName: "PreToolUse", ...decision } };
}
