/**
 * One lane of the commit writer: it retries one batch until every row set has an answer. All lanes share one
 * connection, and their calls run in the order sent. The next step depends on the SQLSTATE:
 *
 * - No error: every row set gets its outcome. Row sets of failed calls are retried.
 * - Data error (22, 23, 54): nothing was written. The lane halves the batch until the bad row set is alone.
 * - Unique violation (23505): another node or a lost attempt was first. The lane retries with a new snapshot. A
 *   repeated violation is a data error.
 * - Lock conflict (40): the lane retries at once.
 * - Any other error: the outcome is unknown. The lane repeats the batch on a new connection, with growing pauses, until
 *   the callers' deadline. The repeated call looks for its own intents first, so nothing is stored twice.
 */
import { Fault } from "@countersign/core";
import type { Clock, Log, Timers } from "../../ports.ts";
import { sqlState } from "../database/connection.ts";
import { outcomeOf, type RefusedDecision } from "./commit-call.ts";
import { type CommitCall, callsOf, type EncodedRows } from "./commit-records.ts";
import type { CommitConnection, SharedConnection } from "./commit-writer-connection.ts";
import type { CommitOutcome } from "./commit-writer-rows.ts";

export interface Pending {
  readonly encoded: EncodedRows;
  /** Row sets with the same key never share a statement, because a statement does not see its own inserts. */
  readonly once: string | null;
  readonly due_us: number;
  readonly resolve: (outcome: CommitOutcome) => void;
  readonly reject: (error: unknown) => void;
}

export interface CommitMetrics {
  statement(rows: number, statement_ms: number, queue_rows: number): void;
}

export interface LaneParts {
  readonly log: Log;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly metrics?: CommitMetrics;
}

export interface Lane {
  /**
   * Resolves when all outcomes are known; never rejects. The returned function answers the remaining callers, after the
   * next statement is sent.
   */
  run(batch: readonly Pending[], queue_rows: number): Promise<() => void>;
}

const pause_ms_min = 20;
const pause_ms_max = 1_000;
/** Conflicts in a row before the lane reconnects or halves the batch. */
const conflicts_max = 10;

/** Calls `expire` after every lost attempt, to reject queued row sets past their deadline. */
export function createLane(
  options: LaneParts,
  shared: SharedConnection,
  expire: (now_us: number, error: Fault) => void,
): Lane {
  const lane = new RetryingLane(options, shared, expire);
  return { run: (batch, queue_rows) => lane.carry(batch, queue_rows, false) };
}

interface Carried {
  waiting: readonly Pending[];
  readonly queue_rows: number;
  /** True: an earlier attempt may have stored the batch. */
  again: boolean;
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
   * Returns the function that answers the callers. If a call failed, answers the other calls, keeps the failed row sets
   * in `carried`, and throws.
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

  /** Both halves keep `again`. Otherwise a stored intent could be answered as stale or as its own duplicate. */
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

  #disconnect(session: CommitConnection | null, carried: Carried, error: unknown): void {
    if (session !== null) this.#shared.drop(session);
    carried.conflicts = 0;
    const rows = carried.waiting.length;
    this.#options.log.error({ err: error, rows }, "a commit was not confirmed and is retried");
    carried.waiting = this.#giveUp(carried.waiting, error);
  }

  #pause(carried: Carried): Promise<void> {
    const { pause_ms } = carried;
    carried.pause_ms = Math.min(pause_ms * 2, pause_ms_max);
    return new Promise((resolve) => this.#options.timers.after(pause_ms, resolve));
  }

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

interface Answer {
  readonly rows: readonly Pending[];
  readonly refused: readonly RefusedDecision[];
}

function answer({ rows, refused }: Answer): void {
  const results = new Map(refused.map((each) => [each.line, outcomeOf(each)]));
  rows.forEach((each, index) => {
    const result = results.get(index + 1) ?? ({ outcome: "committed" } as const);
    if (result === "no_head") each.reject(new Error(`organization ${each.encoded.terms.org_id} has no head row`));
    else each.resolve(result);
  });
}
