/**
 * Backtests in threads of their own: a bounded number runs, a bounded number waits, the others are told to come again. A
 * thread that dies takes its backtest with it and nothing else.
 */

import { availableParallelism } from "node:os";
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import { limits } from "@countersign/contract";
import { type BacktestFigures, Fault, type PackRules, type PolicyDocument } from "@countersign/core";
import { firstTurn, joinParts, type ReplayedPart, type Turn } from "../../operations/backtests/replay-recorded.ts";
import type { BacktestJob, Backtests } from "../../operations/shared/node-services.ts";
import type { Log } from "../../ports.ts";
import type { ConnectionOptions } from "../../store/database/connection.ts";
import type { RequestCount } from "./give-way.ts";
import { type ThreadProgram, threadOptions, threadProgram } from "./thread-program.ts";

/** What a thread is given. */
export interface ThreadData {
  readonly job: BacktestJob;
  readonly connection: ConnectionOptions;
  readonly packs: readonly (readonly [string, { readonly rules: readonly PolicyDocument[] }])[];
  /** What the node is asked meanwhile: that goes first. */
  readonly requests: RequestCount;
  /** Where turns to read come from, and where they go. */
  readonly inbox: MessagePort;
  readonly outbox: MessagePort;
  /** The first turn, for the thread that begins; null for the others. */
  readonly first: Turn | null;
}

/** What a thread says. `lost`: the database could not be reached. */
export type ThreadSays =
  | { readonly kind: "progress"; readonly evaluated: number; readonly done: number }
  | { readonly kind: "part"; readonly part: ReplayedPart }
  | { readonly kind: "failed"; readonly lost: boolean; readonly text: string };

/** The threads of a node. */
export interface BacktestThreads extends Backtests {
  /** Ends all that run or wait, and takes no more. Faults of those: unavailable. */
  stop(): Promise<void>;
}

const heap_mb_max = 512;
/**
 * A row makes 12 KB of short-lived objects, and what is alive at a collection (two pages of text) is copied: with the 48 MB
 * that V8 allows by itself a row took a tenth more; 192 MB gained nothing over this.
 */
const young_mb_max = 96;
const retry_after_seconds = 10;

const own_program = threadProgram(new URL("./backtest-thread.js", import.meta.url));

/** A backtest whose turn has not come. */
interface Waiting {
  readonly org_id: string;
  readonly begin: () => void;
  readonly cancel: (fault: Fault) => void;
}

type Result = BacktestFigures | Fault;

/** A backtest that runs; its place is free when all its threads have ended. */
interface Running {
  readonly org_id: string;
  readonly workers: ReadonlySet<Worker>;
  /** Figures or a fault: for its organization it is over, whose next one may come before the threads have ended. */
  answered: boolean;
  readonly cancel: (fault: Fault) => void;
  /** It has run for as long as it may while others wait. */
  overdue: boolean;
}

/** Threads of one backtest: deciding takes twice as long as reading does, so a third would wait for the database. */
const threads_max = 2;

