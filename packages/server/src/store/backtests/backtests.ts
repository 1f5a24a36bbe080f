/**
 * SQL for backtests: recorded intents in bounded pages, newest first, and how decisions were made when they were
 * recorded. Everything is read in short transactions, so that nothing holds back the database's own cleaning up.
 */
import type { FreezeKind, FreezeMode, Outcome, PipelineMode, Verdict } from "@countersign/contract";
import type { PolicyDocument, SettingsChange } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { settingsTypes } from "../audit/audit.ts";
import { idNear } from "../intents/intents.ts";
import { microseconds } from "../rows/microseconds.ts";
import { newestHead } from "../rows/newest-head.ts";

/** Which recorded intents are read. `from` is included, `to` is not; RFC 3339. */
export interface RecordedFilter {
  readonly from: string;
  readonly to: string;
  readonly membrane_id: string | null;
  readonly agent_id: string | null;
  /** Submitted by a key of this chain of rotations; null: by any. */
  readonly lineage_id: string | null;
  /** The organization's newest audit record when the backtest was asked for: any server that has it reads the same intents. */
  readonly seq: number;
}

/** A recorded intent as a page has it: JSON still as text, so that one that cannot be read spoils nothing else. */
export interface RecordedRow {
  readonly intent_id: string;
  readonly membrane_id: string;
  readonly mode: PipelineMode;
  readonly verdict: Verdict;
  /** Microseconds since the Unix epoch. */
  readonly at_us: number;
  readonly intent: string;
  readonly facts: string;
  /** What follows `"human_override_id":` in the decision's text: the override, and the policy set at the end. */
  readonly decision_end: string;
  /** `<kind> <mode>` of the strictest freeze that stopped the action; null: none did. */
  readonly frozen: `${FreezeKind} ${FreezeMode}` | null;
  /** What the review of the action came to; null: there was none, or it is not closed. */
  readonly reviewed: Outcome | null;
}

/**
 * Cut before the last `human_override_id`: nothing after it is free text. Its bytes are compared; `right` counts characters,
 * and took 4 of the 12.5 µs that the database needed for a row.
 */
const decision_end = `split_part(decision::text, '"human_override_id":', -1)`;

/** The reasons of a decision come with the strictest first. Quotes in the words of people are escaped, so none of them looks like this. */
const frozen = `case when verdict in ('block', 'escalate') then array_to_string(regexp_match(decision::text,
  '"policy_id":null,"policy":"freeze\\.([a-z]+)","version":null,"effect":"([a-z]+)"'), ' ') end`;

/**
 * A page ends early where its documents come to more, as text: what compresses well is small on disk and large here. Weighed
 * outside of the page, so that where rows have to be sorted for it only those that it has are unpacked.
 */
const page_bytes_max = 8 * 1024 * 1024;

/**
 * One page, newest first, older than the intent `before` (null: from the newest): at most `rows` of them and at least
 * one while there are any, ended early where its documents get large.
 */
export function readRecorded(
  query: Query,
  org_id: string,
  filter: RecordedFilter,
  before: string | null,
  rows: number,
): Promise<RecordedRow[]> {
  return query<RecordedRow>(
    `select intent_id, membrane_id, mode, verdict, ${microseconds("created_at")} as at_us,
       intent::text as intent, facts::text as facts, ${decision_end} as decision_end, ${frozen} as frozen,
       case when resolution ->> 'escalation_status' = 'decided' then resolution ->> 'outcome' end as reviewed
     from (
       select *, sum(size) over (order by intent_id desc rows unbounded preceding) as bytes
       from (
         select * from intents
         where org_id = $1 and ($2::text is null or intent_id < $2) and intent_id >= $3 and intent_id < $4
           and created_at >= $5::timestamptz and created_at < $6::timestamptz
           and ($7::text is null or membrane_id = $7) and ($8::text is null or agent_id = $8)
           and ($9::text is null or lineage_id = $9) and seq <= $10::bigint
         order by intent_id desc limit $11::integer) as page,
         lateral (select octet_length(page.intent::text) + octet_length(page.facts::text) as size) as weight) as weighed
     where bytes = size or bytes <= ${page_bytes_max}
     order by intent_id desc`,
    [
      org_id,
      before,
      idNear(filter.from, -1),
      idNear(filter.to, 1),
      filter.from,
      filter.to,
      filter.membrane_id,
      filter.agent_id,
      filter.lineage_id,
      filter.seq,
      rows,
    ],
  );
}

/** What an override lifts, by its id. */
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

/** The intents between two ids, both included, whose block people have overridden. */
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

/** Names of the policies that decisions rested on, by intent. */
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
 * The policy epoch of now, and every change of what decisions are made by, in order. Between two changes no further than the
 * first decision is looked for: 9,900 activations without a decision took 7 s as each looked through all after it.
 */
export async function readSettings(
  query: Query,
  org_id: string,
): Promise<{ readonly policy_epoch: number; readonly changes: SettingsChange[] }> {
  // One statement: what is decided after it has the epoch of its snapshot, or a later one.
  const rows = await query<Omit<SettingsChange, "from_epoch"> & { policy_epoch: number; decided_epoch: number | null }>(
    `select h.policy_epoch, a.type, a.data,
       (select (d.data #>> '{policy_set,version}')::bigint
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

interface VersionName {
  readonly policy_id: string;
  readonly version: number;
}

/** One text for one version of a policy. */
export const versionKey = ({ policy_id, version }: VersionName): string => `${policy_id}@${version}`;

/** Documents of policy versions, by `versionKey`. Those that are not stored are left out. */
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

/** When the oldest and the newest of the recorded intents were decided, in microseconds; null: there are none. */
export async function readSpan(
  query: Query,
  org_id: string,
  filter: RecordedFilter,
): Promise<{ readonly oldest_us: number; readonly newest_us: number } | null> {
  // Two looks at the ends of the key; other filters are left out, since it is progress that is estimated.
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
