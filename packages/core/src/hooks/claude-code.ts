/** Translates hooks of Claude Code: a tool call into an intent, and a decision into the answer of the hook. */
import {
  type ClaudeCodeHookAnswer,
  type ClaudeCodeHookInput,
  type ClaudeCodeHookQuery,
  type Decision,
  type IntentSubmission,
  limits,
} from "@countersign/contract";
import { at } from "../functions/text.ts";
import { clipText } from "../values/clip-text.ts";

const default_agent_id = "claude-code";

const shells: ReadonlyMap<string, string | null> = new Map([
  ["Bash", null],
  ["Monitor", null],
  ["PowerShell", "powershell"],
]);

const toolTypes: ReadonlyMap<string, string> = new Map([
  ...[...shells.keys()].map((name): [string, string] => [name, "code.execute"]),
  ...["Write", "Edit", "MultiEdit", "NotebookEdit"].map((name): [string, string] => [name, "file.write"]),
  ...["Read", "Grep", "Glob", "LS", "NotebookRead", "WebFetch", "WebSearch"].map((name): [string, string] => [
    name,
    "data.read",
  ]),
]);

/** Parameters that `claudeCodeSubmission` adds. */
const added = ["cwd", "workspace", "shell"];

/** The Idempotency-Key of a call. Its prefix lets an equal call, with an id of its own, continue the same review. */
export function claudeCodeKey({ session_id, tool_use_id }: ClaudeCodeHookInput): string {
  return `retry-claude-code ${session_id} ${tool_use_id}`;
}

/** A skill's command has no later event, so nobody could report its outcome. */
export const isClaimed = ({ hook_event_name }: ClaudeCodeHookInput): boolean => hook_event_name === "PreToolUse";

/** Returns the submission of a tool call. The model's description of a command becomes the summary for people. */
export function claudeCodeSubmission(input: ClaudeCodeHookInput, query: ClaudeCodeHookQuery): IntentSubmission {
  const { tool_name, tool_input, session_id } = input;
  const { agent = default_agent_id, membrane_id } = query;
  const type = toolTypes.get(tool_name);
  const description = shells.has(tool_name) ? at(tool_input, "description") : undefined;
  const summary = typeof description === "string" && description !== "" ? description : null;
  return {
    intent: {
      agent: { id: agent, framework: "claude-code", session_id },
      action: type === undefined ? actionOf(tool_name) : { verb: tool_name, type, ...placeOf(input, query) },
      payload: {
        content: type === undefined ? { ...tool_input } : contentOf(input, query),
        ...(summary !== null && { summary: clipText(summary, limits.summary_chars_max) }),
      },
    },
    ...(membrane_id !== undefined && { membrane_id }),
    ...(isClaimed(input) && { claim: "required" as const }),
  };
}

/** Reviewers see the project as the target. */
function placeOf({ cwd }: ClaudeCodeHookInput, { workspace = cwd }: ClaudeCodeHookQuery) {
  if (workspace === undefined || workspace === "" || workspace.length > limits.target_identifier_chars_max) return {};
  return { target: { type: "workspace", identifier: workspace } };
}

/** `mcp__server__tool` is the tool of a server, as for the MCP proxy. */
function actionOf(tool_name: string): Pick<IntentSubmission["intent"]["action"], "verb" | "target"> {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/s.exec(tool_name) ?? [];
  if (server === undefined || tool === undefined) return { verb: tool_name };
  return { verb: tool, target: { type: "mcp_server", identifier: server } };
}

function contentOf({ tool_name, tool_input, cwd }: ClaudeCodeHookInput, query: ClaudeCodeHookQuery) {
  const { description: _, ...command } = tool_input;
  const shell = shells.get(tool_name) ?? null;
  const workspace = query.workspace ?? cwd;
  return {
    ...(shells.has(tool_name) ? command : tool_input),
    ...(cwd !== undefined && { cwd }),
    ...(workspace !== undefined && { workspace }),
    ...(shell !== null && { shell }),
  };
}

