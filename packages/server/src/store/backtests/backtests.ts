/** Pages are short transactions, so that backtests do not block vacuum. */
import type { FreezeKind, FreezeMode, Outcome, PipelineMode, Verdict } from "@countersign/contract";
import type { PolicyDocument, SettingsChange } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { settingsTypes } from "../audit/audit.ts";
import { idNear } from "../intents/intents.ts";
import { microseconds } from "../rows/microseconds.ts";
import { newestHead } from "../rows/newest-head.ts";

/** `from` is inclusive, `to` exclusive; RFC 3339. */
export interface RecordedFilter {
  readonly from: string;
  readonly to: string;
  readonly membrane_id: string | null;
  readonly agent_id: string | null;
  /** The submitting key's rotation chain. Null: any. */
  readonly lineage_id: string | null;
  /** The newest audit record at the start. Every server with it reads the same intents. */
  readonly seq: number;
}

/** JSON stays text, so that one unreadable intent does not fail the page. */
export interface RecordedRow {
  readonly intent_id: string;
  readonly membrane_id: string;
  readonly mode: PipelineMode;
  readonly verdict: Verdict;
  /** Microseconds since the Unix epoch. */
  readonly at_us: number;
  readonly intent: string;
  readonly facts: string;
  /** The text after `"human_override_id":`, with override and policy set. */
  readonly decision_end: string;
  /** `<kind> <mode>` of the strictest freeze that stopped the action. */
  readonly frozen: `${FreezeKind} ${FreezeMode}` | null;
  /** Null: no review, or an open one. */
  readonly reviewed: Outcome | null;
  readonly is_erased: boolean;
}

/**
 * Cuts after the last `human_override_id`, because no free text follows. `split_part` compares bytes. `right` counts
 * characters and took 4 of 12.5 µs.
 */
const decision_end = `split_part(decision::text, '"human_override_id":', -1)`;

/** The strictest reason comes first. Free text cannot match, because its quotes are escaped. */
const frozen = `case when verdict in ('block', 'escalate') then array_to_string(regexp_match(decision::text,
  '"policy_id":null,"policy":"freeze\\.([a-z]+)","version":null,"effect":"([a-z]+)"'), ' ') end`;

/**
 * Maximum bytes of a page as text, because compressed documents grow in memory. PostgreSQL unpacks only the rows of the
 * page.
 */
const page_bytes_max = 8 * 1024 * 1024;

export const recorded_columns = `intent_id, membrane_id, mode, verdict, ${microseconds("created_at")} as at_us,
  intent::text as intent, facts::text as facts, ${decision_end} as decision_end, ${frozen} as frozen,
  case when resolution ->> 'escalation_status' = 'decided' then resolution ->> 'outcome' end as reviewed,
  erased is not null as is_erased`;

/** Returns SQL for the rows of a page, in this order, that fit into its bytes: at least one. */
export function fittingRows(columns: string, page: string, order: string): string {
  return `select ${columns}
     from (
       select *, sum(size) over (order by ${order} rows unbounded preceding) as bytes
       from (${page}) as page,
         lateral (select octet_length(page.intent::text) + octet_length(page.facts::text) as size) as weight) as weighed
     where bytes = size or bytes <= ${page_bytes_max}
     order by ${order}`;
}

/** The intents of a filter. Its values are $1 to $9. */
const filtered = `org_id = $1 and intent_id >= $2 and intent_id < $3
  and created_at >= $4::timestamptz and created_at < $5::timestamptz
  and ($6::text is null or membrane_id = $6) and ($7::text is null or agent_id = $7)
  and ($8::text is null or lineage_id = $8) and seq <= $9::bigint`;

function filterValues(org_id: string, filter: RecordedFilter): unknown[] {
  const { from, to, membrane_id, agent_id, lineage_id, seq } = filter;
  return [org_id, idNear(from, -1), idNear(to, 1), from, to, membrane_id, agent_id, lineage_id, seq];
}

const page_of_filter = `select * from intents where ${filtered} and ($10::text is null or intent_id < $10)
  order by intent_id desc limit $11::integer`;

/** Returns intents older than `before`, newest first, at least one. Large documents end a page early. */
export function readRecorded(
  query: Query,
  org_id: string,
  filter: RecordedFilter,
  before: string | null,
  rows: number,
): Promise<RecordedRow[]> {
  const text = fittingRows(recorded_columns, page_of_filter, "intent_id desc");
  return query<RecordedRow>(text, [...filterValues(org_id, filter), before, rows]);
}

/** Returns the oldest of the newest `limit` intents of a filter; null: there are not more. */
export async function readOldestWithin(
  query: Query,
  org_id: string,
  filter: RecordedFilter,
  limit: number,
): Promise<{ readonly intent_id: string; readonly at_us: number } | null> {
  const [row] = await query<{ intent_id: string; at_us: number }>(
    `select intent_id, ${microseconds("created_at")} as at_us from intents where ${filtered}
     order by intent_id desc offset $10::integer limit 1`,
    [...filterValues(org_id, filter), limit - 1],
  );
  return row ?? null;
}

