/** Why a file that was named on the command line does not open, in words and with what to do. */
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { CommandFailed } from "./command-failed.ts";

/** What to throw for an error of opening a file to write it; any other error comes back as it is. */
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
    default:
      return error;
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
