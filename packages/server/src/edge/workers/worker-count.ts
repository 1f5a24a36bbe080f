import cluster from "node:cluster";
import { availableParallelism } from "node:os";
import type { Config } from "../start/config.ts";

export function isWorker(): boolean {
  return cluster.isWorker;
}

/** `auto`: one worker on up to three processors, else half of the processors (measurements: docs/how-to/scale.md). */
export function workersOf({ workers }: Pick<Config, "workers">, processors = availableParallelism()): number {
  if (workers !== "auto") return workers;
  return processors <= 3 ? 1 : Math.floor(processors / 2);
}
