/**
 * The commit writer: it commits the decisions of concurrent requests in batches, without a timer.
 *
 * A request queues its row set and schedules the pump with nextTick, so all decisions of one turn of the event loop
 * share a batch. If nothing is in flight, the pump sends at once what fits into the limits. Under load, up to `lanes`
 * statements are in flight: the database executes one while the previous one reaches the disk. A further statement
 * waits until as many rows are queued as are in flight, because many small statements are slower. The pump runs again
 * when a statement ends.
 */

import { Fault } from "@countersign/core";
import type { Clock } from "../../ports.ts";
import { encode } from "./commit-records.ts";
import { type ConnectCommit, type SharedConnection, shareConnection } from "./commit-writer-connection.ts";
import { createLane, type Lane, type LaneParts, type Pending } from "./commit-writer-lane.ts";
import type { CommitOutcome, CommitWriter, DecisionRows } from "./commit-writer-rows.ts";

export { type CommitConnection, type ConnectCommit, connectCommit } from "./commit-writer-connection.ts";
export type * from "./commit-writer-rows.ts";

export interface CommitWriterOptions extends LaneParts {
  readonly connect: ConnectCommit;
  /** Statements in flight: one executes, one waits behind it, one waits for the disk. */
  readonly lanes?: number;
  readonly batch_rows_max?: number;
  /** Maximum bytes of documents in one statement. A longer row set is sent alone. */
  readonly batch_bytes_max?: number;
  readonly queue_rows_max?: number;
  /** Timeout of a caller after the database was lost. */
  readonly give_up_ms?: number;
}

/** Creates a writer that connects at the first commit. */
export function createCommitWriter(options: CommitWriterOptions): CommitWriter {
  const writer = new LanesWriter(options);
  return {
    commit: (rows) => writer.commit(rows),
    settle: () => writer.settle(),
    close: () => writer.close(),
    depth: () => writer.depth(),
  };
}

class LanesWriter implements CommitWriter {
  readonly #clock: Clock;
  readonly #batch_rows_max: number;
  readonly #batch_bytes_max: number;
  readonly #queue_rows_max: number;
  readonly #give_up_ms: number;
  readonly #connection: SharedConnection;
  readonly #idle: Lane[];
  #queue: Pending[] = [];
  #rows_in_flight = 0;
  #unanswered = 0;
  #scheduled = false;
  #closed = false;
  readonly #settled: (() => void)[] = [];

  constructor(options: CommitWriterOptions) {
    this.#clock = options.clock;
    this.#batch_rows_max = options.batch_rows_max ?? 64;
    this.#batch_bytes_max = options.batch_bytes_max ?? 1_000_000;
    this.#queue_rows_max = options.queue_rows_max ?? 5_000;
    this.#give_up_ms = options.give_up_ms ?? 10_000;
    this.#connection = shareConnection(options.connect);
    const expire = (now_us: number, error: Fault) => this.#expireQueue(now_us, error);
    const lanes = { length: options.lanes ?? 3 };
    this.#idle = Array.from(lanes, () => createLane(options, this.#connection, expire));
  }

  commit(rows: DecisionRows): Promise<CommitOutcome> {
    if (this.#closed) return Promise.reject(new Fault("unavailable", { internal: "the commit writer is closed" }));
    if (this.#queue.length >= this.#queue_rows_max) {
      return Promise.reject(new Fault("overloaded", { internal: "the commit queue is full" }));
    }
    return new Promise((resolve, reject) => {
      const once = rows.idempotency;
      // Encodes now, while the lanes wait for the database.
      this.#queue.push({
        encoded: encode(rows),
        once: once === null ? null : `${rows.org_id}\n${once.operation}\n${once.idempotency_key}`,
        due_us: this.#clock.now_us() + this.#give_up_ms * 1000,
        resolve,
        reject,
      });
      this.#unanswered += 1;
      if (this.#scheduled || this.#idle.length === 0) return;
      this.#scheduled = true;
      process.nextTick(() => {
        this.#scheduled = false;
        this.#pump();
      });
    });
  }

  settle(): Promise<void> {
    if (this.#unanswered === 0) return Promise.resolve();
    return new Promise((resolve) => this.#settled.push(resolve));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.settle();
    this.#connection.close();
  }

  depth(): number {
    return this.#unanswered;
  }

  #pump(): void {
    while (this.#queue.length > 0) {
      if (this.#queue.length < Math.min(this.#rows_in_flight, this.#batch_rows_max)) return;
      const lane = this.#idle.pop();
      if (lane === undefined) return;
      const batch = this.#take();
      this.#rows_in_flight += batch.length;
      void lane.run(batch, this.#queue.length).then((answer) => {
        this.#idle.push(lane);
        this.#rows_in_flight -= batch.length;
        // Sends the next statement before the answers, because callers continue to compute in this turn. Otherwise the
        // database idles 28 % of the time.
        this.#pump();
        this.#unanswered -= batch.length;
        answer();
        if (this.#unanswered === 0) for (const resolve of this.#settled.splice(0)) resolve();
      });
    }
  }

  /** Takes the next batch, oldest first, without two row sets of the same idempotency key. */
  #take(): Pending[] {
    const batch: Pending[] = [];
    const left: Pending[] = [];
    const keys = new Set<string>();
    const queue = this.#queue;
    let size = 0;
    let next = 0;
    for (; next < queue.length && batch.length < this.#batch_rows_max; next++) {
      const each = queue[next] as Pending;
      if (batch.length > 0 && size + each.encoded.size > this.#batch_bytes_max) break;
      if (each.once !== null && keys.has(each.once)) {
        left.push(each);
        continue;
      }
      if (each.once !== null) keys.add(each.once);
      batch.push(each);
      size += each.encoded.size;
    }
    this.#queue = left.length === 0 ? queue.slice(next) : [...left, ...queue.slice(next)];
    return batch;
  }

  #expireQueue(now_us: number, error: Fault): void {
    const expired = this.#queue.filter((each) => each.due_us <= now_us);
    if (expired.length === 0) return;
    this.#queue = this.#queue.filter((each) => each.due_us > now_us);
    this.#unanswered -= expired.length;
    for (const each of expired) each.reject(error);
  }
}
