/** SQL of the reconciler that keeps the log (decision 0063). */
import type { FullTile, TreeHead } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { newestHead } from "../rows/newest-head.ts";
import type { SignedCheckpoint } from "./read-checkpoint.ts";

/** Why no checkpoint is signed. `shrunk`: the ledger or the log lost entries. `changed`: entries or the log are others. */
export type LogProblem = "shrunk" | "changed";

export interface LogState extends SignedCheckpoint {
  readonly seq: number;
  readonly tiled_seq: number;
  readonly problem: LogProblem | null;
}

/** Locks the log. Null: there is none, or another node works on it. */
export async function lockLog(query: Query, org_id: string): Promise<LogState | null> {
  const [row] = await query<LogState>(
    `select origin, size, root, note, signed_at, seq, tiled_seq, problem from logs where org_id = $1 for update skip locked`,
    [org_id],
  );
  return row ?? null;
}

/** Returns false if the log exists. */
export async function createLog(
  query: Query,
  org_id: string,
  { origin, size, root, note, signed_at }: SignedCheckpoint,
): Promise<boolean> {
  const created = await query(
    `insert into logs (org_id, origin, size, root, note, signed_at, seq, tiled_seq)
     values ($1, $2, $3::bigint, $4::bytea, $5, $6::timestamptz, 0, 0) on conflict do nothing returning true as created`,
    [org_id, origin, size, root, note, signed_at],
  );
  return created.length > 0;
}

export interface Leaves {
  /** Of the ledger. */
  readonly entries: number;
  readonly count: number;
  /** The entry of the first leaf. Null without leaves. */
  readonly first: number | null;
  /** Of the last leaf, and of the last one that fills a tile. Null: none. */
  readonly seq: number | null;
  readonly tiled_seq: number | null;
  readonly without_gap: boolean;
  readonly hashes: Buffer | null;
}

/** Reads up to `limit` leaves that are in no full tile. The page is sorted, so the hashes are joined without a second sort. */
export async function readLeaves(query: Query, org_id: string, tiled_seq: number, limit: number): Promise<Leaves> {
  const [leaves] = await query<Leaves>(
    `with head as materialized (select audit_seq, entries from ${newestHead("$1", "audit_seq, entries")} h),
     page as (
       select seq, entry, hash, entry - row_number() over (order by seq) as from_first from ledger
       where org_id = $1 and seq > $2::bigint and seq <= (select audit_seq from head) order by seq limit $3::integer)
     select (select entries from head) as entries, count(*) as count, min(entry) as first, max(seq) as seq,
       max(seq) filter (where entry % 256 = 255) as tiled_seq,
       coalesce(min(from_first) = max(from_first) and min(octet_length(hash)) = 32 and max(octet_length(hash)) = 32, true) as without_gap,
       string_agg(hash, ''::bytea) as hashes
     from page`,
    [org_id, tiled_seq, limit],
  );
  return leaves as Leaves;
}

export async function saveCheckpoint(
  query: Query,
  org_id: string,
  { size, root, note, signed_at, seq, tiled_seq }: Omit<LogState, "origin" | "problem">,
  tiles: readonly FullTile[],
): Promise<void> {
  await query(
    `with put as (
       insert into log_tiles (org_id, level, tile, hash, hashes)
       select $1, level, tile, hash, hashes
       from unnest($8::smallint[], $9::bigint[], $10::bytea[], $11::bytea[]) t (level, tile, hash, hashes))
     update logs set size = $2::bigint, root = $3::bytea, note = $4, signed_at = $5::timestamptz, seq = $6::bigint, tiled_seq = $7::bigint,
       problem = null, problem_at = null
     where org_id = $1`,
    [
      ...[org_id, size, root, note, signed_at, seq, tiled_seq],
      ...[tiles.map(({ level }) => level), tiles.map(({ index }) => index)],
      ...[tiles.map(({ hash }) => hash), tiles.map(({ hashes }) => hashes)],
    ],
  );
}

export async function saveProblem(query: Query, org_id: string, problem: LogProblem | null): Promise<void> {
  await query(
    `update logs set problem = $2::text, problem_at = case when $2::text is not null then statement_timestamp() end where org_id = $1`,
    [org_id, problem],
  );
}

export interface LogProgress extends TreeHead {
  readonly org_id: string;
  /** Of the organization's head. */
  readonly head_seq: number;
  /** Null: no log yet. */
  readonly seq: number | null;
  readonly problem: LogProblem | null;
}

/** Returns the progress of organizations, by id. System scope. */
export async function readLogPage(query: Query, after: string, limit: number): Promise<LogProgress[]> {
  const heads = await query<{ org_id: string; head_seq: number }>(
    `select org_id, max(audit_seq) as head_seq from org_heads where org_id > $1 group by org_id order by org_id limit $2::integer`,
    [after, limit],
  );
  const logs = await query<Omit<LogProgress, "head_seq">>(
    "select org_id, size, root, seq, problem from logs where org_id = any ($1::text[])",
    [heads.map(({ org_id }) => org_id)],
  );
  const known = new Map(logs.map((log) => [log.org_id, log]));
  const none = { size: 0, root: Buffer.alloc(0), seq: null, problem: null };
  return heads.map(({ org_id, head_seq }) => ({ ...none, ...known.get(org_id), org_id, head_seq }));
}

export interface StoppedLog {
  readonly problem: LogProblem;
  readonly since: string;
}

/** Null: checkpoints are signed. */
export async function readLogProblem(query: Query, org_id: string): Promise<StoppedLog | null> {
  const [row] = await query<StoppedLog>(
    "select problem, problem_at as since from logs where org_id = $1 and problem is not null",
    [org_id],
  );
  return row ?? null;
}
