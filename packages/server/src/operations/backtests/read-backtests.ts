import type { KeptBacktest, ListedBacktest } from "@countersign/contract";
import { Fault } from "@countersign/core";
import { readKeptBacktest, readKeptBacktests } from "../../store/backtests/kept-backtests.ts";
import { decodeCursor, idPlace, page, pageLimitDefault } from "../../store/rows/cursor.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

const isBacktest = idPlace("backtest");

/** Lists kept backtests, newest first. Faults: invalid_request (cursor). */
export async function listBacktests(
  { db }: Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
  { limit = pageLimitDefault, cursor }: { readonly limit?: number; readonly cursor?: string },
): Promise<{ backtests: ListedBacktest[]; next_cursor: string | null }> {
  const before = decodeCursor(cursor, isBacktest);
  const found = await db.tenant(org_id, (query) => readKeptBacktests(query, org_id, before, limit + 1));
  const { rows, next_cursor } = page(found, limit, (row) => row.backtest_id);
  return { backtests: rows, next_cursor };
}

/** Faults: not_found. */
export async function getBacktest(
  { db }: Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
  backtest_id: string,
): Promise<KeptBacktest> {
  const kept = await db.tenant(org_id, (query) => readKeptBacktest(query, org_id, backtest_id));
  if (kept === undefined) throw new Fault("not_found");
  return kept;
}
