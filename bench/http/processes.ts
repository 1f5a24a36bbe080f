/** Starts the measured programs and reads their cost from /proc (Linux). */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

export interface Started {
  readonly pid: number;
  readonly url: string;
  stop(): Promise<void>;
}

export interface StartOrder {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A file costs the benchmark nothing, but a pipe would. */
  readonly log: string;
  readonly findUrl: (printed: string) => string | null;
}

export async function start(order: StartOrder): Promise<Started> {
  const log = openSync(order.log, "a");
  const env = { ...process.env, ...order.env };
  const child = spawn(order.command, order.args, { env, stdio: ["ignore", log, log] });
  closeSync(log);
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.once("error", (error) => console.error(`${order.command}: ${error.message}`));
  const deadline = performance.now() + 60_000;
  for (;;) {
    const printed = readFileSync(order.log, "utf8");
    const url = order.findUrl(printed);
    if (url !== null && child.pid !== undefined) return { pid: child.pid, url, stop: () => stop(child, gone) };
    if (child.exitCode !== null || child.pid === undefined || performance.now() > deadline) {
      child.kill("SIGKILL");
      throw new Error(`${order.command} did not start:\n${printed.slice(-2000)}`);
    }
    await sleep(20);
  }
}

async function stop(child: ChildProcess, gone: Promise<void>): Promise<void> {
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), 15_000);
  await gone;
  clearTimeout(late);
}

const ticks_per_second = 100; // USER_HZ is 100 on every Linux that node runs on.

interface ProcessTimes {
  readonly parent: number;
  readonly name: string;
  readonly cpu_ms: number;
  readonly reaped_ms: number;
}

function readTimes(pid: number): ProcessTimes | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const name = stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")"));
    const fields = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
    const ms = (from: number) => (((fields[from] ?? 0) + (fields[from + 1] ?? 0)) * 1000) / ticks_per_second;
    return { parent: fields[1] ?? 0, name, cpu_ms: ms(11), reaped_ms: ms(13) };
  } catch {
    return null; // The process ended after the listing.
  }
}

/** Includes ended children. Workers run the same program and count as its own. */
export function cpuOf(pid: number): { own_ms: number; children_ms: number } {
  const all = new Map<number, ProcessTimes>();
  for (const entry of readdirSync("/proc")) {
    const times = /^\d+$/.test(entry) ? readTimes(Number(entry)) : null;
    if (times !== null) all.set(Number(entry), times);
  }
  const own = all.get(pid);
  let own_ms = own?.cpu_ms ?? 0;
  let children_ms = own?.reaped_ms ?? 0;
  for (const [other, times] of all) {
    if (other === pid || !isUnder(other, pid, all)) continue;
    if (times.name === own?.name) own_ms += times.cpu_ms;
    else children_ms += times.cpu_ms + times.reaped_ms;
  }
  return { own_ms, children_ms };
}

function isUnder(pid: number, ancestor: number, all: ReadonlyMap<number, ProcessTimes>): boolean {
  for (let at = all.get(pid); at !== undefined; at = all.get(at.parent)) if (at.parent === ancestor) return true;
  return false;
}

export function machineBusyMs(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
}

export function residentMib(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line?.[1] ?? 0) / 1024;
}