/** One backtest runs at once for every four cores, at least one. `running_max`: tests only. */
export function createBacktestThreads(
  connection: ConnectionOptions,
  packs: PackRules,
  log: Log,
  requests: RequestCount,
  program: ThreadProgram = own_program,
  turn_ms = limits.backtest_turn_minutes * 60_000,
  running_max = Math.max(1, Math.floor(availableParallelism() / 4)),
): BacktestThreads {
  const threads = Math.min(threads_max, availableParallelism());
  const running = new Set<Running>();
  const waiting: Waiting[] = [];
  let stopped = false;

  /** Faults: unavailable, overloaded. */
  function demandRoom(org_id: string): void {
    if (stopped) throw new Fault("unavailable");
    const under_way = [...[...running].filter(({ answered }) => !answered), ...waiting];
    const own = under_way.filter((each) => each.org_id === org_id).length;
    const full = running.size >= running_max && waiting.length >= limits.backtests_waiting_max;
    if (full || own >= limits.backtests_per_organization_max)
      throw new Fault("overloaded", { headers: { "retry-after": String(retry_after_seconds) } });
  }

  function beginNext(): void {
    while (running.size < running_max) {
      const next = waiting.shift();
      if (next === undefined) return;
      next.begin();
    }
  }

  /**
   * One organization's backtest of many intents with dear policies could keep all others waiting for a day. Whoever began first
   * goes first, and no more of them than wait: a place that is being left is one already.
   */
  function makeRoom(): void {
    let wanted = waiting.length - [...running].filter(({ answered }) => answered).length;
    for (const { overdue, answered, org_id, cancel } of [...running]) {
      if (wanted <= 0) return;
      if (!overdue || answered || !waiting.some((each) => each.org_id !== org_id)) continue;
      cancel(turnOver());
      wanted -= 1;
    }
  }

  /** Starts the threads of a job; the function that is given back ends them. */
  function start(
    job: BacktestJob,
    onProgress: (evaluated: number, done: number) => void,
    settle: (result: Result) => void,
  ): (fault: Fault) => void {
    const rules = [...packs].map(([name, pack]) => [name, { rules: pack.rules }] as const);
    const parts: ReplayedPart[] = [];
    const evaluated = new Map<Worker, number>();
    // Told at once; the place is free only when the threads have ended.
    const cancel = (fault: Fault) => {
      run.answered = true;
      settle(fault);
      for (const worker of workers) void worker.terminate();
    };
    const begin = (inbox: MessagePort, outbox: MessagePort, first: Turn | null): Worker => {
      const data: ThreadData = { job, connection, packs: rules, requests, inbox, outbox, first };
      const worker = new Worker(program.url, {
        workerData: data,
        transferList: [inbox, outbox],
        ...threadOptions(program),
        resourceLimits: { maxOldGenerationSizeMb: heap_mb_max, maxYoungGenerationSizeMb: young_mb_max },
      });
      let delivered = false;
      worker.on("message", (message: ThreadSays) => {
        if (message.kind === "progress") {
          evaluated.set(worker, message.evaluated);
          onProgress(
            [...evaluated.values()].reduce((sum, each) => sum + each, 0),
            message.done,
          );
        } else if (message.kind === "failed")
          cancel(new Fault(message.lost ? "unavailable" : "internal_error", { internal: message.text }));
        else {
          delivered = true;
          if (parts.push(message.part) < threads) return;
          run.answered = true;
          settle(joinParts(job, parts));
        }
      });
      worker.on("error", (error) => {
        log.error({ err: error }, "a thread of a backtest failed");
        cancel(new Fault("internal_error", { internal: "a thread of the backtest failed", cause: error }));
      });
      worker.on("exit", (code) => {
        workers.delete(worker);
        if (!delivered)
          cancel(new Fault("internal_error", { internal: `a thread of the backtest ended early with code ${code}` }));
        if (workers.size > 0) return;
        leave();
        beginNext();
        makeRoom();
      });
      return worker;
    };
    const leave = () => {
      clearTimeout(turn);
      running.delete(run);
    };
    const channels = Array.from({ length: threads }, () => new MessageChannel());
    const workers = new Set<Worker>();
    const run: Running = { org_id: job.org_id, workers, answered: false, cancel, overdue: false };
    running.add(run);
    const turn = setTimeout(() => {
      run.overdue = true;
      makeRoom();
    }, turn_ms);
    try {
      for (const [index, { port1: inbox }] of channels.entries()) {
        const { port2: outbox } = channels[(index + 1) % threads] as MessageChannel;
        workers.add(begin(inbox, outbox, index === 0 ? firstTurn(job.limit) : null));
      }
    } catch (error) {
      // The machine has no thread to give (EAGAIN, a limit of the container): thrown at once, and nothing exits then.
      log.error({ err: error }, "a thread of a backtest could not be started");
      cancel(new Fault("unavailable", { internal: "a thread of the backtest could not be started", cause: error }));
      if (workers.size === 0) leave();
    }
    return cancel;
  }

  return {
    run(job, { signal, onProgress }) {
      return new Promise((resolve, reject) => {
        demandRoom(job.org_id);
        let settled = false;
        const settle = (result: Result) => {
          if (settled) return;
          settled = true;
          signal.removeEventListener("abort", onAbort);
          if (result instanceof Fault) reject(result);
          else resolve(result);
        };
        const entry: Waiting = {
          org_id: job.org_id,
          begin() {
            onProgress("running", 0, 0);
            cancel = start(job, (evaluated, done) => onProgress("running", evaluated, done), settle);
          },
          cancel(fault) {
            waiting.splice(waiting.indexOf(entry), 1);
            settle(fault);
          },
        };
        let { cancel } = entry;
        const onAbort = () => cancel(new Fault("unavailable", { internal: "the caller has left" }));
        waiting.push(entry);
        signal.addEventListener("abort", onAbort, { once: true });
        if (signal.aborted) return onAbort();
        onProgress("waiting", 0, 0);
        beginNext();
        makeRoom();
      });
    },
    async stop() {
      stopped = true;
      const fault = () => new Fault("unavailable", { internal: "the service is stopping" });
      for (const each of [...waiting]) each.cancel(fault());
      const ended = [...running].flatMap(({ workers }) =>
        [...workers].map((worker) => new Promise((resolve) => worker.once("exit", resolve))),
      );
      for (const each of [...running]) each.cancel(fault());
      await Promise.all(ended);
    },
  };
}

function turnOver(): Fault {
  const message =
    `It had run for ${limits.backtest_turn_minutes} minutes, and another organization's backtest waits. ` +
    "Choose a shorter window, or a limit.";
  return new Fault("overloaded", {
    details: [{ path: "/window", code: "turn_over", message }],
    headers: { "retry-after": String(retry_after_seconds) },
  });
}
