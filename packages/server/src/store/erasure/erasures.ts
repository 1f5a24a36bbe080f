/** SQL for erasures, which are jobs, and for legal holds. */
import type { Erasure, ErasureCounts, LegalHold } from "@countersign/contract";
import type { Query } from "../../ports.ts";

export interface ErasureRow {
  readonly org_id: string;
  readonly erasure_id: string;
  readonly kind: Erasure["kind"];
  /** Null: the erasure is done. */
  readonly subject_sealed: string | null;
  readonly subject_sha256: string;
  readonly status: "running" | "done";
  /** The ledger is read up to here, of `to_seq`. */
  readonly seq: number;
  readonly to_seq: number;
  /** Deliveries are read up to here; null: the ledger comes first. */
  readonly delivery_id: string | null;
  readonly counts: ErasureCounts;
  readonly requested_by: string;
  readonly created_at: string;
  readonly done_at: string | null;
}

export function subjectContext(org_id: string, erasure_id: string): string {
  return `erasure ${org_id} ${erasure_id}`;
}

const columns = `org_id, erasure_id, kind, subject_sealed, subject_sha256, status, seq, to_seq, delivery_id, counts, requested_by,
  created_at, done_at`;

export async function insertErasure(query: Query, row: ErasureRow): Promise<void> {
  await query(
    `insert into erasures (org_id, erasure_id, kind, subject_sealed, subject_sha256, status, seq, to_seq, counts, requested_by, created_at)
     values ($1, $2, $3, $4, $5, 'running', $6::bigint, $7::bigint, $8::json, $9, $10::timestamptz)`,
    [
      ...[row.org_id, row.erasure_id, row.kind, row.subject_sealed, row.subject_sha256, row.seq, row.to_seq],
      ...[JSON.stringify(row.counts), row.requested_by, row.created_at],
    ],
  );
}

/** Locks the job until the transaction ends, so that two nodes do not count the same page twice. */
export async function lockErasure(query: Query, org_id: string, erasure_id: string): Promise<ErasureRow | undefined> {
  const [row] = await query<ErasureRow>(
    `select ${columns} from erasures where org_id = $1 and erasure_id = $2 for update`,
    [org_id, erasure_id],
  );
  return row;
}

export async function readErasure(query: Query, org_id: string, erasure_id: string): Promise<ErasureRow | undefined> {
  const [row] = await query<ErasureRow>(`select ${columns} from erasures where org_id = $1 and erasure_id = $2`, [
    org_id,
    erasure_id,
  ]);
  return row;
}

/** Newest first, older than `before`. */
export function listErasures(
  query: Query,
  org_id: string,
  before: string | null,
  limit: number,
): Promise<ErasureRow[]> {
  return query<ErasureRow>(
    `select ${columns} from erasures where org_id = $1 and ($2::text is null or erasure_id < $2)
     order by erasure_id desc limit $3::integer`,
    [org_id, before, limit],
  );
}

/** Running ones of all organizations. System scope. */
export function listRunningErasures(
  query: Query,
  limit: number,
): Promise<{ readonly org_id: string; readonly erasure_id: string }[]> {
  return query(
    "select org_id, erasure_id from erasures where status = 'running' order by erasure_id limit $1::integer",
    [limit],
  );
}

/** A done erasure loses its subject. */
export async function writeErasureProgress(
  query: Query,
  { org_id, erasure_id, status, seq, delivery_id, counts, done_at }: ErasureRow,
): Promise<void> {
  await query(
    `update erasures set status = $3, seq = $4::bigint, delivery_id = $5, counts = $6::json, done_at = $7::timestamptz,
       subject_sealed = case when $3 = 'running' then subject_sealed end
     where org_id = $1 and erasure_id = $2`,
    [org_id, erasure_id, status, seq, delivery_id, JSON.stringify(counts), done_at],
  );
}

const hold_columns = "hold_id, kind, nullif(subject, '') as subject, reason, placed_by, placed_at";

export async function insertHold(query: Query, org_id: string, hold: LegalHold): Promise<void> {
  await query(
    `insert into legal_holds (org_id, hold_id, kind, subject, reason, placed_by, placed_at)
     values ($1, $2, $3, $4, $5, $6, $7::timestamptz)`,
    [org_id, hold.hold_id, hold.kind, hold.subject ?? "", hold.reason, hold.placed_by, hold.placed_at],
  );
}

/** Newest first, older than `before`. */
export function listHolds(query: Query, org_id: string, before: string | null, limit: number): Promise<LegalHold[]> {
  return query<LegalHold>(
    `select ${hold_columns} from legal_holds where org_id = $1 and ($2::text is null or hold_id < $2)
     order by hold_id desc limit $3::integer`,
    [org_id, before, limit],
  );
}

export async function deleteHold(query: Query, org_id: string, hold_id: string): Promise<boolean> {
  const deleted = await query("delete from legal_holds where org_id = $1 and hold_id = $2 returning true as deleted", [
    org_id,
    hold_id,
  ]);
  return deleted.length > 0;
}

/** Returns the hold on everything or on this subject; null: none. */
export async function holdOnSubject(
  query: Query,
  org_id: string,
  kind: string,
  subject: string,
): Promise<string | null> {
  const [held] = await query<{ hold_id: string }>(
    `select hold_id from legal_holds where org_id = $1 and (kind = 'all' or kind = $2 and subject = $3) order by hold_id limit 1`,
    [org_id, kind, subject],
  );
  return held?.hold_id ?? null;
}

export async function countHolds(query: Query, org_id: string): Promise<number> {
  const [row] = await query<{ n: number }>("select count(*)::integer as n from legal_holds where org_id = $1", [
    org_id,
  ]);
  return row?.n ?? 0;
}
