/** Reads that a backtest needs to count recorded actions under the policies of a candidate. */
import type { Outcome } from "@countersign/contract";
import type { PolicyDocument } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { idNear } from "../intents/intents.ts";
import { microseconds } from "../rows/microseconds.ts";
import { fittingRows, type RecordedRow, recorded_columns, type VersionName } from "./backtests.ts";

/** A recorded intent with what became of it later. */
export interface CountedRow extends RecordedRow {
  readonly seq: number;
  readonly agent_id: string;
  /** Of the decision, as JSON text. Null: it changes nothing. */
  readonly modified_content: string | null;
  /** The end of the review. Null: no review, or an open one. */
  readonly resolved: {
    readonly at_us: number;
    readonly outcome: Outcome;
    readonly modified_content: Readonly<Record<string, unknown>> | null;
    /** Null: the approval was not revoked. */
    readonly revoked_us: number | null;
  } | null;
  /** Of operators, and of hosts that had claimed the action, in their order. Null: none. */
  readonly reports: readonly { readonly at_us: number; readonly status: string }[] | null;
}

const modified_content = `case when verdict in ('approve_modified', 'escalate')
  then nullif((decision -> 'modified_content')::text, 'null') end`;

const resolved = `(select json_build_object(
    'at_us', ${microseconds("e.closed_at")}, 'outcome', e.resolution ->> 'outcome',
    'modified_content', e.resolution -> 'modified_content',
    'revoked_us', case when e.approval_revoked then ${microseconds("e.approval_moved_at")} end)
  from escalations e
  where e.org_id = $1 and e.escalation_id = weighed.escalation_id and e.resolution is not null and e.closed_at is not null)`;

/** Intents that joined one review have one approval. Its holder reports. */
const reports = `(select json_agg(json_build_object('at_us', ${microseconds("r.at")}, 'status', r.data ->> 'status') order by r.seq)
  from ledger r
  left join api_keys k on k.org_id = $1 and k.key_id = r.actor
  left join people p on p.org_id = $1 and p.user_id = r.actor
  left join claims c on c.org_id = $1 and c.intent_id = r.intent_id and c.seq < r.seq
  where r.org_id = $1 and r.type = 'observed' and r.data is not null
    and r.intent_id = coalesce((select e.approval_holder from escalations e
      where e.org_id = $1 and e.escalation_id = weighed.escalation_id), weighed.intent_id)
    and (r.actor = 'open_mode' or coalesce(k.role, p.role) in ('admin', 'operator')
      or (k.role = 'host' and k.lineage_id = c.lineage_id)))`;

const columns = `${recorded_columns}, seq, agent_id, ${modified_content} as modified_content, ${resolved} as resolved,
  ${reports} as reports`;

/** In the order of the ledger, which is the order of commits. Bounds by seq let the primary key serve it. */
const page_in_order = `select * from intents
  where org_id = $1 and seq > $2::bigint and seq <= $3::bigint
    and created_at >= $4::timestamptz and created_at < $5::timestamptz
  order by seq limit $6::integer`;

/** A part of the ledger: after `after_seq`, up to `last_seq`, `from` (inclusive) to `to` (exclusive; RFC 3339). */
export interface LedgerPart {
  readonly after_seq: number;
  readonly last_seq: number;
  readonly from: string;
  readonly to: string;
}

/** Returns the first intents of a part, at least one. Large documents end a page early. */
export function readInOrder(
  query: Query,
  org_id: string,
  { after_seq, last_seq, from, to }: LedgerPart,
  rows: number,
): Promise<CountedRow[]> {
  return query<CountedRow>(fittingRows(columns, page_in_order, "seq"), [org_id, after_seq, last_seq, from, to, rows]);
}

/** Intents near an end of a window. Nodes commit intents in almost the order of their ids. */
const near_end = 100;

export interface RecordedEnds {
  readonly first_seq: number;
  readonly last_seq: number;
  readonly first_epoch: number;
  readonly last_epoch: number;
}

/** Returns the places and policy epochs at the ends of a window, rather too wide than too narrow; null: no intents. */
export async function readEnds(
  query: Query,
  org_id: string,
  { from, to, seq }: { readonly from: string; readonly to: string; readonly seq: number },
): Promise<RecordedEnds | null> {
  const near = (order: "asc" | "desc") =>
    `(select seq, (decision #>> '{policy_set,version}')::bigint as epoch from intents
      where org_id = $1 and intent_id >= $2 and intent_id < $3 and seq <= $4::bigint
      order by intent_id ${order} limit ${near_end})`;
  const [row] = await query<{ [Key in keyof RecordedEnds]: number | null }>(
    `select a.*, b.* from
       (select min(seq) as first_seq, min(epoch) as first_epoch from ${near("asc")} as oldest) as a,
       (select max(seq) as last_seq, max(epoch) as last_epoch from ${near("desc")} as newest) as b`,
    [org_id, idNear(from, -1), idNear(to, 1), seq],
  );
  if (row === undefined || row.first_seq === null) return null;
  return row as RecordedEnds;
}

export type Counting = Pick<PolicyDocument["spec"], "counters" | "after">;

/** Returns the names and counters of those versions that have any. */
export async function readCounters(
  query: Query,
  org_id: string,
  versions: readonly VersionName[],
): Promise<(Counting & { readonly name: string })[]> {
  const rows = await query<{ name: string; counters: Counting["counters"] | null; after: Counting["after"] | null }>(
    `select document #>> '{metadata,name}' as name, document #> '{spec,counters}' as counters, document #> '{spec,after}' as after
     from (
       select distinct v.policy_id, v.version
       from unnest($2::text[], $3::integer[]) as v(policy_id, version)) as w
     join policy_versions v using (policy_id, version)
     where v.org_id = $1 and (document #> '{spec,counters}' is not null or document #> '{spec,after}' is not null)`,
    [org_id, versions.map((each) => each.policy_id), versions.map((each) => each.version)],
  );
  return rows.map(({ name, counters, after }) => ({ name, counters: counters ?? [], after: after ?? [] }));
}
