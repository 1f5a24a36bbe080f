import type { OrgAuditRecord } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { type MaybeErased, type StoredAudit, trail_columns, withoutNull } from "../audit/audit.ts";
import { readBounded } from "../rows/bounded-page.ts";

export type StreamedRecord = StoredAudit<OrgAuditRecord> & { readonly entry_seq: number };

/** Records of whole entries, in order. */
export interface EntryPage {
  readonly records: readonly StreamedRecord[];
  /** False: an entry of a later hour, or `to`, follows. */
  readonly more: boolean;
}

/**
 * Reads whole entries after `after` up to `to`, at most `limit`, at least one if there is one. `hour` is RFC 3339: the
 * page ends before the first entry of a later hour; null: entries of any hour.
 */
export async function readEntryPage(
  query: Query,
  org_id: string,
  { after, to, hour, limit }: { after: number; to: number; hour: string | null; limit: number },
): Promise<EntryPage> {
  const { rows: entries, more } = await readBounded<{ seq: number; later: boolean }>(
    query,
    {
      columns: "seq, coalesce(at >= $5::timestamptz + interval '1 hour', false) as later",
      bytes: "coalesce(octet_length(data::text), 0) + coalesce(octet_length(intent::text), 0)",
      from: "from ledger where org_id = $1 and seq > $2::bigint and seq <= $3::bigint",
      order: "seq",
      limit: "$4::integer",
    },
    [org_id, after, to, limit, hour],
  );
  const end = entries.findIndex(({ later }) => later);
  const own = end === -1 ? entries : entries.slice(0, end);
  const last = own.at(-1);
  if (last === undefined) return { records: [], more: false };
  const records = await query<StreamedRecord & MaybeErased>(
    `select ${trail_columns}, entry_seq from audit where org_id = $1 and entry_seq > $2::bigint and entry_seq <= $3::bigint
     order by entry_seq, seq`,
    [org_id, after, last.seq],
  );
  return { records: records.map(withoutNull), more: end === -1 && (more || entries.length === limit) && last.seq < to };
}
