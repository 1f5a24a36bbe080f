/**
 * Replays recorded intents in several threads. Threads read pages in turn and decide in parallel. Each reads its next
 * page while it decides one, so it holds at most two.
 */

import type { BacktestProgress, NotReproducedBecause } from "@countersign/contract";
import {
  type BacktestFigures,
  compilePolicySet,
  factsOf,
  type MembraneSettings,
  type MergedFacts,
  membraneWith,
  type PackRules,
  type PolicyDocument,
  type PolicySet,
  type PolicySource,
  parseTimestampUs,
  type RecordedIntent,
  replayIntent,
  SettingsHistory,
  type SettingsThen,
  SharedPolicies,
  type StandingFreeze,
  sourcesWith,
  Tally,
  type TallyCounts,
  withoutValues,
} from "@countersign/core";
import { LRUCache } from "lru-cache";
import type { Query } from "../../ports.ts";
import {
  type RecordedRow,
  readDeciding,
  readLifts,
  readOverridden,
  readRecorded,
  readSettings,
  readSpan,
  readVersions,
  versionKey,
} from "../../store/backtests/backtests.ts";
import type { BacktestJob } from "../shared/node-services.ts";

export interface Turn {
  readonly before: string | null;
  readonly left: number;
  /** Maximum of rows in the next page. Large documents need smaller pages. */
  readonly rows_max: number;
}

const first_page_rows = 100;

export function firstTurn(limit: number): Turn {
  return { before: null, left: limit, rows_max: first_page_rows };
}

export interface ReplayedPart {
  readonly counts: TallyCounts;
  /** Decision time of its oldest intent, in microseconds; null: it had none. */
  readonly oldest_us: number | null;
  readonly cut: boolean;
}

export interface ReplayNeeds {
  read<T>(work: (query: Query) => Promise<T>): Promise<T>;
  readonly packs: PackRules;
  turn(): Promise<Turn>;
  pass(turn: Turn): void;
  /** Called after every `breath_rows` intents. Awaited, so that the thread can receive cancellations and data. */
  progress(evaluated: number, done: BacktestProgress["done"]): Promise<void>;
  pageRows(): number;
}

/** Intents between two pauses for the socket, so that the next page arrives while this one is decided. */
const breath_rows = 50;
const sets_kept = 64;
const documents_kept = 2_000;

