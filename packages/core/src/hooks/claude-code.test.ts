import type { ClaudeCodeHookInput } from "@countersign/contract";
import { expect, test } from "vitest";
import { claudeCodeSubmission } from "./claude-code.ts";

const input = (tool_name: string, tool_input: Record<string, unknown>): ClaudeCodeHookInput => ({
  ...{ hook_event_name: "PreToolUse", session_id: "s", tool_use_id: "t", cwd: "/w/sub" },
  ...{ tool_name, tool_input },
});
const submitted = (tool_name: string, tool_input: Record<string, unknown>, query = {}) => {
  const { action, payload } = claudeCodeSubmission(input(tool_name, tool_input), query).intent;
  return { ...action, ...payload };
};

test.each([
  ["Bash", { command: "ls" }, "code.execute"],
  ["Write", { file_path: "/w/a", content: "x" }, "file.write"],
  ["Read", { file_path: "/w/a" }, "data.read"],
  ["WebFetch", { url: "https://a.example", prompt: "x" }, "data.read"],
])("the tool %s has its action type, and the directories as parameters", (tool, tool_input, type) => {
  const content = { ...tool_input, cwd: "/w/sub", workspace: "/w" };
  const target = { type: "workspace", identifier: "/w" };
  expect(submitted(tool, tool_input, { workspace: "/w" })).toEqual({ verb: tool, type, target, content });
});

test("without a workspace, the current directory counts, and the agent cannot name another one", () => {
  const { content } = submitted("Bash", { command: "ls", cwd: "/", workspace: "/" });
  expect(content).toEqual({ command: "ls", cwd: "/w/sub", workspace: "/w/sub" });
});

test("the description of a command is for people, so that equal commands are equal", () => {
  const one = submitted("Bash", { command: "ls", description: "List" });
  expect(one).toMatchObject({ summary: "List", content: { command: "ls" } });
  expect(one.content).not.toHaveProperty("description");
});

test("another shell than bash is named", () => {
  expect(submitted("PowerShell", { command: "dir" }).content).toMatchObject({ shell: "powershell" });
});

test("the tool of a server has the names that it has for the MCP proxy", () => {
  const target = { type: "mcp_server", identifier: "github" };
  expect(submitted("mcp__github__create_issue", { title: "x" })).toEqual({
    verb: "create_issue",
    target,
    content: { title: "x" },
  });
  expect(submitted("mcp__a__b__c", {})).toMatchObject({ verb: "b__c", target: { identifier: "a" } });
});

test("another tool has no type and its own parameters only", () => {
  expect(submitted("TodoWrite", { todos: [] })).toEqual({ verb: "TodoWrite", content: { todos: [] } });
});
