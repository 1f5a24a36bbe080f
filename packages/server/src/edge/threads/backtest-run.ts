/**
 * One backtest in its threads. It is answered when all parts have arrived, a thread failed, or it was cancelled. It has
 * ended when every thread has exited.
 */
import { availableParallelism } from "node:os";
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import { type BacktestFigures, Fault, type PackRules, type PolicyDocument } from "@countersign/core";
import { firstTurn, type ReplayedPart, type Turn } from "../../operations/backtests/replay-needs.ts";
import { joinParts } from "../../operations/backtests/replay-recorded.ts";
import type { BacktestJob } from "../../operations/shared/node-services.ts";
import type { Log } from "../../ports.ts";
import type { ConnectionOptions } from "../../store/database/connection.ts";
import type { RequestCount } from "./give-way.ts";
import { type ThreadProgram, threadOptions } from "./thread-program.ts";

export interface ThreadData {
  readonly job: BacktestJob;
  readonly connection: ConnectionOptions;
  readonly replicas: readonly ConnectionOptions[];
  readonly packs: readonly (readonly [string, { readonly rules: readonly PolicyDocument[] }])[];
  /** Requests of the node have priority over the backtest. */
  readonly requests: RequestCount;
  readonly inbox: MessagePort;
  readonly outbox: MessagePort;
  /** Null for threads that do not begin. */
  readonly first: Turn | null;
}

/** `refused`: a fault for the caller. `lost`: the database could not be reached. */
export type ThreadSays =
  | { readonly kind: "progress"; readonly evaluated: number; readonly done: number }
  | { readonly kind: "part"; readonly part: ReplayedPart }
  | { readonly kind: "refused"; readonly code: Fault["code"]; readonly details: Fault["details"] }
  | { readonly kind: "failed"; readonly lost: boolean; readonly text: string };

export interface BacktestParts {
  readonly connection: ConnectionOptions;
  readonly replicas: readonly ConnectionOptions[];
  readonly packs: PackRules;
  readonly log: Log;
  readonly requests: RequestCount;
  readonly program: ThreadProgram;
}

export type BacktestResult = BacktestFigures | Fault;

export interface BacktestListener {
  onProgress(evaluated: number, done: number): void;
  /** May be called more than once. The first result counts. */
  settle(result: BacktestResult): void;
  onEnded(): void;
}

const heap_mb_max = 512;
/** The first thread of a candidate may keep counters. The other threads then end at once. */
const heap_mb_max_counting = 1_024;
/** With V8's default of 48 MB a row took 10 % longer; 192 MB was no better. */
const young_mb_max = 96;
/** Deciding takes twice as long as reading, so a third thread would wait for the database. */
const threads_max = 2;

export class BacktestRun {
  readonly #job: BacktestJob;
  readonly #parts: BacktestParts;
  readonly #listener: BacktestListener;
  readonly #threads = Math.min(threads_max, availableParallelism());
  readonly #workers = new Set<Worker>();
  readonly #evaluated = new Map<Worker, number>();
  readonly #replayed: ReplayedPart[] = [];
  #answered = false;

  constructor(job: BacktestJob, parts: BacktestParts, listener: BacktestListener) {
    this.#job = job;
    this.#parts = parts;
    this.#listener = listener;
  }

  get org_id(): string {
    return this.#job.org_id;
  }

  /** True: the caller has its result. Threads may still run. */
  get answered(): boolean {
    return this.#answered;
  }

  /** Returns false if no thread could be started. Then `onEnded` is not called. */
  start(): boolean {
    const channels = Array.from({ length: this.#threads }, () => new MessageChannel());
    try {
      for (const [index, { port1: inbox }] of channels.entries()) {
        const { port2: outbox } = channels[(index + 1) % this.#threads] as MessageChannel;
        this.#workers.add(this.#startThread(inbox, outbox, index === 0 ? firstTurn(this.#job.limit) : null));
      }
    } catch (error) {
      // No thread is left (EAGAIN, a limit of the container). No exit event follows.
      this.#parts.log.error({ err: error }, "a thread of a backtest could not be started");
      this.cancel(
        new Fault("unavailable", { internal: "a thread of the backtest could not be started", cause: error }),
      );
    }
    return this.#workers.size > 0;
  }

  cancel(fault: Fault): void {
    this.#answer(fault);
    for (const worker of this.#workers) void worker.terminate();
  }

  async ended(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => new Promise((resolve) => worker.once("exit", resolve))));
  }

  #answer(result: BacktestResult): void {
    this.#answered = true;
    this.#listener.settle(result);
  }

  #startThread(inbox: MessagePort, outbox: MessagePort, first: Turn | null): Worker {
    const { program, packs, connection, replicas, requests, log } = this.#parts;
    const rules = [...packs].map(([name, pack]) => [name, { rules: pack.rules }] as const);
    const data: ThreadData = { job: this.#job, connection, replicas, packs: rules, requests, inbox, outbox, first };
    const worker = new Worker(program.url, {
      workerData: data,
      transferList: [inbox, outbox],
      ...threadOptions(program),
      resourceLimits: {
        maxOldGenerationSizeMb: first !== null && this.#job.candidate !== null ? heap_mb_max_counting : heap_mb_max,
        maxYoungGenerationSizeMb: young_mb_max,
      },
    });
    let has_part = false;
    worker.on("message", (message: ThreadSays) => {
      if (message.kind === "part") has_part = true;
      this.#take(worker, message);
    });
    worker.on("error", (error) => {
      log.error({ err: error }, "a thread of a backtest failed");
      this.cancel(new Fault("internal_error", { internal: "a thread of the backtest failed", cause: error }));
    });
    worker.on("exit", (code) => {
      this.#workers.delete(worker);
      if (!has_part)
        this.cancel(
          new Fault("internal_error", { internal: `a thread of the backtest ended early with code ${code}` }),
        );
      if (this.#workers.size === 0) this.#listener.onEnded();
    });
    return worker;
  }

  #take(worker: Worker, message: ThreadSays): void {
    switch (message.kind) {
      case "progress": {
        this.#evaluated.set(worker, message.evaluated);
        const evaluated = [...this.#evaluated.values()].reduce((sum, each) => sum + each, 0);
        return void this.#listener.onProgress(evaluated, message.done);
      }
      case "refused":
        return void this.cancel(new Fault(message.code, { details: message.details }));
      case "failed":
        return void this.cancel(new Fault(message.lost ? "unavailable" : "internal_error", { internal: message.text }));
      case "part":
        if (this.#replayed.push(message.part) === this.#threads) this.#answer(joinParts(this.#job, this.#replayed));
    }
  }
}
