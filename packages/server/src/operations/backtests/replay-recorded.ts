/**
 * Replays recorded intents in several threads. Threads read pages in turn and decide in parallel. Each reads its next
 * page while it decides one, so it holds at most two. A candidate with counters needs one order of all intents, so one
 * thread replays them (replay-counted.ts).
 */
import {
  type BacktestFigures,
  type CountSource,
  countsOfRecord,
  parseTimestampUs,
  replayIntent,
  Tally,
} from "@countersign/core";
import { type RecordedRow, readRecorded, readSpan } from "../../store/backtests/backtests.ts";
import type { BacktestJob } from "../shared/node-services.ts";
import { counterWindows } from "./counter-windows.ts";
import { Deciders, hindrance, readable } from "./deciders.ts";
import { explain } from "./explain-flips.ts";
import { type ReadRecord, recordsOf } from "./read-records.ts";
import { replayCounted } from "./replay-counted.ts";
import { breath_rows, type ReplayedPart, type ReplayNeeds, type Turn } from "./replay-needs.ts";

/** Replays this thread's share. Rejects if the database is lost. Fault: invalid_request (counters too large). */
export async function replayRecorded(needs: ReplayNeeds, job: BacktestJob): Promise<ReplayedPart> {
  const deciders = new Deciders(needs, job);
  const turn = await needs.turn();
  if (isFirst(turn)) {
    const windows = await counterWindows(needs, job, deciders);
    if (windows.length > 0) {
      needs.pass({ ...turn, left: 0 });
      return replayCounted(needs, job, deciders, windows);
    }
  }
  return replayShare(needs, job, deciders, turn);
}

function isFirst({ before, left }: Turn): boolean {
  return before === null && left > 0;
}

async function replayShare(
  needs: ReplayNeeds,
  job: BacktestJob,
  deciders: Deciders,
  first: Turn,
): Promise<ReplayedPart> {
  const { org_id, filter } = job;
  const tally = new Tally(job.candidate !== null);
  const span = await needs.read((query) => readSpan(query, org_id, filter));
  let cut = false;
  let oldest_us: number | null = null;

  async function readPage({ before, left, rows_max }: Turn): Promise<readonly RecordedRow[]> {
    const rows = Math.min(left, rows_max, needs.pageRows());
    const page = rows === 0 ? [] : await needs.read((query) => readRecorded(query, org_id, filter, before, rows));
    const last = page.at(-1);
    if (last !== undefined && left === page.length) cut = true;
    const read = last === undefined ? { before, left: 0 } : { before: last.intent_id, left: left - page.length };
    needs.pass({ ...read, rows_max: page.length * 2 });
    return page;
  }

  for (let next = readPage(first); ; ) {
    const page = await next;
    const last = page.at(-1);
    if (last === undefined) break;
    next = needs.turn().then(readPage);
    next.catch(() => undefined);
    oldest_us = last.at_us;
    const records = await recordsOf(needs, org_id, page);
    await deciders.prepare(records);
    for (const [index, record] of records.entries()) {
      replayOne(tally, deciders, record, job);
      if (index % breath_rows === breath_rows - 1)
        await needs.progress(tally.evaluated, doneAt(record.row.at_us, span));
    }
    await explain(needs, org_id, tally);
    await needs.progress(tally.evaluated, doneAt(oldest_us, span));
  }
  return { counts: tally.counts(), oldest_us, cut };
}

export function joinParts(job: BacktestJob, parts: readonly ReplayedPart[]): BacktestFigures {
  const ends_us = parts.flatMap(({ oldest_us }) => (oldest_us === null ? [] : [oldest_us]));
  const from_us = parts.some(({ cut }) => cut) ? Math.min(...ends_us) : (parseTimestampUs(job.filter.from) ?? 0);
  const to_us = Math.min(parseTimestampUs(job.filter.to) ?? 0, job.asked_us);
  const tally = Tally.joined(
    job.candidate !== null,
    parts.map(({ counts }) => counts),
  );
  return tally.figures(to_us - from_us);
}

function doneAt(at_us: number, span: Awaited<ReturnType<typeof readSpan>>): number {
  if (span === null || span.newest_us <= span.oldest_us) return 0;
  return Math.min(Math.max((span.newest_us - at_us) / (span.newest_us - span.oldest_us), 0), 1);
}

/** Makes counters unknown. */
const notLoaded: CountSource = { read: () => undefined };

function replayOne(tally: Tally, deciders: Deciders, record: ReadRecord, job: BacktestJob): void {
  const { row, overridden } = record;
  const { intent_id, verdict } = row;
  const replay = readable(deciders, record, job);
  const missing = "missing" in replay ? replay.missing : hindrance(record, replay, job);
  if ("missing" in replay || missing !== null) {
    tally.addUnreplayed(intent_id, verdict, missing ?? "record_unreadable");
    return;
  }
  // Callers that do not see all intents could find sums of others by trying candidates.
  const counts = job.candidate === null ? countsOfRecord(replay.counts) : notLoaded;
  const decision = replayIntent({ ...replay.recorded, counts }, replay.decider);
  const ruled = row.reviewed ?? (overridden ? "approve" : null);
  const agent_id = replay.recorded.intent.agent.id;
  const { at_us, mode } = row;
  tally.add({ intent_id, agent_id, at_us, mode, recorded: verdict, decision, ruled, amount_usd: replay.amount_usd });
}
