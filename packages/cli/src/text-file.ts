import { readFile } from "node:fs/promises";
import { CommandFailed } from "./command-failed.ts";
import { unreadable } from "./file-fault.ts";

/**
 * The text of a file, without a byte order mark; `shown` is how it was named, `--context FILE`. Throws CommandFailed when it cannot be
 * read, or is not UTF-8: read as if it were, `Österreich` would be another country, and a rule about it would never fire.
 */
export async function readTextFile(path: string, shown = path): Promise<string> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw unreadable(shown, error);
  });
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new CommandFailed(`${shown} is not UTF-8: save it as that`);
  }
}
