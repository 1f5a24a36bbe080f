/**
 * Starts and watches the thread that delivers to webhooks. Due work is rows, so a dead thread loses nothing: another
 * one repeats unsettled attempts when their leases have expired. See
 * docs/decisions/0020-deliveries-in-a-thread-of-their-own.md.
 */
import { Worker } from "node:worker_threads";
import type { DeliveryLoop, DeliveryMetrics } from "../../operations/runtime.ts";
import type { Log, Timers } from "../../ports.ts";
import type { ConnectionOptions } from "../../store/database/connection.ts";
import type { Deliveries } from "../../worker/deliveries/deliveries.ts";
import type { DeliveryTerms } from "../../worker/deliveries/delivery-terms.ts";
import type { MasterKeys } from "../start/sealer.ts";
import type { RequestCount } from "./give-way.ts";
import { type ThreadProgram, threadOptions, threadProgram } from "./thread-program.ts";

export interface DeliveryThreadData extends MasterKeys {
  readonly connection: ConnectionOptions;
  readonly allow_http: boolean;
  readonly allow_cidrs: readonly string[];
  readonly terms?: DeliveryTerms;
  readonly requests: RequestCount;
}

/** Errors are plain objects. */
export interface LogLine {
  readonly level: keyof Log;
  readonly fields: object;
  readonly message: string;
}

export type DeliveryThreadSays =
  | { readonly kind: "attempted"; readonly attempts: readonly Parameters<DeliveryMetrics["attempted"]>[] }
  | ({ readonly kind: "log" } & LogLine)
  /** The error with which the thread is about to end. */
  | { readonly kind: "failed"; readonly error: unknown };

/** `wake` names organizations. */
export type DeliveryThreadHears =
  | { readonly kind: "wake"; readonly events: ReadonlySet<string>; readonly retries: ReadonlySet<string> }
  | { readonly kind: "stop" };

export interface DeliveryThreadHost {
  readonly log: Log;
  readonly timers: Timers;
  readonly metrics: DeliveryMetrics;
}

const heap_mb_max = 512;
const again_ms = 1_000;
/** Longer than the thread itself waits for its attempts and settlements. */
const stop_ms_max = 15_000;

/** Starts another thread whenever one dies. */
export function startDeliveryThread(
  data: DeliveryThreadData,
  { log, timers, metrics }: DeliveryThreadHost,
  program: ThreadProgram = threadProgram(new URL("./delivery-thread.js", import.meta.url)),
): Deliveries {
  let stopped = false;
  let worker: Worker | null = null;
  let cancelAgain: () => void = () => undefined;
  let exited: Promise<void> = Promise.resolve();

  function begin(): Worker | null {
    try {
      return new Worker(program.url, {
        workerData: data,
        ...threadOptions(program),
        resourceLimits: { maxOldGenerationSizeMb: heap_mb_max },
      });
    } catch (error) {
      // No thread is left (EAGAIN, a limit of the container). The API runs without it.
      log.error({ err: error }, "the thread of deliveries could not be started; it is retried");
      return null;
    }
  }

  function start(): void {
    const started = begin();
    if (started === null) {
      cancelAgain = timers.after(again_ms, start);
      return;
    }
    worker = started;
    let failure: unknown;
    started.on("message", (message: DeliveryThreadSays) => {
      if (message.kind === "failed") failure = message.error;
      else if (message.kind === "log") log[message.level](message.fields, message.message);
      else for (const attempt of message.attempts) metrics.attempted(...attempt);
    });
    started.on("error", (error) => {
      failure ??= error;
    });
    exited = new Promise((resolve) => {
      started.on("exit", (code) => {
        worker = null;
        if (failure !== undefined) log.error({ err: failure }, "the thread of deliveries failed");
        if (!stopped) {
          log.error({ code }, "the thread of deliveries ended; another one starts");
          cancelAgain = timers.after(again_ms, start);
        }
        resolve();
      });
    });
  }

  function tell(message: DeliveryThreadHears): void {
    worker?.postMessage(message);
  }

  start();
  return {
    wake: wakeOnceATurn(tell),
    async stop() {
      stopped = true;
      cancelAgain();
      tell({ kind: "stop" });
      const cancel = timers.after(stop_ms_max, () => void worker?.terminate());
      await exited;
      cancel();
    },
  };
}

/** A busy API wakes the deliveries after every decision, so the thread gets one message per turn of the event loop. */
function wakeOnceATurn(tell: (message: DeliveryThreadHears) => void): DeliveryLoop["wake"] {
  /** Null: no message is planned. */
  let pending: { events: Set<string>; retries: Set<string> } | null = null;
  return (org_id, what = "events") => {
    if (pending === null) {
      pending = { events: new Set(), retries: new Set() };
      setImmediate(() => {
        if (pending !== null) tell({ kind: "wake", ...pending });
        pending = null;
      });
    }
    pending[what].add(org_id);
  };
}
