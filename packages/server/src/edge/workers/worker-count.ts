/** Whether and how a service is several processes. */
import cluster from "node:cluster";
import { availableParallelism } from "node:os";
import type { Config } from "../start/config.ts";

/** Whether this process is a worker of a supervisor. */
export function isWorker(): boolean {
  return cluster.isWorker;
}

/**
 * The number of workers. `auto`: one on up to three processors, because the database needs the others; on more of them half as many
 * as there are (docs/scale.md has the measurements).
 */
export function workersOf({ workers }: Pick<Config, "workers">, processors = availableParallelism()): number {
  if (workers !== "auto") return workers;
  return processors <= 3 ? 1 : Math.floor(processors / 2);
}
