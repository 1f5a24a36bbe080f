/**
 * One lane of the commit writer: it carries one batch at a time to an answer, whatever happens. All lanes share one
 * connection, where their statements run in the order in which they were sent.
 *
 *   answered            every row set gets its outcome
 *   month over          the organization's month is closed, then those row sets go again
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
import { type EncodedRows, orderOf } from "./commit-records.ts";
import { decode } from "./commit-statement.ts";
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

/** Creates a lane. `expire` is called on every failed attempt, to let those go who have waited too long in the queue. */
export function createLane(
  options: LaneParts,
  shared: SharedConnection,
  expire: (now_us: number, error: Fault) => void,
): Lane {
  const { log, clock, timers, metrics } = options;

  async function carry(batch: readonly Pending[], queue_rows: number, resent: boolean): Promise<() => void> {
    let waiting = batch;
    let again = resent;
    let conflicts = 0;
    let pause_ms = pause_ms_min;
    while (waiting.length > 0) {
      let session: CommitConnection | null = null;
      try {
        session = await shared.open();
        const started_us = clock.now_us();
        const returned = await session.commit(
          orderOf(
            waiting.map((each) => each.encoded),
            again,
          ),
        );
        metrics?.statement(waiting.length, (clock.now_us() - started_us) / 1000, queue_rows);
        const outcomes = returned.map(decode);
        if (!outcomes.some(({ result }) => result === "month_over")) return () => void answer(waiting, outcomes);
        waiting = answer(waiting, outcomes);
        for (const [org_id, month] of monthsOf(waiting)) await session.openMonth(org_id, month);
      } catch (error) {
        const state = sqlState(error) ?? "";
        if (state === "23505" && !again) {
          again = true;
        } else if (/^(22|23|54)/.test(state)) {
          if (state === "23505" && ++conflicts < conflicts_max && waiting.length === 1) continue;
          return halve(waiting, error, queue_rows, again);
        } else if (state.startsWith("40") && ++conflicts < conflicts_max) {
          again = true;
        } else {
          if (session !== null) shared.drop(session);
          again = true;
          conflicts = 0;
          log.error({ err: error, rows: waiting.length }, "a commit was not confirmed; it is run again");
          waiting = giveUp(waiting, error);
          if (waiting.length > 0) await new Promise<void>((resolve) => timers.after(pause_ms, resolve));
          pause_ms = Math.min(pause_ms * 2, pause_ms_max);
        }
      }
    }
    return () => undefined;
  }

  /** `again` goes along: a half whose intents are stored already must not be told that it is stale, or a duplicate of itself. */
  async function halve(
    batch: readonly Pending[],
    error: unknown,
    queue_rows: number,
    again: boolean,
  ): Promise<() => void> {
    if (batch.length === 1) {
      log.error({ err: error }, "a row set was refused by the database");
      return () => batch[0]?.reject(new Error("the database refuses this row set", { cause: error }));
    }
    const middle = batch.length >> 1;
    const answerFirst = await carry(batch.slice(0, middle), queue_rows, again);
    answerFirst();
    return carry(batch.slice(middle), queue_rows, again);
  }

  /** Lets those go whose time is over; the others are returned. */
  function giveUp(batch: readonly Pending[], cause: unknown): readonly Pending[] {
    const fault = new Fault("unavailable", {
      internal: "the database did not answer in time; the outcome is unknown",
      cause,
    });
    const now_us = clock.now_us();
    for (const each of batch) if (each.due_us <= now_us) each.reject(fault);
    expire(now_us, fault);
    return batch.filter((each) => each.due_us > now_us);
  }

  return {
    run: (batch, queue_rows) => carry(batch, queue_rows, false),
  };
}

/** Answers the callers; returns the row sets that wait for a new month. */
function answer(batch: readonly Pending[], returned: readonly ReturnType<typeof decode>[]): Pending[] {
  const results = new Map(returned.map(({ index, result }) => [index, result]));
  const late: Pending[] = [];
  batch.forEach((each, index) => {
    const result = results.get(index) ?? ({ outcome: "committed" } as const);
    if (result === "month_over") late.push(each);
    else if (result === "no_head") each.reject(new Error(`organization ${each.encoded.terms.org_id} has no head row`));
    else each.resolve(result);
  });
  return late;
}

/** The newest month that each organization's row sets ask for. */
function monthsOf(late: readonly Pending[]): Map<string, string> {
  const months = new Map<string, string>();
  for (const { encoded } of late) {
    const { org_id, month } = encoded.terms;
    if (month > (months.get(org_id) ?? "")) months.set(org_id, month);
  }
  return months;
}
