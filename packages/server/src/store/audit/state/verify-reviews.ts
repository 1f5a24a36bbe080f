import type { Query } from "../../../ports.ts";
import { newestHead } from "../../rows/newest-head.ts";
import type { Difference } from "./differences.ts";
import { openedReviewHash } from "./opened-review.ts";

const page_rows = 200;

/** SQL for `recordHash`. */
const record_sha256 = `encode(sha256(convert_to(e.resolution::text || U&'\\001e' || e.record::text, 'UTF8')), 'hex')`;

const closing = "('reviewed', 'timed_out', 'cancelled')";
/** Entries after which the review is as their `state` says. */
const touching = `('voted', 'reassigned', 'reviewed', 'timed_out', 'cancelled')`;

/** Of an erased review only the status can be compared. A review is closed exactly if the ledger has the entry that closed it. */
const statement = `select l.seq as place, l.escalation_id, coalesce(closed.seq, l.seq) as seq, e.escalation_id is null as missing,
    array_remove(array[
      case when e.status is distinct from coalesce(closed.status, 'pending') then 'status' end,
      case when closed.seq is null and e.resolution is not null then 'resolution' end,
      case when closed.erased and e.record ->> 'erased' is null
        or not closed.erased and closed.hash is distinct from ${record_sha256} then 'record' end,
      case when l.leaf is null and e.intent_id = l.intent_id and (e.decision_id, e.agent_id, e.lineage_id, e.fingerprint, e.created_at)
        is distinct from (l.decision_id, l.agent_id, l.lineage_id, l.fingerprint, l.at) then 'decision' end], null) as columns,
    l.intent ->> 'review_sha256' as opened,
    case when untouched then e.record::text end as record, case when untouched then e.demands::text end as demands
  from ledger l
  left join escalations e on e.org_id = l.org_id and e.escalation_id = l.escalation_id
  left join lateral (select c.seq, c.data ->> 'record_sha256' as hash, c.leaf is not null as erased,
      case c.type when 'reviewed' then 'decided' else c.type end as status from ledger c
    where c.org_id = l.org_id and c.intent_id = coalesce(e.intent_id, l.intent_id) and c.type in ${closing}
      and c.type <> 'decided' order by c.seq limit 1) closed on true
  cross join lateral (select e.intent_id = l.intent_id and l.intent is not null and not exists (select from ledger t
    where t.org_id = l.org_id and t.intent_id = l.intent_id and t.type in ${touching} and t.type <> 'decided') as untouched) u
  where l.org_id = $1 and l.escalation_id is not null and l.seq > $2::bigint and l.seq <= $3::bigint
  order by l.seq limit ${page_rows}`;

interface Found {
  readonly place: number;
  readonly escalation_id: string;
  readonly seq: number;
  readonly missing: boolean;
  readonly columns: string[];
  /** Null: written by an earlier version. */
  readonly opened: string | null;
  /** Null: somebody has acted on the review. */
  readonly record: string | null;
  readonly demands: string | null;
}

/** Compares reviews with the entries that opened and closed them. Locks nothing. */
export async function* verifyReviews(query: Query, org_id: string): AsyncGenerator<Difference> {
  const [head] = await query<{ audit_seq: number }>(newestHead("$1", "audit_seq"), [org_id]);
  for (let after = 0; head !== undefined; ) {
    const rows = await query<Found>(statement, [org_id, after, head.audit_seq]);
    for (const row of rows) {
      const { escalation_id: id, seq } = row;
      after = row.place;
      const columns = [...row.columns, ...(isAsOpened(row) ? [] : ["record"])];
      if (row.missing) yield { table: "escalations", id, problem: "missing", columns: [], seq };
      else if (columns.length > 0) yield { table: "escalations", id, problem: "changed", columns, seq };
    }
    if (rows.length === 0) return;
  }
}

function isAsOpened({ opened, record, demands }: Found): boolean {
  if (opened === null || record === null || demands === null) return true;
  return openedReviewHash({ record, demands }) === opened;
}
