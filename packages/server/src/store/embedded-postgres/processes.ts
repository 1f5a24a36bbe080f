/** What can be learned about another process: whether it lives, since when, and where it works. */
import { execFile } from "node:child_process";
import { readFile, readlink } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Whether the process exists and is more than an exit status that nobody has collected yet (a zombie). */
export async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it exists and belongs to somebody else.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  return (await statFields(pid))?.[0] !== "Z";
}

/** When the process started, as a text to compare: two processes that had the same number one after the other differ. Null when it does not exist. */
export async function startedAt(pid: number): Promise<string | null> {
  if (process.platform === "linux") return (await statFields(pid))?.[19] ?? null;
  const { stdout } = await run("/bin/ps", ["-o", "lstart=", "-p", String(pid)]).catch(() => ({ stdout: "" }));
  return stdout.trim() || null;
}

/**
 * Whether the process is a PostgreSQL server that works in this directory; null when the system does not tell. (Linux
 * tells about processes of our own user and, being root, of all: what it hides is not our server.)
 */
export async function worksIn(pid: number, dir: string): Promise<boolean | null> {
  if (process.platform === "linux") {
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => null);
    return cwd === dir;
  }
  const { stdout } = await run("/bin/ps", ["-o", "comm=", "-p", String(pid)]).catch(() => ({ stdout: "" }));
  return stdout.includes("postgres") ? null : false;
}

/** Fields of /proc/<pid>/stat from the state on (the name before may hold spaces); null where there is no such file. */
async function statFields(pid: number): Promise<string[] | null> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  return text === null ? null : text.slice(text.lastIndexOf(")") + 2).split(" ");
}
