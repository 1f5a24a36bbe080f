import { readFile } from "node:fs/promises";
import { CommandFailed } from "./command-failed.ts";
import { unreadable } from "./file-fault.ts";

/**
 * Returns the text of a file, without a byte order mark. `shown` names the file as the user did: `--context FILE`.
 * Throws CommandFailed if the file is unreadable or not UTF-8, because a rule for a garbled name would never match.
 */
export async function readTextFile(path: string, shown = path): Promise<string> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw unreadable(shown, error);
  });
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new CommandFailed(`${shown} is not UTF-8: save it as UTF-8`);
  }
}
