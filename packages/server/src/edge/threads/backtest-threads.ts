/**
 * The backtests of one node. A bounded number runs, a bounded number waits, further ones get the fault `overloaded`. A
 * backtest holds its place until its threads have exited. An overdue one has used its turn, and is cancelled when
 * another organization needs the place.
 */

import { availableParallelism } from "node:os";
import { limits } from "@countersign/contract";
import { type BacktestFigures, Fault, type PackRules } from "@countersign/core";
import type { BacktestJob, Backtests } from "../../operations/shared/node-services.ts";
import type { Log } from "../../ports.ts";
import type { ConnectionOptions } from "../../store/database/connection.ts";
import { type BacktestParts, type BacktestResult, BacktestRun } from "./backtest-run.ts";
import type { RequestCount } from "./give-way.ts";
import { type ThreadProgram, threadProgram } from "./thread-program.ts";

export interface BacktestThreads extends Backtests {
  /** Cancels all backtests with the fault `unavailable`, and accepts no more. */
  stop(): Promise<void>;
}

type Hooks = Parameters<Backtests["run"]>[1];

/** `run` is null while the backtest waits. */
interface Asked {
  readonly job: BacktestJob;
  readonly onProgress: Hooks["onProgress"];
  readonly settle: (result: BacktestResult) => void;
  run: BacktestRun | null;
}

interface Running {
  readonly run: BacktestRun;
  readonly turn: NodeJS.Timeout;
  overdue: boolean;
}

const retry_after_seconds = 10;

const own_program = threadProgram(new URL("./backtest-thread.js", import.meta.url));

export interface BacktestServers {
  readonly connection: ConnectionOptions;
  readonly replicas?: readonly ConnectionOptions[];
}

/** One backtest runs for every four cores, at least one. `running_max`: tests only. */
export function createBacktestThreads(
  { connection, replicas = [] }: BacktestServers,
  packs: PackRules,
  log: Log,
  requests: RequestCount,
  program: ThreadProgram = own_program,
  turn_ms = limits.backtest_turn_minutes * 60_000,
  running_max = Math.max(1, Math.floor(availableParallelism() / 4)),
): BacktestThreads {
  return new BacktestQueue({ connection, replicas, packs, log, requests, program }, turn_ms, running_max);
}

class BacktestQueue implements BacktestThreads {
  readonly #parts: BacktestParts;
  readonly #turn_ms: number;
  readonly #running_max: number;
  readonly #running = new Set<Running>();
  readonly #waiting: Asked[] = [];
  #stopped = false;

  constructor(parts: BacktestParts, turn_ms: number, running_max: number) {
    this.#parts = parts;
    this.#turn_ms = turn_ms;
    this.#running_max = running_max;
  }

  run(job: BacktestJob, { signal, onProgress }: Hooks): Promise<BacktestFigures> {
    return new Promise((resolve, reject) => {
      this.#demandRoom(job.org_id);
      let settled = false;
      const settle = (result: BacktestResult) => {
        if (settled) return;
        settled = true;
        signal.removeEventListener("abort", onAbort);
        if (result instanceof Fault) reject(result);
        else resolve(result);
      };
      const asked: Asked = { job, onProgress, settle, run: null };
      const onAbort = () => this.#cancel(asked, new Fault("unavailable", { internal: "the caller has left" }));
      this.#waiting.push(asked);
      signal.addEventListener("abort", onAbort, { once: true });
      if (signal.aborted) return onAbort();
      onProgress("waiting", 0, 0);
      this.#wake();
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    const fault = () => new Fault("unavailable", { internal: "the service is stopping" });
    for (const asked of [...this.#waiting]) this.#cancel(asked, fault());
    const runs = [...this.#running].map(({ run }) => run);
    const ended = runs.map((run) => run.ended());
    for (const run of runs) run.cancel(fault());
    await Promise.all(ended);
  }

  /** Faults: unavailable, overloaded. */
  #demandRoom(org_id: string): void {
    if (this.#stopped) throw new Fault("unavailable");
    const unanswered = [...this.#running].map(({ run }) => run).filter(({ answered }) => !answered);
    const owners = [...unanswered.map((run) => run.org_id), ...this.#waiting.map(({ job }) => job.org_id)];
    const own = owners.filter((owner) => owner === org_id).length;
    const full = this.#running.size >= this.#running_max && this.#waiting.length >= limits.backtests_waiting_max;
    if (full || own >= limits.backtests_per_organization_max)
      throw new Fault("overloaded", { headers: { "retry-after": String(retry_after_seconds) } });
  }

  #cancel(asked: Asked, fault: Fault): void {
    if (asked.run !== null) return void asked.run.cancel(fault);
    this.#waiting.splice(this.#waiting.indexOf(asked), 1);
    asked.settle(fault);
  }

  #wake(): void {
    while (this.#running.size < this.#running_max) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      this.#begin(next);
    }
    this.#makeRoom();
  }

  #begin(asked: Asked): void {
    const { job, onProgress, settle } = asked;
    const leave = () => {
      clearTimeout(running.turn);
      this.#running.delete(running);
    };
    const run = new BacktestRun(job, this.#parts, {
      onProgress: (evaluated, done) => onProgress("running", evaluated, done),
      settle,
      onEnded: () => {
        leave();
        this.#wake();
      },
    });
    asked.run = run;
    onProgress("running", 0, 0);
    const turn = setTimeout(() => {
      running.overdue = true;
      this.#makeRoom();
    }, this.#turn_ms);
    const running: Running = { run, turn, overdue: false };
    this.#running.add(running);
    if (!run.start()) leave();
  }

  /**
   * Cancels overdue backtests, the oldest first, because one expensive backtest could block others for a day. Places
   * that will soon be free count as free.
   */
  #makeRoom(): void {
    let places_needed = this.#waiting.length - [...this.#running].filter(({ run }) => run.answered).length;
    for (const { overdue, run } of [...this.#running]) {
      if (places_needed <= 0) return;
      if (!overdue || run.answered || !this.#waiting.some(({ job }) => job.org_id !== run.org_id)) continue;
      run.cancel(turnEnded());
      places_needed -= 1;
    }
  }
}

function turnEnded(): Fault {
  const message =
    `The backtest ran for ${limits.backtest_turn_minutes} minutes, and another organization's backtest waits. ` +
    "Choose a shorter window, or a limit.";
  return new Fault("overloaded", {
    details: [{ path: "/window", code: "turn_over", message }],
    headers: { "retry-after": String(retry_after_seconds) },
  });
}
