import type { Query } from "../../ports.ts";
import { newestHead } from "../rows/newest-head.ts";

export type ReviewsFinding =
  | { readonly sound: true; readonly reviews: number }
  | {
      readonly sound: false;
      readonly intent_id: string;
      readonly seq: number;
      readonly problem: "review_changed";
    };

const page_rows = 200;

/** SQL for `recordHash`. */
const record_sha256 = `encode(sha256(convert_to(e.resolution::text || U&'\\001e' || e.record::text, 'UTF8')), 'hex')`;

/** A review is closed exactly if the ledger has the entry that closed it. */
const statement = `select l.seq as place, l.intent_id, coalesce(closed.seq, l.seq) as seq,
    case when closed.seq is null then e.status is distinct from 'pending' or e.resolution is not null
      else e.status is not distinct from 'pending' or e.status is distinct from e.record ->> 'status'
        or closed.hash is distinct from ${record_sha256} end as changed
  from ledger l
  left join escalations e on e.org_id = l.org_id and e.escalation_id = l.escalation_id
  left join lateral (select c.seq, c.data ->> 'record_sha256' as hash from ledger c
    where c.org_id = l.org_id and c.intent_id = coalesce(e.intent_id, l.intent_id) and c.type in ('reviewed', 'timed_out', 'cancelled')
      and c.type <> 'decided' order by c.seq limit 1) closed on true
  where l.org_id = $1 and l.escalation_id is not null and l.seq > $2::bigint and l.seq <= $3::bigint
  order by l.seq limit ${page_rows}`;

/** Needs `verifyAudit` to run first, because this check relies on the ledger. Locks nothing. */
export async function verifyReviews(
  query: Query,
  org_id: string,
  told?: (reviews: number) => void,
): Promise<ReviewsFinding> {
  const [head] = await query<{ audit_seq: number }>(newestHead("$1", "audit_seq"), [org_id]);
  let reviews = 0;
  for (let after = 0; head !== undefined; ) {
    const rows = await query<{ place: number; intent_id: string; seq: number; changed: boolean }>(statement, [
      ...[org_id, after, head.audit_seq],
    ]);
    for (const { place, intent_id, seq, changed } of rows) {
      if (changed) return { sound: false, intent_id, seq, problem: "review_changed" };
      after = place;
    }
    if (rows.length === 0) break;
    reviews += rows.length;
    told?.(reviews);
  }
  return { sound: true, reviews };
}
