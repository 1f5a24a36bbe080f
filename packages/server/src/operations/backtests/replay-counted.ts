/**
 * Replays recorded intents with a candidate that counts earlier actions. All intents of the organization are walked in
 * the order of their commits. Before the backtest begins, they count as recorded; from then on, as the candidate decides.
 */
import {
  type CountChange,
  type CountedAction,
  type CounterWindow,
  countReplayed,
  formatTimestampUs,
  parseTimestampUs,
  type RecordedIntent,
  type ReplayedDecision,
  replayIntent,
  SimulatedCounts,
  Tally,
  windowStartUs,
} from "@countersign/core";
import { readOldestWithin } from "../../store/backtests/backtests.ts";
import { type CountedRow, readEnds, readInOrder } from "../../store/backtests/counted-backtests.ts";
import type { BacktestJob } from "../shared/node-services.ts";
import { type Deciders, hindrance, type Readable, readable } from "./deciders.ts";
import { explain } from "./explain-flips.ts";
import { type ReadRecord, recordsOf } from "./read-records.ts";
import { breath_rows, first_page_rows, type ReplayedPart, type ReplayNeeds } from "./replay-needs.ts";

const warm_up_us_max = 90 * 86_400 * 1_000_000;

interface Begin {
  /** The first intent that is replayed, if `limit` leaves out older ones. */
  readonly intent_id: string | null;
  readonly at_us: number;
}

/** Faults: invalid_request (the counters take too much memory). Rejects if the database is lost. */
export async function replayCounted(
  needs: ReplayNeeds,
  job: BacktestJob,
  deciders: Deciders,
  windows: readonly CounterWindow[],
): Promise<ReplayedPart> {
  const { org_id, filter, limit } = job;
  const cut_at = await needs.read((query) => readOldestWithin(query, org_id, filter, limit));
  const begin: Begin = cut_at ?? { intent_id: null, at_us: parseTimestampUs(filter.from) ?? 0 };
  const warm_us = Math.max(
    Math.min(begin.at_us, ...windows.map((window) => windowStartUs(window, begin.at_us))),
    begin.at_us - warm_up_us_max,
  );
  const from = formatTimestampUs(Math.max(warm_us, 0));
  const ends = await needs.read((query) => readEnds(query, org_id, { ...filter, from }));
  const simulation = new Simulation(job, deciders, begin);
  let after_seq = (ends?.first_seq ?? 0) - 1;
  let rows_max = first_page_rows;

  async function readPage(): Promise<readonly CountedRow[]> {
    if (ends === null) return [];
    const rows = Math.min(rows_max, needs.pageRows());
    const part = { after_seq, last_seq: ends.last_seq, from, to: filter.to };
    const page = await needs.read((query) => readInOrder(query, org_id, part, rows));
    after_seq = page.at(-1)?.seq ?? after_seq;
    rows_max = page.length * 2;
    return page;
  }
  const doneAt = ({ seq }: CountedRow): number =>
    ends === null ? 0 : (seq - ends.first_seq) / Math.max(ends.last_seq - ends.first_seq, 1);

  for (let next = readPage(); ; ) {
    const page = await next;
    const last = page.at(-1);
    if (last === undefined) break;
    next = readPage();
    next.catch(() => undefined);
    const records = await recordsOf(needs, org_id, page);
    await deciders.prepare(records);
    for (const [index, record] of records.entries()) {
      simulation.take(record);
      if (index % breath_rows === breath_rows - 1) await needs.progress(simulation.tally.evaluated, doneAt(record.row));
    }
    await explain(needs, org_id, simulation.tally);
    await needs.progress(simulation.tally.evaluated, doneAt(last));
  }
  return { counts: simulation.tally.counts(), oldest_us: simulation.oldest_us, cut: cut_at !== null };
}

class Simulation {
  readonly tally = new Tally(true, "oldest_first");
  oldest_us: number | null = null;
  readonly #job: BacktestJob;
  readonly #deciders: Deciders;
  readonly #begin: Begin;
  readonly #counts = new SimulatedCounts();

  constructor(job: BacktestJob, deciders: Deciders, begin: Begin) {
    this.#job = job;
    this.#deciders = deciders;
    this.#begin = begin;
  }

