/** The hooks of Countersign in the settings of Claude Code. */

interface HookEntry {
  readonly type?: unknown;
  readonly command?: unknown;
  readonly [name: string]: unknown;
}

interface HookGroup {
  readonly hooks?: readonly HookEntry[];
  readonly [name: string]: unknown;
}

export interface Settings {
  readonly hooks?: Readonly<Record<string, readonly HookGroup[]>>;
  readonly [name: string]: unknown;
}

/** Events that decide about a call. A failure of their hook must stop the call. */
const deciding = ["PreToolUse", "PreSkillShellCommand"];
const reporting = ["PostToolUse", "PostToolUseFailure"];

/** Begins every command that `hook install` writes. */
const mark = "countersign hook claude-code";

/** Longer than the command waits. If a hook exceeds its timeout, Claude Code runs the tool without an answer. */
const spare_seconds = 60;

/**
 * Returns the settings with the hooks of Countersign, once, for all tools. Keeps everything else. `options` are those of
 * the command, as one text.
 */
export function withHooks(settings: Settings, options: string, wait_seconds: number): Settings {
  const { hooks = {}, ...others } = withoutHooks(settings);
  const entry = (command: string, more: object) => ({ hooks: [{ type: "command", command, ...more }] });
  const run = [mark, options].filter((part) => part !== "").join(" ");
  const added = Object.fromEntries([
    // 2 is the code that stops the call, also if the program is missing. Newer versions know onFailure.
    ...deciding.map((event) => [
      event,
      { matcher: "*", ...entry(`${run} || exit 2`, { timeout: wait_seconds + spare_seconds, onFailure: "block" }) },
    ]),
    ...reporting.map((event) => [event, { matcher: "*", ...entry(run, { timeout: spare_seconds }) }]),
  ]) as Record<string, HookGroup>;
  const events = [...new Set([...Object.keys(hooks), ...Object.keys(added)])];
  const merged = events.map((event) => [event, [...(hooks[event] ?? []), added[event] ?? []].flat()]);
  return { ...others, hooks: Object.fromEntries(merged) };
}

/** Returns the settings without the hooks of Countersign, and without places that this leaves empty. */
export function withoutHooks(settings: Settings): Settings {
  const { hooks, ...others } = settings;
  if (hooks === undefined) return settings;
  const kept = Object.entries(hooks).flatMap(([event, groups]) => {
    const left = groups.flatMap((group) => {
      const entries = (group.hooks ?? []).filter(
        ({ command }) => typeof command !== "string" || !command.startsWith(mark),
      );
      return entries.length === group.hooks?.length
        ? [group]
        : entries.length === 0
          ? []
          : [{ ...group, hooks: entries }];
    });
    return left.length === 0 && groups.length > 0 ? [] : [[event, left] as const];
  });
  return kept.length === 0 ? others : { ...others, hooks: Object.fromEntries(kept) };
}

/** Returns whether the text has the form of settings that this file can change. */
export function isSettings(value: unknown): value is Settings {
  const isObject = (each: unknown): each is Record<string, unknown> =>
    typeof each === "object" && each !== null && !Array.isArray(each);
  if (!isObject(value)) return false;
  const { hooks = {} } = value;
  const isGroup = (group: unknown): boolean =>
    isObject(group) &&
    (group["hooks"] === undefined || (Array.isArray(group["hooks"]) && group["hooks"].every(isObject)));
  return isObject(hooks) && Object.values(hooks).every((groups) => Array.isArray(groups) && groups.every(isGroup));
}
