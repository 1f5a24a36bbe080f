/** Decides whether a service is several processes, and how many. */
import cluster from "node:cluster";
import { availableParallelism } from "node:os";
import type { Config } from "../start/config.ts";

/** Returns true if this process is a worker of a supervisor. */
export function isWorker(): boolean {
  return cluster.isWorker;
}

/**
 * Returns the number of workers. `auto`: one on up to three processors, because the database needs the others. On
 * larger machines half of the processors (docs/how-to/scale.md has the measurements).
 */
export function workersOf({ workers }: Pick<Config, "workers">, processors = availableParallelism()): number {
  if (workers !== "auto") return workers;
  return processors <= 3 ? 1 : Math.floor(processors / 2);
}