  take(record: ReadRecord<CountedRow>): void {
    const { row } = record;
    this.#counts.advance(row.at_us);
    const replay = readable(this.#deciders, record, this.#job);
    const is_tallied = this.#hasBegun(row) && this.#isAsked(row);
    if (is_tallied) this.oldest_us = Math.min(this.oldest_us ?? row.at_us, row.at_us);
    if ("missing" in replay) {
      if (is_tallied) this.tally.addUnreplayed(row.intent_id, row.verdict, replay.missing);
      return;
    }
    const missing = hindrance(record, replay, this.#job);
    if (is_tallied && missing !== null) this.tally.addUnreplayed(row.intent_id, row.verdict, missing);
    if (missing !== null || !this.#hasBegun(row)) {
      this.#countRecorded(row, replay);
      return;
    }
    const recorded: RecordedIntent = { ...replay.recorded, counts: this.#counts.sourceFor(row.mode, row.at_us) };
    const decision = replayIntent(recorded, replay.decider);
    if (is_tallied) this.#tallyOne(record, { ...replay, recorded }, decision);
    this.#countDecided(row, replay, decision);
  }

  #hasBegun({ intent_id, at_us }: CountedRow): boolean {
    return this.#begin.intent_id === null ? at_us >= this.#begin.at_us : intent_id >= this.#begin.intent_id;
  }

  #isAsked({ membrane_id, agent_id }: CountedRow): boolean {
    const { filter } = this.#job;
    return (
      (filter.membrane_id === null || filter.membrane_id === membrane_id) &&
      (filter.agent_id === null || filter.agent_id === agent_id)
    );
  }

  #tallyOne({ row, overridden }: ReadRecord<CountedRow>, replay: Readable, decision: ReplayedDecision): void {
    const { intent_id, at_us, mode, verdict: recorded, reviewed } = row;
    const agent_id = replay.recorded.intent.agent.id;
    const ruled = reviewed ?? (overridden ? "approve" : null);
    const { amount_usd } = replay;
    this.tally.add({ intent_id, agent_id, at_us, mode, recorded, decision, ruled, amount_usd });
  }

  #countRecorded(row: CountedRow, replay: Readable): void {
    const { verdict } = row;
    if (verdict === "block" || replay.rests) return;
    const content = row.modified_content === null ? null : JSON.parse(row.modified_content);
    const counted = countedWith(replay, content);
    const changes = verdict === "escalate" ? [...resolutions(row, replay), ...reportsOf(row)] : reportsOf(row);
    this.#count(row, replay, verdict, counted, changes);
  }

  #countDecided(row: CountedRow, replay: Readable, { verdict, counted }: ReplayedDecision): void {
    if (verdict === "block") return;
    const is_held_again = verdict === "escalate" && row.verdict === "escalate";
    // An action that joined a review adds nothing: the action that opened the review counts.
    if (is_held_again && replay.rests) return;
    const reports = reportsOf(row);
    this.#count(row, replay, verdict, counted, is_held_again ? [...resolutions(row, replay), ...reports] : reports);
  }

  #count(
    row: CountedRow,
    { decider }: Readable,
    verdict: Exclude<ReplayedDecision["verdict"], "block">,
    counted: readonly CountedAction[],
    changes: readonly CountChange[],
  ): void {
    const { tracks } = decider.policySet;
    if (tracks.byName.size === 0) return;
    const state = verdict === "escalate" ? "pending" : verdict;
    this.#counts.count(row, tracks.byName, state, counted, changes);
  }
}

function countedWith({ recorded, decider }: Readable, content: CountedContent): readonly CountedAction[] {
  if (decider.policySet.tracks.byName.size === 0) return [];
  return countReplayed(recorded, decider, content);
}

type CountedContent = Readonly<Record<string, unknown>> | null;

/** Returns how the end of the recorded review changes what counts. */
function resolutions({ resolved }: CountedRow, replay: Readable): CountChange[] {
  if (resolved === null) return [];
  const { at_us, outcome, modified_content, revoked_us } = resolved;
  if (outcome === "block") return [{ at_us, to: "released" }];
  const approved: CountChange = { at_us, to: outcome, counted: countedWith(replay, modified_content) };
  return revoked_us === null ? [approved] : [approved, { at_us: revoked_us, to: "released" }];
}

function reportsOf({ reports }: CountedRow): CountChange[] {
  return (reports ?? []).map(({ at_us, status }) => ({ at_us, to: status === "executed" ? "executed" : "failed" }));
}
