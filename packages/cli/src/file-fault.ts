/** Why a file that was named on the command line does not open, in words and with what to do. */
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { CommandFailed } from "./command-failed.ts";

/** What to throw for an error of opening or writing a file; any other error comes back as it is. */
export function unwritable(path: string, error: unknown): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case "EEXIST":
    case "EISDIR":
      return new CommandFailed(
        isFolder(path)
          ? `${path} is a folder: give the name of a file`
          : `${path} is there already, and is not overwritten: give another name, or remove it first`,
      );
    case "ENOENT":
    case "ENOTDIR":
      if (isFolder(dirname(path))) return error;
      return new CommandFailed(`${path} cannot be written: there is no folder ${dirname(path)}, make it first`);
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return new CommandFailed(`${path} cannot be written: this user may not, give a place where you may`);
    case "ENOSPC":
    case "EDQUOT":
      return new CommandFailed(`${path} cannot be written: no space is left there, make room or give another place`);
    default:
      return error;
  }
}

/** What to throw for an error of opening or reading a file; `shown` is how it was named, `--context FILE`. */
export function unreadable(shown: string, error: unknown): CommandFailed {
  const { code, message } = error as NodeJS.ErrnoException;
  return new CommandFailed(`${shown} cannot be read: ${readFaults.get(code) ?? message}`);
}

const readFaults: ReadonlyMap<unknown, string> = new Map([
  ["ENOENT", "there is no such file"],
  ["ENOTDIR", "there is no such file"],
  ["EISDIR", "it is a folder, name a file"],
  ["EACCES", "this user may not, see its owner and mode"],
]);

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
