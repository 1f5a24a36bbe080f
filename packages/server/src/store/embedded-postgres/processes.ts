import { execFile } from "node:child_process";
import { readFile, readlink } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Returns false for a zombie. */
export async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process belongs to another user.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  return (await statFields(pid))?.[0] !== "Z";
}

/** Returns a text that differs between processes with the same number. Null: no such process. */
export async function startedAt(pid: number): Promise<string | null> {
  if (process.platform === "linux") return (await statFields(pid))?.[19] ?? null;
  const { stdout } = await run("/bin/ps", ["-o", "lstart=", "-p", String(pid)]).catch(() => ({ stdout: "" }));
  return stdout.trim() || null;
}

/** Null: the system does not report it. On Linux, a hidden process is not our server. */
export async function worksIn(pid: number, dir: string): Promise<boolean | null> {
  if (process.platform === "linux") {
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => null);
    return cwd === dir;
  }
  const { stdout } = await run("/bin/ps", ["-o", "comm=", "-p", String(pid)]).catch(() => ({ stdout: "" }));
  return stdout.includes("postgres") ? null : false;
}

/** Returns the fields after the name, which may contain spaces. */
async function statFields(pid: number): Promise<string[] | null> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  return text === null ? null : text.slice(text.lastIndexOf(")") + 2).split(" ");
}
