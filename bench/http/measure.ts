import { fork } from "node:child_process";
import { join } from "node:path";
import type { LoadMessage, LoadOrder, LoadResult } from "./load.ts";
import { cpuOf, machineBusyMs } from "./processes.ts";

/** CPU is in cores (1 = one core busy all the time). `cpu_others` is that of other programs. */
export interface Measured extends LoadResult {
  readonly answers_per_s: number;
  readonly cpu_server: number;
  readonly cpu_children: number;
  readonly cpu_load: number;
  readonly cpu_others: number;
}

export async function measure(order: LoadOrder, pid: number): Promise<Measured> {
  const load = fork(join(import.meta.dirname, "load.ts"), [], { execArgv: process.execArgv });
  const loadPid = load.pid;
  if (loadPid === undefined) throw new Error("the load generator did not start");
  const read = () => ({ server: cpuOf(pid), load: cpuOf(loadPid), machine: machineBusyMs() });
  let before = read();
  const result = await new Promise<LoadResult>((resolve, reject) => {
    load.on("message", (message: LoadMessage) => {
      if (message.kind === "measuring") before = read();
      else resolve(message.result);
    });
    load.on("exit", (code) => reject(new Error(`the load generator ended with ${code}`)));
    load.send(order);
  });
  const after = read();
  load.removeAllListeners("exit");
  load.disconnect();
  const cpu_server = (after.server.own_ms - before.server.own_ms) / result.elapsed_ms;
  const cpu_children = (after.server.children_ms - before.server.children_ms) / result.elapsed_ms;
  const cpu_load = (after.load.own_ms - before.load.own_ms) / result.elapsed_ms;
  const machine = (after.machine - before.machine) / result.elapsed_ms;
  const cpu_others = Math.max(0, machine - cpu_server - cpu_children - cpu_load);
  return {
    ...result,
    answers_per_s: (result.answers * 1000) / result.elapsed_ms,
    cpu_server,
    cpu_children,
    cpu_load,
    cpu_others,
  };
}
