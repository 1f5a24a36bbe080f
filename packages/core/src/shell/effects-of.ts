import { limits } from "@countersign/contract";
import { at } from "../functions/text.ts";
import { Collected, type Effects } from "./effects.ts";
import { hostOfUrl } from "./hosts.ts";
import { placeOf } from "./paths.ts";
import { readCommand } from "./read-command.ts";
import { ScriptReader } from "./read-script.ts";
import { literal, type Scope } from "./words.ts";

/** A longer command is unclear as a whole. */
export const command_chars_max = 65_536;

/**
 * Returns what the call of a coding tool does, from its parameters: `command` (for bash, unless `shell` names
 * another), `file_path`, `notebook_path` or `path`, `glob` and `url`. `cwd` and `workspace` are directories from the root. Never throws: what cannot be read is in
 * `unclear`.
 */
export function effectsOf(params: unknown): Effects {
  const long: string[] = [];
  const text = (name: string): string | null => {
    const value = at(params, name);
    if (typeof value !== "string") return null;
    if (value.length > limits.path_chars_max) long.push(name);
    return value.slice(0, limits.path_chars_max);
  };
  const cwd = text("cwd");
  const found = new Collected(placeOf(text("workspace") ?? cwd));
  const scope: Scope = { cwds: [cwd ?? "."], vars: new Map() };
  for (const name of ["file_path", "notebook_path", "path"]) {
    const path = text(name);
    if (path === null) continue;
    found.read(literal(path), scope);
    found.change("writes", literal(path), scope);
  }
  const glob = text("glob");
  if (glob !== null) found.read(literal(glob), scope);
  const host = hostOfUrl(text("url") ?? "");
  if (host !== null) found.add("hosts", host);
  const command = at(params, "command");
  const shell = text("shell") ?? "bash";
  if (shell !== "bash") found.add("unclear", `command: for ${shell}, and only bash is read`);
  else if (typeof command === "string") readScript(command, found, scope);
  else if (command !== undefined && command !== null) found.add("unclear", "command: not a text");
  for (const name of long) found.add("unclear", `${name}: longer than ${limits.path_chars_max} characters`);
  return found.effects();
}

function readScript(command: string, found: Collected, scope: Scope): void {
  if (command.length > command_chars_max)
    return void found.add("unclear", `command: longer than ${command_chars_max} characters`);
  try {
    new ScriptReader(found, readCommand).read(command, scope);
  } catch (error) {
    // The parser recurses, and a command may be nested deeper than the stack.
    if (!(error instanceof RangeError)) throw error;
    found.add("unclear", "command: nested too deep");
  }
}
