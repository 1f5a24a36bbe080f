import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { openPinStore, type PinStore } from "@countersign/mcp";
import { CommandFailed } from "./command-failed.ts";
import type { Terminal } from "./terminal.ts";
import { visible } from "./visible.ts";

/** Opens the pins of the server in the folder; `true`: in the default folder. */
export function pinsIn({ env }: Pick<Terminal, "env">, given: string | true, server: readonly string[]): PinStore {
  const folder = given === true ? defaultFolder(env) : given;
  try {
    return openPinStore(folder, server);
  } catch (error) {
    throw new CommandFailed(`the folder of --pin cannot be used: ${visible((error as Error).message)}`);
  }
}

/** Source: XDG Base Directory Specification 0.8, which ignores relative paths. */
function defaultFolder(env: Terminal["env"]): string {
  const set = env["XDG_STATE_HOME"] ?? "";
  return join(isAbsolute(set) ? set : join(env["HOME"] || homedir(), ".local", "state"), "countersign", "pins");
}
