/**
 * The loop over deliveries in a thread of its own: what it costs to claim, sign, encrypt and send is not taken from the
 * thread that answers the API. What is due stands in the database, so a thread that dies loses nothing: another one
 * starts, and attempts that nobody settled are made again when their leases have run out. Source: decision 0020.
 */
import { Worker } from "node:worker_threads";
import type { DeliveryMetrics } from "../../operations/runtime.ts";
import type { Log, Timers } from "../../ports.ts";
import type { ConnectionOptions } from "../../store/database/connection.ts";
import type { ReceiverKey } from "../../store/webhooks/delivery-queue.ts";
import type { Deliveries, DeliveryTerms } from "../../worker/deliveries/deliveries.ts";
import type { MasterKeys } from "../start/sealer.ts";
import type { RequestCount } from "./give-way.ts";
import { type ThreadProgram, threadOptions, threadProgram } from "./thread-program.ts";

/** What the thread is given. */
export interface DeliveryThreadData extends MasterKeys {
  readonly connection: ConnectionOptions;
  readonly allow_http: boolean;
  readonly allow_cidrs: readonly string[];
  readonly terms?: DeliveryTerms;
  /** What the node that it is for receives. */
  readonly requests: RequestCount;
}

/** A line for the log, its errors written out. */
export interface LogLine {
  readonly level: keyof Log;
  readonly fields: object;
  readonly message: string;
}

/** What the thread says. */
export type DeliveryThreadSays =
  | { readonly kind: "attempted"; readonly attempts: readonly Parameters<DeliveryMetrics["attempted"]>[] }
  | ({ readonly kind: "log" } & LogLine)
  /** It is about to end for this, which is written out. */
  | { readonly kind: "failed"; readonly error: unknown };

/** What it is told. `events`: there are new ones; `receivers`: they have new deliveries. */
export type DeliveryThreadHears =
  | { readonly kind: "poke"; readonly events: boolean; readonly receivers: readonly ReceiverKey[] }
  | { readonly kind: "stop" };

/** What is here of the node. */
export interface DeliveryThreadHost {
  readonly log: Log;
  readonly timers: Timers;
  readonly metrics: DeliveryMetrics;
}

const heap_mb_max = 512;
const again_ms = 1_000;
/** Longer than the loop itself waits for its attempts and settlements. */
const stop_ms_max = 15_000;

/** Starts the thread, and another whenever one died. */
export function startDeliveryThread(
  data: DeliveryThreadData,
  { log, timers, metrics }: DeliveryThreadHost,
  program: ThreadProgram = threadProgram(new URL("./delivery-thread.js", import.meta.url)),
): Deliveries {
  let stopped = false;
  let worker: Worker | null = null;
  let cancelAgain: () => void = () => undefined;
  let exited: Promise<void> = Promise.resolve();
  /** What happened since the last message; null: nothing. */
  let news: { events: boolean; readonly receivers: ReceiverKey[] } | null = null;

  function begin(): Worker | null {
    try {
      return new Worker(program.url, {
        workerData: data,
        ...threadOptions(program),
        resourceLimits: { maxOldGenerationSizeMb: heap_mb_max },
      });
    } catch (error) {
      // The machine has no thread to give (EAGAIN, a limit of the container): thrown at once. The API can do without.
      log.error({ err: error }, "the thread of deliveries could not be started; another try follows");
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
          log.error({ code }, "the thread of deliveries ended; another one follows");
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
    // A busy API pokes for every decision; one message a turn of the event loop says it all.
    poke(receiver) {
      if (news === null) {
        news = { events: false, receivers: [] };
        setImmediate(() => {
          if (news !== null) tell({ kind: "poke", ...news });
          news = null;
        });
      }
      if (receiver === undefined) news.events = true;
      else news.receivers.push(receiver);
    },
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
