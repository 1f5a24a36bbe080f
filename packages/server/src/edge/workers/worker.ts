import cluster from "node:cluster";
import type { RateTake } from "@countersign/core";
import { AggregatorRegistry } from "prom-client";
import type { RateWindows } from "../../ports.ts";
import type { ConnectionOptions } from "../../store/database/connection.ts";
import type { ProcessMetrics, RateCall, SupervisorSays, WorkerSays } from "./messages.ts";

export interface Supervised {
  readonly connection: ConnectionOptions;
  /** Of all workers. */
  readonly windows: RateWindows;
  /** Of all workers. */
  metricsText(): Promise<string>;
  /** Sets the source of this worker's metrics. */
  watchMetrics(own: () => Promise<ProcessMetrics>): void;
  listening(url: string): void;
  /** Resolves when this worker must end. Without a drain if the supervisor is gone. */
  readonly stopped: Promise<{ readonly drains: boolean }>;
  /** Closes the channel, so that the process can end. */
  leave(): void;
}

/** Resolves when the supervisor has sent the database. */
export async function meetSupervisor(): Promise<Supervised> {
  const asked = new Map<number, (answer: never) => void>();
  let ids = 0;
  let ownMetrics: () => Promise<ProcessMetrics> = async () => [];

  function say(message: WorkerSays): void {
    // Without a supervisor the message is dropped, and `stopped` resolves.
    if (process.connected) process.send?.(message);
  }
  function ask<Answer>(message: (id: number) => WorkerSays): Promise<Answer> {
    ids += 1;
    const id = ids;
    return new Promise((resolve) => {
      asked.set(id, resolve);
      say(message(id));
    });
  }
  function answered(id: number, answer: unknown): void {
    asked.get(id)?.(answer as never);
    asked.delete(id);
  }

  let stop: (how: { readonly drains: boolean }) => void = () => undefined;
  const stopped = new Promise<{ readonly drains: boolean }>((resolve) => {
    stop = resolve;
  });
  // Otherwise Node ends the process at once when the supervisor is gone.
  if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true;
  process.once("disconnect", () => stop({ drains: false }));
  const connection = await new Promise<ConnectionOptions>((resolve) => {
    process.on("message", (message: SupervisorSays) => {
      if (message.kind === "database") resolve(message.connection);
      else if (message.kind === "rates") answered(message.id, message.takes);
      else if (message.kind === "all_metrics") answered(message.id, message.metrics);
      else if (message.kind === "stop") stop(message);
      else void ownMetrics().then((metrics) => say({ kind: "own_metrics", id: message.id, metrics }));
    });
    say({ kind: "begun" });
  });
  return {
    connection,
    windows: sharedWindows((calls) => ask((id) => ({ kind: "rates", id, calls }))),
    async metricsText() {
      const all = await ask<ProcessMetrics[]>((id) => ({ kind: "all_metrics", id }));
      return AggregatorRegistry.aggregate(all as object[]).metrics();
    },
    watchMetrics(own) {
      ownMetrics = own;
    },
    listening: (url) => say({ kind: "listening", url }),
    stopped,
    leave: () => void (process.connected && process.disconnect()),
  };
}

/** Sends all calls of a turn of the event loop together. */
function sharedWindows(ask: (calls: readonly RateCall[]) => Promise<readonly RateTake[]>): RateWindows {
  let waiting: { readonly call: RateCall; readonly resolve: (take: RateTake) => void }[] = [];

  async function askAll(): Promise<void> {
    const asked = waiting;
    waiting = [];
    const takes = await ask(asked.map(({ call }) => call));
    for (const [at, { resolve }] of asked.entries()) resolve(takes[at] as RateTake);
  }
  function count(call: RateCall): Promise<RateTake> {
    return new Promise((resolve) => {
      if (waiting.push({ call, resolve }) === 1) setImmediate(() => void askAll());
    });
  }

  return {
    take: (bucket, limit, now_ms) => count({ kind: "take", bucket, limit, now_ms }),
    look: (bucket, limit, now_ms) => count({ kind: "look", bucket, limit, now_ms }),
    refund: (bucket, taken, now_ms) => count({ kind: "refund", bucket, taken, now_ms }),
  };
}
