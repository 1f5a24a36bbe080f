import { expect, test } from "vitest";
import { isSettings, type Settings, withHooks, withoutHooks } from "./settings.ts";

const own = { matcher: "Bash", hooks: [{ type: "command", command: "./log.sh" }] };
const before: Settings = { permissions: { deny: ["Read(.env)"] }, hooks: { PreToolUse: [own], Stop: [own] } };
const commands = ({ hooks = {} }: Settings, event: string) =>
  (hooks[event] ?? []).flatMap((group) => group.hooks ?? []).map(({ command }) => command);

test("all other settings and hooks are kept", () => {
  const after = withHooks(before, "", 300);
  expect(after).toMatchObject({ permissions: { deny: ["Read(.env)"] }, hooks: { Stop: [own] } });
  expect(commands(after, "PreToolUse")).toEqual(["./log.sh", "countersign hook claude-code || exit 2"]);
  expect(commands(after, "PostToolUse")).toEqual(["countersign hook claude-code"]);
});

test("a failure of the hook stops the call, and its timeout is longer than its wait", () => {
  const [group] = withHooks({}, "--agent a", 600).hooks?.["PreToolUse"] ?? [];
  const [entry] = group?.hooks ?? [];
  expect(group).toMatchObject({ matcher: "*" });
  expect(entry).toMatchObject({
    command: "countersign hook claude-code --agent a || exit 2",
    timeout: 660,
    onFailure: "block",
  });
});

test("installing again replaces the hooks, and uninstalling removes them and nothing else", () => {
  const once = withHooks(before, "", 300);
  expect(withHooks(once, "", 300)).toEqual(once);
  expect(commands(withHooks(once, "--agent b", 300), "PostToolUse")).toEqual([
    "countersign hook claude-code --agent b",
  ]);
  expect(withoutHooks(once)).toEqual(before);
  expect(withoutHooks(withHooks({}, "", 300))).toEqual({});
});

test("settings of another form are not touched", () => {
  expect(isSettings({ hooks: { PreToolUse: [{ hooks: [] }] } })).toBe(true);
  for (const wrong of [
    [],
    null,
    "x",
    { hooks: [] },
    { hooks: { A: {} } },
    { hooks: { A: ["x"] } },
    { hooks: { A: [{ hooks: "x" }] } },
  ])
    expect(isSettings(wrong), JSON.stringify(wrong)).toBe(false);
});
