import { type Backtest, type KeptBacktest, type ListedBacktest, limits } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { byOrganization } from "../rows/by-organization.ts";

const about = "backtest_id, created_at, created_by, expires_at";

export type BacktestSummary = Omit<ListedBacktest, "backtest_id" | "created_at" | "created_by" | "expires_at">;

interface KeptRow extends Omit<KeptBacktest, "expires_at"> {
  /** The version of a policy that the backtest tried alone on all traffic of some days. Null: another candidate. */
  readonly policy_sha256: string | null;
  readonly summary: BacktestSummary;
}

/** Stores a backtest, and deletes the oldest ones of the organization above the limit. Call under the head's lock. */
export async function insertKeptBacktest(query: Query, org_id: string, kept: KeptRow): Promise<void> {
  const { backtest_id, created_at, created_by, policy_sha256, summary, input, result } = kept;
  await query(
    `insert into backtests (org_id, backtest_id, created_at, created_by, expires_at, policy_sha256, summary, input, result)
     values ($1, $2, $3::timestamptz, $4, $3::timestamptz + make_interval(days => $5::integer), $6, $7::json, $8::json, $9::json)`,
    [
      ...[org_id, backtest_id, created_at, created_by, limits.backtest_kept_days, policy_sha256],
      ...[summary, input, result].map((each) => JSON.stringify(each)),
    ],
  );
  await query(
    `delete from backtests where org_id = $1 and backtest_id = any (array(
       select backtest_id from backtests where org_id = $1 order by created_at desc, backtest_id desc offset $2::integer))`,
    [org_id, limits.backtests_kept_max],
  );
}

/** Newest first, older than `before`. */
export async function readKeptBacktests(
  query: Query,
  org_id: string,
  before: string | null,
  limit: number,
): Promise<ListedBacktest[]> {
  const rows = await query<Omit<ListedBacktest, keyof BacktestSummary> & { readonly summary: BacktestSummary }>(
    `select ${about}, summary from backtests where org_id = $1 and expires_at > now() and ($2::text is null or backtest_id < $2)
     order by backtest_id desc limit $3::integer`,
    [org_id, before, limit],
  );
  return rows.map(({ summary, ...row }) => ({ ...row, ...summary }));
}

export async function readKeptBacktest(
  query: Query,
  org_id: string,
  backtest_id: string,
): Promise<KeptBacktest | undefined> {
  const [row] = await query<KeptBacktest>(
    `select ${about}, input, result from backtests where org_id = $1 and backtest_id = $2 and expires_at > now()`,
    [org_id, backtest_id],
  );
  return row;
}

/** Returns the newest backtest of a version that is not older than `hours`; undefined: there is none. */
export async function readBacktestOfVersion(
  query: Query,
  org_id: string,
  policy_sha256: string,
  hours: number,
): Promise<{ readonly created_at: string; readonly result: Backtest } | undefined> {
  const [row] = await query<{ created_at: string; result: Backtest }>(
    `select created_at, result from backtests where org_id = $1 and policy_sha256 = $2
       and created_at > now() - make_interval(hours => $3::integer) order by created_at desc, backtest_id desc limit 1`,
    [org_id, policy_sha256, hours],
  );
  return row;
}

/** Deletes up to `rows` expired backtests. System scope. */
export async function deleteOldBacktests(query: Query, rows: number): Promise<number> {
  const expired = await query<{ org_id: string; backtest_id: string }>(
    "select org_id, backtest_id from backtests where expires_at <= now() limit $1::integer",
    [rows],
  );
  let count = 0;
  for (const [org_id, backtests] of byOrganization(expired)) {
    const deleted = await query(
      `delete from backtests where org_id = $1 and backtest_id = any($2::text[]) and expires_at <= now()
       returning true as deleted`,
      [org_id, backtests.map(({ backtest_id }) => backtest_id)],
    );
    count += deleted.length;
  }
  return count;
}
