/** Hooks of Claude Code. Source: https://code.claude.com/docs/en/hooks */
import Type, { type Static } from "typebox";
import { limits } from "../../limits.ts";
import { anyObject, chosenName, closed, givenId, oneOf, text } from "../shapes.ts";

const hookId = () => Type.String({ pattern: "^[\\x21-\\x7e]+$", minLength: 1, maxLength: limits.hook_id_chars_max });

/** Open, because Claude Code sends more fields, and other versions others. */
export const ClaudeCodeHookInput = Type.Object(
  {
    hook_event_name: oneOf(["PreToolUse", "PostToolUse", "PostToolUseFailure", "PreSkillShellCommand"]),
    session_id: hookId(),
    tool_use_id: hookId(),
    tool_name: chosenName(limits.verb_chars_max, "such as Bash, Write or mcp__server__tool"),
    tool_input: anyObject("the parameters of the tool"),
    cwd: Type.Optional(text(limits.path_chars_max, { description: "the current directory, from the root" })),
    error: Type.Optional(text(limits.body_bytes_max, { description: "why the tool failed" })),
  },
  { title: "ClaudeCodeHookInput", additionalProperties: true },
);
export type ClaudeCodeHookInput = Static<typeof ClaudeCodeHookInput>;

export const ClaudeCodeHookQuery = closed({
  agent: Type.Optional(chosenName(limits.agent_id_chars_max, "the agent's id; default: claude-code")),
  membrane_id: Type.Optional(givenId("prefix mem_; absent: the default one")),
  mode: Type.Optional(oneOf(["shadow"])),
  workspace: Type.Optional(
    text(limits.path_chars_max, {
      description: "the project's directory, from the root; absent: the current directory",
    }),
  ),
  wait: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: limits.decision_wait_seconds_max,
      default: limits.hook_wait_seconds_default,
      description: "seconds that a held call waits for people in this request",
    }),
  ),
  prompts: Type.Optional(
    oneOf(["keep"], {
      description: "keep: an approved call still goes through the permissions of Claude Code, which may ask the user",
    }),
  ),
});
export type ClaudeCodeHookQuery = Static<typeof ClaudeCodeHookQuery>;

/** The answer that Claude Code reads. Without `permissionDecision`, its own permissions decide. */
export const ClaudeCodeHookAnswer = Type.Object(
  {
    hookSpecificOutput: Type.Optional(
      Type.Object({
        hookEventName: text(limits.label_chars_max),
        permissionDecision: Type.Optional(oneOf(["allow", "deny", "ask"])),
        permissionDecisionReason: Type.Optional(Type.String()),
        updatedInput: Type.Optional(anyObject("the parameters with which the tool runs")),
        additionalContext: Type.Optional(Type.String({ description: "a text for the model" })),
      }),
    ),
  },
  { title: "ClaudeCodeHookAnswer" },
);
export type ClaudeCodeHookAnswer = Static<typeof ClaudeCodeHookAnswer>;
