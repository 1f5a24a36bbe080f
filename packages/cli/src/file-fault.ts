import { statSync } from "node:fs";
import { dirname } from "node:path";
import { CommandFailed } from "./command-failed.ts";

/** Returns the error to throw for a file that cannot be opened or written. Returns other errors unchanged. */
export function unwritable(path: string, error: unknown): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case "EEXIST":
    case "EISDIR":
      return new CommandFailed(
        isFolder(path)
          ? `${path} is a folder: give the name of a file`
          : `${path} already exists and is not overwritten: give another name, or remove it first`,
      );
    case "ENOENT":
    case "ENOTDIR":
      if (isFolder(dirname(path))) return error;
      return new CommandFailed(
        `${path} cannot be written: the folder ${dirname(path)} does not exist; create it first`,
      );
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return new CommandFailed(`${path} cannot be written: this user may not write there; give another place`);
    case "ENOSPC":
    case "EDQUOT":
      return new CommandFailed(`${path} cannot be written: the disk is full; make room or give another place`);
    default:
      return error;
  }
}

/**
 * Returns the error to throw for a file that cannot be read. `shown` names the file as the user did: `--context FILE`.
 */
export function unreadable(shown: string, error: unknown): CommandFailed {
  const { code, message } = error as NodeJS.ErrnoException;
  return new CommandFailed(`${shown} cannot be read: ${readFaults.get(code) ?? message}`);
}

const readFaults: ReadonlyMap<unknown, string> = new Map([
  ["ENOENT", "there is no such file"],
  ["ENOTDIR", "there is no such file"],
  ["EISDIR", "it is a folder; name a file"],
  ["EACCES", "this user may not read it; see its owner and mode"],
]);

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
