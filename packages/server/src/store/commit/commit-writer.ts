/**
 * The commit writer: decisions of concurrent requests become durable together.
 *
 * A request pushes its row set and schedules the pump with nextTick, which comes after all promises that can go on, so that
 * everything decided in the same turn of the event loop rides along (the HTTP layer hands the requests of a turn on
 * together); there is no timer. The pump sends what fits (rows, bytes) at once when no statement is
 * in flight, so a lone request waits for nobody. Under load one more statement goes out while others are in flight, up to
 * `lanes`: the database finds the next one waiting when it has executed one, and executes while the last one reaches the
 * disk. But only once as many rows wait as are in flight: many small statements would cost it more than the wait. When a
 * statement ends, the pump runs again and its callers are answered, so batches grow with load.
 */

import { Fault } from "@countersign/core";
import { encode } from "./commit-records.ts";
import { type ConnectCommit, shareConnection } from "./commit-writer-connection.ts";
import type { Pending } from "./commit-writer-lane.ts";
import { createLane, type Lane, type LaneParts } from "./commit-writer-lane.ts";
import type { CommitOutcome, CommitWriter, DecisionRows } from "./commit-writer-rows.ts";

export { type CommitConnection, type ConnectCommit, connectCommit } from "./commit-writer-connection.ts";
export type * from "./commit-writer-rows.ts";

/** How a writer is set up. */
export interface CommitWriterOptions extends LaneParts {
  readonly connect: ConnectCommit;
  /** Statements in flight at once: one that is executed, one behind it, one on its way to the disk. */
  readonly lanes?: number;
  readonly batch_rows_max?: number;
  /** Length of the documents in one statement; one row set that is longer goes alone. */
  readonly batch_bytes_max?: number;
  readonly queue_rows_max?: number;
  /** How long a lost database is looked for before the callers are told, counted from the push. */
  readonly give_up_ms?: number;
}

/** Creates a writer. It connects at the first commit. */
export function createCommitWriter(options: CommitWriterOptions): CommitWriter {
  const {
    clock,
    lanes: lanes_max = 3,
    batch_rows_max = 64,
    batch_bytes_max = 1_000_000,
    queue_rows_max = 5_000,
    give_up_ms = 10_000,
  } = options;
  const shared = shareConnection(options.connect);
  const idle: Lane[] = Array.from({ length: lanes_max }, () => createLane(options, shared, expireQueue));
  let rows_in_flight = 0;
  let queue: Pending[] = [];
  let unanswered = 0;
  let scheduled = false;
  let closed = false;
  const settled: (() => void)[] = [];

  function commit(rows: DecisionRows): Promise<CommitOutcome> {
    if (closed) return Promise.reject(new Fault("unavailable", { internal: "the commit writer is closed" }));
    if (queue.length >= queue_rows_max) {
      return Promise.reject(new Fault("overloaded", { internal: "the commit queue is full" }));
    }
    return new Promise((resolve, reject) => {
      const once = rows.idempotency;
      // Encoded now, while the lanes wait for the database, not between two statements.
      queue.push({
        encoded: encode(rows),
        once: once === null ? null : `${rows.org_id}\n${once.operation}\n${once.idempotency_key}`,
        due_us: clock.now_us() + give_up_ms * 1000,
        resolve,
        reject,
      });
      unanswered += 1;
      if (scheduled || idle.length === 0) return;
      scheduled = true;
      process.nextTick(() => {
        scheduled = false;
        pump();
      });
    });
  }

  function pump(): void {
    while (queue.length > 0) {
      if (queue.length < Math.min(rows_in_flight, batch_rows_max)) return;
      const lane = idle.pop();
      if (lane === undefined) return;
      const batch = take();
      rows_in_flight += batch.length;
      void lane.run(batch, queue.length).then((answer) => {
        idle.push(lane);
        rows_in_flight -= batch.length;
        // First the next statement, then the answers: whoever is answered goes on computing in this very turn, and the
        // database would wait for all of them (measured: 28 % of the time).
        pump();
        unanswered -= batch.length;
        answer();
        if (unanswered === 0) for (const resolve of settled.splice(0)) resolve();
      });
    }
  }

  /** The next batch, oldest first; a row set whose idempotency key is already aboard stays in the queue. */
  function take(): Pending[] {
    const batch: Pending[] = [];
    const left: Pending[] = [];
    const keys = new Set<string>();
    let size = 0;
    let next = 0;
    for (; next < queue.length && batch.length < batch_rows_max; next++) {
      const each = queue[next] as Pending;
      if (batch.length > 0 && size + each.encoded.size > batch_bytes_max) break;
      if (each.once !== null && keys.has(each.once)) {
        left.push(each);
        continue;
      }
      if (each.once !== null) keys.add(each.once);
      batch.push(each);
      size += each.encoded.size;
    }
    queue = left.length === 0 ? queue.slice(next) : [...left, ...queue.slice(next)];
    return batch;
  }

  /** While the database is away nobody waits in the queue longer than in flight. */
  function expireQueue(now_us: number, error: Fault): void {
    const expired = queue.filter((each) => each.due_us <= now_us);
    if (expired.length === 0) return;
    queue = queue.filter((each) => each.due_us > now_us);
    unanswered -= expired.length;
    for (const each of expired) each.reject(error);
  }

  function settle(): Promise<void> {
    if (unanswered === 0) return Promise.resolve();
    return new Promise((resolve) => settled.push(resolve));
  }

  return {
    commit,
    settle,
    async close() {
      closed = true;
      await settle();
      shared.close();
    },
    depth: () => unanswered,
  };
}