/** Returns the parameters with which the tool runs, without those that the submission added. */
function updatedInput({ tool_name, tool_input }: ClaudeCodeHookInput, content: Readonly<Record<string, unknown>>) {
  const description = shells.has(tool_name) ? at(tool_input, "description") : undefined;
  const own = Object.entries(content).filter(([name]) => !(toolTypes.has(tool_name) && added.includes(name)));
  return { ...Object.fromEntries(own), ...(description !== undefined && { description }) };
}

type Output = NonNullable<ClaudeCodeHookAnswer["hookSpecificOutput"]>;

const output = ({ hook_event_name }: ClaudeCodeHookInput, members: Omit<Output, "hookEventName">) => ({
  hookSpecificOutput: { hookEventName: hook_event_name, ...members },
});

/** Denies the call, with a reason for the model. */
export function denial(input: ClaudeCodeHookInput, reason: string): ClaudeCodeHookAnswer {
  return output(input, { permissionDecision: "deny", permissionDecisionReason: reason });
}

/** Returns the answer for a decision. Where nothing is enforced, the permissions of Claude Code decide as without it. */
export function claudeCodeAnswer(
  input: ClaudeCodeHookInput,
  { prompts }: ClaudeCodeHookQuery,
  decision: Decision,
): ClaudeCodeHookAnswer {
  const { intent_id, outcome, modified_content, message_to_agent, enforced } = decision;
  if (decision.status === "pending") return denial(input, pendingText(decision));
  if (outcome === "block" || outcome === null) return denial(input, blockedText(decision));
  const said =
    message_to_agent === undefined ? null : `The person who approved this call says to you: ${message_to_agent}`;
  const told = said === null ? {} : { additionalContext: said };
  if (outcome === "approve_modified" && modified_content !== null) {
    if (!isClaimed(input))
      return denial(input, `Countersign changed this command, which a skill cannot take. (${intent_id})`);
    const changed = updatedInput(input, modified_content);
    const reason = `Countersign changed this call before it runs. It runs with: ${JSON.stringify(changed)} (${intent_id})`;
    return output(input, {
      permissionDecision: prompts === "keep" ? "ask" : "allow",
      permissionDecisionReason: reason,
      updatedInput: changed,
      additionalContext: [reason, ...(said === null ? [] : [said])].join("\n"),
    });
  }
  if (!enforced || prompts === "keep") return said === null ? {} : output(input, told);
  return output(input, {
    permissionDecision: "allow",
    permissionDecisionReason: `Approved by Countersign. (${intent_id})`,
    ...told,
  });
}

function pendingText({ intent_id, reasons }: Decision): string {
  return [
    "Waiting for approval, nothing was done. People decide about this call in Countersign.",
    ...reasonTexts(reasons),
    `Do other work, or tell the user. To continue, make exactly the same call again. It then waits for the same review. (${intent_id})`,
  ].join(" ");
}

const reviews = {
  decided: "A reviewer decided against it.",
  timed_out: "Nobody decided on it in time.",
  cancelled: "Its review was cancelled.",
} as const;

function blockedText({ intent_id, escalation_status, reasons, message_to_agent }: Decision): string {
  return [
    "Blocked by Countersign, nothing was done.",
    ...(escalation_status === null || escalation_status === "pending" ? [] : [reviews[escalation_status]]),
    ...(message_to_agent === undefined ? [] : [`The reviewer says to you: ${message_to_agent}`]),
    ...reasonTexts(reasons),
    `Do not retry this call, and do not try to get the same result in another way. (${intent_id})`,
  ].join(" ");
}

const reasonTexts = (reasons: Decision["reasons"]): readonly string[] =>
  reasons.filter(({ effect }) => effect !== "none").map(({ policy, message }) => `${policy}: ${message}`);