export async function readLifts(
  query: Query,
  org_id: string,
  override_ids: readonly string[],
): Promise<Map<string, readonly string[]>> {
  const rows = await query<{ override_id: string; lifts: string[] }>(
    "select override_id, lifts from overrides where org_id = $1 and override_id = any($2::text[])",
    [org_id, override_ids],
  );
  return new Map(rows.map(({ override_id, lifts }) => [override_id, lifts]));
}

/** Returns the intents between two ids (inclusive) whose block people overrode. */
export async function readOverridden(
  query: Query,
  org_id: string,
  first: string,
  last: string,
): Promise<ReadonlySet<string>> {
  const rows = await query<{ intent_id: string }>(
    `select distinct intent_id from overrides
     where org_id = $1 and intent_id between $2 and $3 and approved_at is not null and status <> 'revoked'`,
    [org_id, first, last],
  );
  return new Set(rows.map(({ intent_id }) => intent_id));
}

export async function readDeciding(
  query: Query,
  org_id: string,
  intent_ids: readonly string[],
): Promise<Map<string, string[]>> {
  const rows = await query<{ intent_id: string; policies: string[] }>(
    `select intent_id, array(select distinct r ->> 'policy' from json_array_elements(decision -> 'reasons') as r
       where r ->> 'effect' = verdict) as policies
     from intents where org_id = $1 and intent_id = any($2::text[])`,
    [org_id, intent_ids],
  );
  return new Map(rows.map(({ intent_id, policies }) => [intent_id, policies]));
}

/**
 * Returns the policy epoch and every change of the inputs of decisions, in order. Between two changes it reads only the
 * first decision: reading all made 9,900 activations take 7 s.
 */
export async function readSettings(
  query: Query,
  org_id: string,
): Promise<{ readonly policy_epoch: number; readonly changes: SettingsChange[] }> {
  // One statement, so that no later decision has an earlier epoch.
  const rows = await query<Omit<SettingsChange, "from_epoch"> & { policy_epoch: number; decided_epoch: number | null }>(
    `select h.policy_epoch, a.type, a.data,
       (select (coalesce(d.data, d.kept -> 'data') #>> '{policy_set,version}')::bigint
        from ledger d
        where d.org_id = a.org_id and d.seq > a.seq and d.seq < a.next_seq and d.type = 'decided' order by d.seq limit 1) as decided_epoch
     from (select *, lead(seq, 1, 9223372036854775807) over (order by seq) as next_seq
           from ledger where org_id = $1 and type in (${settingsTypes})) as a
     cross join lateral ${newestHead("a.org_id", "policy_epoch")} h order by a.seq`,
    [org_id],
  );
  const policy_epoch = rows[0]?.policy_epoch ?? 0;
  let from_epoch = policy_epoch;
  const changes = rows.reverse().map(({ type, data, decided_epoch }) => {
    from_epoch = decided_epoch ?? from_epoch;
    return { type, data, from_epoch };
  });
  return { policy_epoch, changes: changes.reverse() };
}

export interface VersionName {
  readonly policy_id: string;
  readonly version: number;
}

export const versionKey = ({ policy_id, version }: VersionName): string => `${policy_id}@${version}`;

/** Returns documents by `versionKey`, without unknown versions. */
export async function readVersions(
  query: Query,
  org_id: string,
  versions: readonly VersionName[],
): Promise<Map<string, PolicyDocument>> {
  const rows = await query<VersionName & { document: PolicyDocument }>(
    `select v.policy_id, v.version, v.document
     from unnest($2::text[], $3::integer[]) as w(policy_id, version)
     join policy_versions v on v.org_id = $1 and v.policy_id = w.policy_id and v.version = w.version`,
    [org_id, versions.map((each) => each.policy_id), versions.map((each) => each.version)],
  );
  return new Map(rows.map((row) => [versionKey(row), row.document]));
}

export async function readSpan(
  query: Query,
  org_id: string,
  filter: RecordedFilter,
): Promise<{ readonly oldest_us: number; readonly newest_us: number } | null> {
  // Ignores the other filters, because the span only serves an estimate of progress.
  const end = (order: "asc" | "desc") =>
    `(select ${microseconds("created_at")} from intents where org_id = $1 and intent_id >= $2 and intent_id < $3
      order by intent_id ${order} limit 1)`;
  const [row] = await query<{ oldest_us: number | null; newest_us: number | null }>(
    `select ${end("asc")} as oldest_us, ${end("desc")} as newest_us`,
    [org_id, idNear(filter.from, -1), idNear(filter.to, 1)],
  );
  if (row === undefined || row.oldest_us === null || row.newest_us === null) return null;
  return { oldest_us: row.oldest_us, newest_us: row.newest_us };
}
