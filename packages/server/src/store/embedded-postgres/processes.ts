/** Finds out about another process: whether it lives, since when, and where it works. */
import { execFile } from "node:child_process";
import { readFile, readlink } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Returns true if the process exists and is not a zombie (an exit status that no process has collected yet). */
export async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  return (await statFields(pid))?.[0] !== "Z";
}

/**
 * Returns when the process started, as a text to compare. Two processes that had the same number differ in this text.
 * Null: the process does not exist.
 */
export async function startedAt(pid: number): Promise<string | null> {
  if (process.platform === "linux") return (await statFields(pid))?.[19] ?? null;
  const { stdout } = await run("/bin/ps", ["-o", "lstart=", "-p", String(pid)]).catch(() => ({ stdout: "" }));
  return stdout.trim() || null;
}

/**
 * Returns true if the process is a PostgreSQL server that works in this directory. Null: the system does not report it.
 * Linux reports the processes of the same user, and to root all processes. A process that it hides is not our server.
 */
export async function worksIn(pid: number, dir: string): Promise<boolean | null> {
  if (process.platform === "linux") {
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => null);
    return cwd === dir;
  }
  const { stdout } = await run("/bin/ps", ["-o", "comm=", "-p", String(pid)]).catch(() => ({ stdout: "" }));
  return stdout.includes("postgres") ? null : false;
}

/** Returns the fields of /proc/<pid>/stat after the name, which may contain spaces. Null: there is no such file. */
async function statFields(pid: number): Promise<string[] | null> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  return text === null ? null : text.slice(text.lastIndexOf(")") + 2).split(" ");
}
