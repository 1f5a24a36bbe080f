import type { Stream, StreamFormat, StreamTarget } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { seqNear } from "../audit/audit.ts";
import { newestHead } from "../rows/newest-head.ts";

/** Of the target, without its secret. */
export type TargetSettings = Omit<StreamTarget, "kind">;

export interface StreamRow {
  readonly stream_id: string;
  readonly name: string;
  readonly format: StreamFormat;
  readonly target: StreamTarget["kind"];
  readonly settings: TargetSettings;
  readonly secret_sealed: string | null;
  readonly active: boolean;
}

/** A stream as it is stored, with its position. */
export type StoredStream = StreamRow & { readonly seq: number };

/** SQL: the first entry that the stream `s` has not written. */
const next_entry = "select l.at from ledger l where l.org_id = $1 and l.seq > s.seq order by l.seq limit 1";

const shown = `stream_id, name, format, (jsonb_build_object('kind', target) || settings::jsonb)::json as target, active, created_at, created_by,
  (select entries from ${newestHead("$1", "entries")} h)
    - coalesce((select l.entry + 1 from ledger l where l.org_id = $1 and l.seq <= s.seq order by l.seq desc limit 1), 0) as lag_entries,
  coalesce(greatest(0, extract(epoch from statement_timestamp() - (${next_entry})))::integer, 0) as lag_seconds,
  (select l.at from ledger l where l.org_id = $1 and l.seq <= s.seq order by l.seq desc limit 1) as written_to,
  written_at, problem, failing_since`;

/** Newest first. */
export function readStreams(query: Query, org_id: string): Promise<Stream[]> {
  return query<Stream>(`select ${shown} from streams s where org_id = $1 order by stream_id desc`, [org_id]);
}

export async function readStream(query: Query, org_id: string, stream_id: string): Promise<Stream | undefined> {
  const [stream] = await query<Stream>(`select ${shown} from streams s where org_id = $1 and stream_id = $2`, [
    org_id,
    stream_id,
  ]);
  return stream;
}

export async function readStoredStream(
  query: Query,
  org_id: string,
  stream_id: string,
  lock: "" | "for update" = "",
): Promise<StoredStream | undefined> {
  const [stream] = await query<StoredStream>(
    `select stream_id, name, format, target, settings, secret_sealed, active, seq from streams
     where org_id = $1 and stream_id = $2 ${lock}`,
    [org_id, stream_id],
  );
  return stream;
}

export async function countStreams(query: Query, org_id: string): Promise<number> {
  const [row] = await query<{ n: number }>("select count(*)::integer as n from streams where org_id = $1", [org_id]);
  return row?.n ?? 0;
}

/**
 * Returns the position before an hour: the audit record before the first entry of that hour or later. `from` is RFC
 * 3339; null: now. Entries of an hour are the run of entries from the first one of that hour up to the first one of a
 * later hour, because times of nodes differ.
 */
export async function seqBefore(query: Query, org_id: string, from: string | null): Promise<number> {
  const hour = "date_trunc('hour', coalesce($2::timestamptz, statement_timestamp()), 'UTC')";
  const [row] = await query<{ seq: number }>(
    `select coalesce(
       (select l.seq - 1 from ledger l where l.org_id = $1 and l.seq >= ${seqNear(hour, -1)} and l.at >= ${hour} order by l.seq limit 1),
       ${newestHead("$1", "audit_seq")}, 0) as seq`,
    [org_id, from],
  );
  return row?.seq ?? 0;
}

export async function insertStream(
  query: Query,
  org_id: string,
  row: StreamRow & { readonly created_at: string; readonly created_by: string | null; readonly seq: number },
): Promise<void> {
  await query(
    `insert into streams (org_id, stream_id, name, format, target, settings, secret_sealed, active, created_at, created_by, seq, due_at)
     values ($1, $2, $3, $4, $5, $6::json, $7, $8::boolean, $9::timestamptz, $10, $11::bigint, now())`,
    [
      ...[org_id, row.stream_id, row.name, row.format, row.target, JSON.stringify(row.settings), row.secret_sealed],
      ...[row.active, row.created_at, row.created_by, row.seq],
    ],
  );
}

/** A node that writes stores nothing more. `back`: hours after the position are written again. */
export async function updateStream(query: Query, org_id: string, row: StoredStream, back: boolean): Promise<void> {
  await query(
    `update streams set name = $3, settings = $4::json, secret_sealed = $5, active = $6::boolean, seq = $7::bigint, turn = turn + 1,
       due_at = now(), attempts = 0, problem = null, failing_since = null
     where org_id = $1 and stream_id = $2`,
    [org_id, row.stream_id, row.name, JSON.stringify(row.settings), row.secret_sealed, row.active, row.seq],
  );
  if (back)
    await query(
      "update stream_hours set closed = false where org_id = $1 and stream_id = $2 and ends[cardinality(ends)] > $3::bigint",
      [org_id, row.stream_id, row.seq],
    );
}

export async function deleteStream(query: Query, org_id: string, stream_id: string): Promise<boolean> {
  await query("delete from stream_hours where org_id = $1 and stream_id = $2", [org_id, stream_id]);
  const deleted = await query("delete from streams where org_id = $1 and stream_id = $2 returning true as deleted", [
    org_id,
    stream_id,
  ]);
  return deleted.length > 0;
}

export interface LateStream extends Pick<Stream, "stream_id" | "name" | "problem"> {
  readonly lag_seconds: number;
  readonly since: string;
}

/** Returns active streams whose oldest unwritten entry has this age, the latest first. */
export function readLateStreams(
  query: Query,
  org_id: string,
  behind_seconds: number,
  limit: number,
): Promise<LateStream[]> {
  return query<LateStream>(
    `select s.stream_id, s.name, s.problem, extract(epoch from statement_timestamp() - n.at)::integer as lag_seconds, n.at as since
     from streams s cross join lateral (${next_entry}) n
     where s.org_id = $1 and s.active and n.at <= statement_timestamp() - make_interval(secs => $2::integer)
     order by n.at limit $3::integer`,
    [org_id, behind_seconds, limit],
  );
}

/** Binds the sealed secret to this stream. */
export function streamContext(org_id: string, stream_id: string): string {
  return `${org_id} streams ${stream_id} secret`;
}