/** Replays this thread's share. Rejects if the database is lost. */
export async function replayRecorded(needs: ReplayNeeds, job: BacktestJob): Promise<ReplayedPart> {
  const { org_id, filter } = job;
  const tally = new Tally(job.candidate !== null);
  const span = await needs.read((query) => readSpan(query, org_id, filter));
  const deciders = new Deciders(needs, job);
  let cut = false;
  let oldest_us: number | null = null;

  async function readPage(): Promise<readonly RecordedRow[]> {
    const { before, left, rows_max } = await needs.turn();
    const rows = Math.min(left, rows_max, needs.pageRows());
    const page = rows === 0 ? [] : await needs.read((query) => readRecorded(query, org_id, filter, before, rows));
    const last = page.at(-1);
    if (last !== undefined && left === page.length) cut = true;
    const read = last === undefined ? { before, left: 0 } : { before: last.intent_id, left: left - page.length };
    needs.pass({ ...read, rows_max: page.length * 2 });
    return page;
  }

  for (let next = readPage(); ; ) {
    const page = await next;
    const last = page.at(-1);
    if (last === undefined) break;
    next = readPage();
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

interface ReadRecord {
  readonly row: RecordedRow;
  readonly end: DecisionEnd | null;
  readonly lifts: readonly string[] | null | "unknown";
  readonly overridden: boolean;
}

interface DecisionEnd {
  readonly override_id: string | null;
  readonly policy_epoch: number;
  readonly sha256: string;
}

const endOfDecision =
  /^(?:null|"([a-z0-9A-Z_]+)"),"escalation_id"[^{]*"policy_set":\{"version":(\d+),"sha256":"([0-9a-f]{64})"\}(?:,"claim":"required")?,"timestamp":"[^"]+"\}$/;

/** Parses the text from `"human_override_id":` on; null: another format than this version writes. */
function decisionEnd(text: string): DecisionEnd | null {
  const found = endOfDecision.exec(text);
  if (found === null) return null;
  return { override_id: found[1] ?? null, policy_epoch: Number(found[2]), sha256: found[3] as string };
}

async function recordsOf(needs: ReplayNeeds, org_id: string, page: readonly RecordedRow[]): Promise<ReadRecord[]> {
  const ends = page.map((row) => decisionEnd(row.decision_end));
  const spent = ends.flatMap((end) => (end === null || end.override_id === null ? [] : [end.override_id]));
  const blocked = page.filter((row) => row.verdict === "block");
  const { lifts, overridden } =
    spent.length === 0 && blocked.length === 0
      ? { lifts: new Map<string, readonly string[]>(), overridden: new Set<string>() }
      : await needs.read(async (query) => ({
          lifts: spent.length === 0 ? new Map<string, readonly string[]>() : await readLifts(query, org_id, spent),
          overridden: await readOverridden(
            query,
            org_id,
            page.at(-1)?.intent_id as string,
            page[0]?.intent_id as string,
          ),
        }));
  return page.map((row, index) => {
    const end = ends[index] ?? null;
    const override_id = end?.override_id ?? null;
    return {
      row,
      end,
      // Approvals of equal actions and grants are no overrides, so such decisions cannot be reproduced.
      lifts: /"(?:resumed_from|grant_id)":"/.test(row.decision_end) ? "unknown" : liftsOf(override_id, lifts),
      overridden: overridden.has(row.intent_id),
    };
  });
}

function liftsOf(override_id: string | null, lifts: ReadonlyMap<string, readonly string[]>): ReadRecord["lifts"] {
  return override_id === null ? null : (lifts.get(override_id) ?? "unknown");
}

interface Able {
  readonly policySet: PolicySet;
  readonly membrane: MembraneSettings;
}
interface Unable {
  readonly missing: NotReproducedBecause;
}
type Decider = Able | Unable;

class Deciders {
  private readonly byEra = new LRUCache<string, Decider>({ max: 1_000 });
  private readonly shared = new SharedPolicies();
  private readonly sets = new LRUCache<string, PolicySet>({ max: sets_kept });
  private readonly documents = new LRUCache<string, PolicyDocument>({ max: documents_kept });
  private readonly needs: ReplayNeeds;
  private readonly job: BacktestJob;
  private history = new SettingsHistory([], -1);
  /** The last result, because neighbours in time usually share it. */
  private last: { readonly policy_epoch: number; readonly membrane_id: string; readonly decider: Decider } | null =
    null;

  constructor(needs: ReplayNeeds, job: BacktestJob) {
    this.needs = needs;
    this.job = job;
  }

  async prepare(records: readonly ReadRecord[]): Promise<void> {
    let before: ReadRecord | null = null;
    for (const record of records) {
      const { row, end } = record;
      if (end === null) continue;
      if (before?.end?.policy_epoch === end.policy_epoch && before.row.membrane_id === row.membrane_id) continue;
      before = record;
      if (end.policy_epoch > this.history.policy_epoch) await this.readHistory();
      const then = this.history.at(end.policy_epoch);
      const key = `${then.era} ${row.membrane_id}`;
      if (!this.byEra.has(key)) this.byEra.set(key, await this.make(then, row.membrane_id));
    }
  }

  /** Read again for decisions made during the backtest. Eras keep their numbers. */
  private async readHistory(): Promise<void> {
    const { changes, policy_epoch } = await this.needs.read((query) => readSettings(query, this.job.org_id));
    this.history = new SettingsHistory(changes, policy_epoch);
    this.last = null;
  }

  of(membrane_id: string, policy_epoch: number): Decider {
    const { last } = this;
    if (last?.policy_epoch === policy_epoch && last.membrane_id === membrane_id) return last.decider;
    const { era } = this.history.at(policy_epoch);
    const decider = this.byEra.get(`${era} ${membrane_id}`) ?? { missing: "membrane_unknown" };
    this.last = { policy_epoch, membrane_id, decider };
    return decider;
  }

  private async make(then: SettingsThen, membrane_id: string): Promise<Decider> {
    const { candidate } = this.job;
    const membrane = then.membranes.get(membrane_id);
    if (membrane === undefined) return { missing: "membrane_unknown" };
    const key = [
      ...[...membrane.packs].sort(),
      ...[...(membrane.rules_off ?? [])].sort().map((rule) => `-${rule}`),
      ...then.policies.map((each) => `${versionKey(each)}:${each.mode}`),
    ].join(" ");
    let policySet = this.sets.get(key);
    if (policySet === undefined) {
      const own = await this.ownOf(then);
      if (own === null) return { missing: "policy_unknown" };
      const policies = sourcesWith(this.needs.packs, membrane, own, candidate);
      policySet = compilePolicySet({ policies, version: 1, shared: this.shared });
      this.sets.set(key, policySet);
    }
    return { policySet, membrane: membraneWith(membrane, candidate) };
  }

  private async ownOf({ policies }: SettingsThen): Promise<PolicySource[] | null> {
    const found = new Map<string, PolicyDocument>();
    for (const each of policies) {
      const document = this.documents.get(versionKey(each));
      if (document !== undefined) found.set(versionKey(each), document);
    }
    const unread = policies.filter((each) => !found.has(versionKey(each)));
    if (unread.length > 0) {
      const read = await this.needs.read((query) => readVersions(query, this.job.org_id, unread));
      for (const [key, document] of read) {
        found.set(key, document);
        this.documents.set(key, document);
      }
    }
    if (policies.some((each) => !found.has(versionKey(each)))) return null;
    return policies.map(({ name: _, ...policy }) => ({
      ...policy,
      document: found.get(versionKey(policy)) as PolicyDocument,
    }));
  }
}

function replayOne(tally: Tally, deciders: Deciders, record: ReadRecord, job: BacktestJob): void {
  const { row, overridden } = record;
  const { intent_id, verdict } = row;
  const replay = prepared(deciders, record, job);
  if ("missing" in replay) {
    tally.addUnreplayed(intent_id, verdict, replay.missing);
    return;
  }
  const decision = replayIntent(replay.recorded, replay.decider);
  const ruled = row.reviewed ?? (overridden ? "approve" : null);
  const agent_id = replay.recorded.intent.agent.id;
  tally.add({ intent_id, agent_id, at_us: row.at_us, mode: row.mode, recorded: verdict, decision, ruled });
}

function prepared(
  deciders: Deciders,
  { row, end, lifts }: ReadRecord,
  { candidate, values }: BacktestJob,
): { readonly recorded: RecordedIntent; readonly decider: Able } | Unable {
  if (end === null) return { missing: "record_unreadable" };
  const decider = deciders.of(row.membrane_id, end.policy_epoch);
  if ("missing" in decider) return decider;
  if (lifts === "unknown") return { missing: "override_unknown" };
  // A candidate replaces the recorded set, so that set need not match exactly.
  if (candidate === null && decider.policySet.sha256 !== end.sha256) return { missing: "packs_changed" };
  const recorded = recordedOf(row, lifts);
  if (recorded === null) return { missing: "record_unreadable" };
  return { recorded: values ? recorded : { ...recorded, facts: withoutValues(recorded.facts) }, decider };
}

function recordedOf(row: RecordedRow, lifts: readonly string[] | null): RecordedIntent | null {
  let intent: { submitted?: RecordedIntent["intent"]; attested?: boolean };
  let facts: MergedFacts | null;
  try {
    intent = JSON.parse(row.intent) as typeof intent;
    facts = factsOf(JSON.parse(row.facts));
  } catch {
    return null;
  }
  const { submitted, attested } = intent;
  if (submitted?.agent === undefined || submitted.action === undefined || attested === undefined || facts === null)
    return null;
  const { mode, at_us: now_us, frozen } = row;
  return {
    intent: submitted,
    attested,
    facts,
    mode,
    now_us,
    lifts,
    freezes: frozen === null ? [] : [recordedFreeze(frozen)],
  };
}

function recordedFreeze(frozen: NonNullable<RecordedRow["frozen"]>): StandingFreeze {
  const [kind, mode] = frozen.split(" ") as [StandingFreeze["kind"], StandingFreeze["mode"]];
  return { kind, mode, subject: "", name: "", reason: "as recorded", frozen_by: "", frozen_at: "", lineages: [] };
}

async function explain(needs: ReplayNeeds, org_id: string, tally: Tally): Promise<void> {
  const flips = tally.takeUnexplained();
  if (flips.length === 0) return;
  const ids = flips.map(({ intent_id }) => intent_id);
  const deciding = await needs.read((query) => readDeciding(query, org_id, ids));
  for (const flip of flips) flip.policies.push(...(deciding.get(flip.intent_id) ?? []));
}
