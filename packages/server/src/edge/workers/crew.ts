/** Starts and ends the worker processes, and replaces crashed and outdated ones. */
import cluster, { type Worker } from "node:cluster";
import type { RateTake } from "@countersign/core";
import type { Log } from "../../ports.ts";
import type { ConnectionOptions } from "../../store/database/connection.ts";
import { StartRefused } from "../../store/database/start-refused.ts";
import { NodeRateWindows } from "../../store/rate-windows/rate-windows.ts";
import { timers } from "../timers.ts";
import type { ProcessMetrics, RateCall, SupervisorSays, WorkerSays } from "./messages.ts";

const pause_ms_min = 100;
const pause_ms_max = 10_000;
/** A worker that does not answer a scrape in this time is omitted. */
const metrics_ms_max = 2_000;

interface Scrape {
  readonly waiting: Set<Worker>;
  readonly gathered: ProcessMetrics[];
  readonly end: () => void;
}

export class Crew {
  readonly #connection: ConnectionOptions;
  readonly #log: Log;
  readonly #windows = new NodeRateWindows();
  readonly #serving = new Set<Worker>();
  readonly #leaving = new Set<Worker>();
  readonly #starting = new Set<Promise<string>>();
  readonly #scrapes = new Map<number, Scrape>();
  #scrape_ids = 0;
  #stopping = false;
  #restarting: Promise<void> = Promise.resolve();
  /** Keeps the process alive while all workers are being replaced. */
  readonly #alive = setInterval(() => undefined, 2 ** 30);

  constructor(connection: ConnectionOptions, log: Log) {
    this.#connection = connection;
    this.#log = log;
    // Workers run the same program with the same arguments.
    cluster.setupPrimary({ serialization: "advanced" });
  }

  /** Resolves with the address when all workers serve. Throws `StartRefused` if one does not. */
  async start(count: number): Promise<string> {
    // Alone, so that a failure common to all is reported once.
    const url = await this.#startWorker();
    await Promise.all(Array.from({ length: count - 1 }, () => this.#startWorker()));
    return url;
  }

  /** Each worker ends when the next serves, so service is not interrupted. */
  restart(): Promise<void> {
    this.#restarting = this.#restarting.then(async () => {
      await Promise.allSettled(this.#starting);
      for (const worker of [...this.#serving]) {
        if (this.#stopping || !this.#serving.has(worker)) continue;
        try {
          await this.#startWorker();
        } catch (error) {
          if (!this.#stopping) this.#log.error({ err: error }, "a new worker does not start; the former ones continue");
          return;
        }
        await this.#stopWorker(worker, { drains: false });
      }
      this.#log.info({ workers: this.#serving.size }, "all workers were replaced");
    });
    return this.#restarting;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    const workers = Object.values(cluster.workers ?? {});
    await Promise.all(workers.map((worker) => worker && this.#stopWorker(worker, { drains: true })));
    clearInterval(this.#alive);
  }

  /** Resolves with the worker's address when it serves. */
  #startWorker(): Promise<string> {
    const starting = new Promise<string>((resolve, reject) => {
      const worker = cluster.fork();
      // The program is gone, or the system cannot create a process.
      worker.once("error", reject);
      worker.on("message", (message: WorkerSays) => {
        if (message.kind !== "listening") return this.#onMessage(worker, message);
        this.#serving.add(worker);
        resolve(message.url);
      });
      worker.once("exit", (code, signal) => {
        this.#leftAlone(worker);
        const served = this.#serving.delete(worker);
        if (!served) reject(new StartRefused("a worker process did not start: see its message above"));
        else if (!this.#leaving.has(worker) && !this.#stopping) this.#replace(worker.process.pid, code, signal);
        this.#leaving.delete(worker);
      });
    });
    this.#starting.add(starting);
    const settled = (): void => void this.#starting.delete(starting);
    starting.then(settled, settled);
    return starting;
  }

  #replace(pid: number | undefined, code: number | null, signal: string | null): void {
    this.#log.error({ pid, code, signal }, "a worker ended; another one starts");
    const tryAgain = (pause_ms: number): void => {
      timers.after(pause_ms, () => {
        if (this.#stopping) return;
        this.#startWorker().catch((error: unknown) => {
          if (this.#stopping) return;
          this.#log.error({ err: error }, "a worker could not be replaced; it is retried");
          tryAgain(Math.min(pause_ms * 2, pause_ms_max));
        });
      });
    };
    tryAgain(pause_ms_min);
  }

  async #stopWorker(worker: Worker, { drains }: { readonly drains: boolean }): Promise<void> {
    if (worker.isDead()) return;
    this.#leaving.add(worker);
    const gone = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
    // A worker that does not serve yet may miss the message, and has nothing to finish.
    if (this.#serving.has(worker)) this.#send(worker, { kind: "stop", drains });
    else worker.process.kill("SIGKILL");
    await gone;
  }

  #send(worker: Worker, message: SupervisorSays): void {
    // An ending worker may have closed its channel. Its exit event follows.
    if (worker.isConnected()) worker.send(message, () => undefined);
  }

  #onMessage(worker: Worker, message: Exclude<WorkerSays, { kind: "listening" }>): void {
    const { kind } = message;
    if (kind === "begun") this.#send(worker, { kind: "database", connection: this.#connection });
    else if (kind === "all_metrics") this.#gather(worker, message.id);
    else if (kind === "rates") {
      const takes = message.calls.map((call) => this.#count(call));
      this.#send(worker, { kind, id: message.id, takes });
    } else {
      this.#scrapes.get(message.id)?.gathered.push(message.metrics);
      this.#gathered(message.id, worker);
    }
  }

  #count(call: RateCall): RateTake {
    if (call.kind === "refund") return this.#windows.refund(call.bucket, call.taken, call.now_ms);
    return this.#windows[call.kind](call.bucket, call.limit, call.now_ms);
  }

  #gather(asker: Worker, asked_id: number): void {
    this.#scrape_ids += 1;
    const id = this.#scrape_ids;
    const end = (): void => {
      cancel();
      this.#scrapes.delete(id);
      this.#send(asker, { kind: "all_metrics", id: asked_id, metrics: scrape.gathered });
    };
    const scrape: Scrape = { waiting: new Set(this.#serving), gathered: [], end };
    const cancel = timers.after(metrics_ms_max, end);
    this.#scrapes.set(id, scrape);
    for (const worker of scrape.waiting) this.#send(worker, { kind: "own_metrics", id });
    if (scrape.waiting.size === 0) end();
  }

  #gathered(id: number, worker: Worker): void {
    const scrape = this.#scrapes.get(id);
    if (scrape?.waiting.delete(worker) === true && scrape.waiting.size === 0) scrape.end();
  }

  #leftAlone(worker: Worker): void {
    for (const id of [...this.#scrapes.keys()]) this.#gathered(id, worker);
  }
}
