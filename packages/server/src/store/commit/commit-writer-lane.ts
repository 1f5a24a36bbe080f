/**
 * One lane of the commit writer: it carries one batch at a time to an answer, whatever happens. All lanes share one
 * connection, where their statements run in the order in which they were sent.
 *
 *   answered            every row set gets its outcome; of several calls those that failed go on as below
 *   a data error        (SQLSTATE 22, 23, 54) nothing was written; the batch is halved until the poison is alone, so 1 bad
 *                       row among 256 costs 16 more statements instead of 256
 *   a unique violation  another node, or a lost attempt of ours, was first: again with a fresh snapshot, and only a
 *                       repeated violation counts as a data error
 *   a lock conflict     (SQLSTATE 40) again at once
 *   anything else       the outcome is unknown: the connection is closed and the same batch runs on a new one, with growing
 *                       pauses, until the callers' time is over; it looks for its own intents first, so nothing is stored twice
 */
import { Fault } from "@countersign/core";
import type { Clock, Log, Timers } from "../../ports.ts";
import { sqlState } from "../database/connection.ts";
import { outcomeOf, type RefusedDecision } from "./commit-call.ts";
import { type CommitCall, callsOf, type EncodedRows } from "./commit-records.ts";
import type { CommitConnection, SharedConnection } from "./commit-writer-connection.ts";
import type { CommitOutcome } from "./commit-writer-rows.ts";

/** A row set in the queue or in flight, and the callbacks of its caller. */
export interface Pending {
  readonly encoded: EncodedRows;
  /** Two row sets with the same key never share a statement, because its check would not see its own insert. */
  readonly once: string | null;
  readonly due_us: number;
  readonly resolve: (outcome: CommitOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/** Counts statements. */
export interface CommitMetrics {
  statement(rows: number, statement_ms: number, queue_rows: number): void;
}

/** What a lane needs of its node. */
export interface LaneParts {
  readonly log: Log;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly metrics?: CommitMetrics;
}

/** Carries batches one after the other. */
export interface Lane {
  /**
   * Resolves when the outcome of every row set is known; never rejects. Calling the function that it gives answers those who
   * still wait, so that the next statement can be on its way first.
   */
  run(batch: readonly Pending[], queue_rows: number): Promise<() => void>;
}

const pause_ms_min = 20;
const pause_ms_max = 1_000;
/** Lock conflicts and lost races in a row before the batch is treated as if the session were broken. */
const conflicts_max = 10;

/** Creates a lane. `expire` is called after every lost attempt, to reject row sets that waited too long in the queue. */
export function createLane(
  options: LaneParts,
  shared: SharedConnection,
  expire: (now_us: number, error: Fault) => void,
): Lane {
  const lane = new RetryingLane(options, shared, expire);
  return { run: (batch, queue_rows) => lane.carry(batch, queue_rows, false) };
}

/** A batch, and how its attempts went. */
interface Carried {
  waiting: readonly Pending[];
  readonly queue_rows: number;
  /** An earlier attempt may have stored the batch, so the statement looks for its own intents first. */
  again: boolean;
  /** Lock conflicts and lost races in a row. */
  conflicts: number;
  pause_ms: number;
}

class RetryingLane {
  readonly #options: LaneParts;
  readonly #shared: SharedConnection;
  readonly #expire: (now_us: number, error: Fault) => void;

  constructor(options: LaneParts, shared: SharedConnection, expire: (now_us: number, error: Fault) => void) {
    this.#options = options;
    this.#shared = shared;
    this.#expire = expire;
  }

  async carry(batch: readonly Pending[], queue_rows: number, again: boolean): Promise<() => void> {
    const carried: Carried = { waiting: batch, queue_rows, again, conflicts: 0, pause_ms: pause_ms_min };
    while (carried.waiting.length > 0) {
      let session: CommitConnection | null = null;
      try {
        session = await this.#shared.open();
        return await this.#attempt(session, carried);
      } catch (error) {
        const next = nextAfter(error, carried);
        if (next === "halve") return this.#halve(carried, error);
        carried.again = true;
        if (next === "at_once") continue;
        this.#disconnect(session, carried, error);
        if (carried.waiting.length > 0) await this.#pause(carried);
      }
    }
    return () => undefined;
  }

  /**
   * Makes the calls of the batch once, and returns the function that answers the callers. If a call failed, it answers the callers of
   * the other calls and throws; `carried` then has the row sets of the failed calls.
   */
  async #attempt(session: CommitConnection, carried: Carried): Promise<() => void> {
    const { clock, metrics } = this.#options;
    const { waiting, again, queue_rows } = carried;
    const started_us = clock.now_us();
    const encoded = waiting.map((each) => each.encoded);
    const calls = callsOf(encoded, again);
    const settled = await session.commit(calls);
    metrics?.statement(waiting.length, (clock.now_us() - started_us) / 1000, queue_rows);
    const answers: Answer[] = [];
    const failed: Pending[] = [];
    const errors: unknown[] = [];
    settled.forEach((result, at) => {
      const rows = (calls[at] as CommitCall).places.map((place) => waiting[place] as Pending);
      if (result.status === "fulfilled") answers.push({ rows, refused: result.value });
      else {
        failed.push(...rows);
        errors.push(result.reason);
      }
    });
    const answerAll = (): void => answers.forEach(answer);
    if (errors.length === 0) return answerAll;
    answerAll();
    carried.waiting = failed;
    throw errors.find((error) => !isDataError(error)) ?? errors[0];
  }

  /** Carries each half by itself. Both halves keep `again`: a stored intent must not be answered as stale or as its own duplicate. */
  async #halve({ waiting, queue_rows, again }: Carried, error: unknown): Promise<() => void> {
    if (waiting.length === 1) {
      this.#options.log.error({ err: error }, "a row set was refused by the database");
      return () => waiting[0]?.reject(new Error("the database refuses this row set", { cause: error }));
    }
    const middle = waiting.length >> 1;
    const answerFirst = await this.carry(waiting.slice(0, middle), queue_rows, again);
    answerFirst();
    return this.carry(waiting.slice(middle), queue_rows, again);
  }

  /** Closes the connection, and rejects row sets that are past their time. */
  #disconnect(session: CommitConnection | null, carried: Carried, error: unknown): void {
    if (session !== null) this.#shared.drop(session);
    carried.conflicts = 0;
    const rows = carried.waiting.length;
    this.#options.log.error({ err: error, rows }, "a commit was not confirmed; it is run again");
    carried.waiting = this.#giveUp(carried.waiting, error);
  }

  #pause(carried: Carried): Promise<void> {
    const { pause_ms } = carried;
    carried.pause_ms = Math.min(pause_ms * 2, pause_ms_max);
    return new Promise((resolve) => this.#options.timers.after(pause_ms, resolve));
  }

  /** Rejects row sets that are past their time, and returns the others. */
  #giveUp(batch: readonly Pending[], cause: unknown): readonly Pending[] {
    const fault = new Fault("unavailable", {
      internal: "the database did not answer in time; the outcome is unknown",
      cause,
    });
    const now_us = this.#options.clock.now_us();
    for (const each of batch) if (each.due_us <= now_us) each.reject(fault);
    this.#expire(now_us, fault);
    return batch.filter((each) => each.due_us > now_us);
  }
}

function isDataError(error: unknown): boolean {
  return /^(22|23|54)/.test(sqlState(error) ?? "");
}

/** Says what follows a failed attempt, by its SQLSTATE, and counts conflicts. The table is at the top of this file. */
function nextAfter(error: unknown, carried: Carried): "at_once" | "halve" | "reconnect" {
  const state = sqlState(error) ?? "";
  const is_unique_violation = state === "23505";
  if (is_unique_violation && !carried.again) return "at_once";
  if (isDataError(error)) {
    if (!is_unique_violation) return "halve";
    carried.conflicts += 1;
    return carried.conflicts < conflicts_max && carried.waiting.length === 1 ? "at_once" : "halve";
  }
  if (!state.startsWith("40")) return "reconnect";
  carried.conflicts += 1;
  return carried.conflicts < conflicts_max ? "at_once" : "reconnect";
}

/** The row sets of one call, in its order, and what it did not store. */
interface Answer {
  readonly rows: readonly Pending[];
  readonly refused: readonly RefusedDecision[];
}

/** Answers the callers of one call. */
function answer({ rows, refused }: Answer): void {
  const results = new Map(refused.map((each) => [each.line, outcomeOf(each)]));
  rows.forEach((each, index) => {
    const result = results.get(index + 1) ?? ({ outcome: "committed" } as const);
    if (result === "no_head") each.reject(new Error(`organization ${each.encoded.terms.org_id} has no head row`));
    else each.resolve(result);
  });
}
