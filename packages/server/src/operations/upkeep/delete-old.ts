import { limits } from "@countersign/contract";
import type { Db } from "../../ports.ts";
import { deleteOldBacktests } from "../../store/backtests/kept-backtests.ts";
import {
  deleteEndedEntries,
  deleteEndedKeys,
  organizationsWithEndedKeys,
} from "../../store/counters/ended-counters.ts";
import { lockHead } from "../../store/organizations/heads.ts";
import { deleteOldTokens } from "../../store/people/person-tokens.ts";
import { deleteOldSessions } from "../../store/people/sessions.ts";
import { deleteOldIdempotencyKeys } from "../../store/rows/idempotency.ts";
import { deleteOldTokenUses } from "../../store/tokens/used-tokens.ts";
import {
  type DeletedPage,
  deleteOldDeliveries,
  deleteOldIntakes,
  deleteOldInvitations,
  deleteOldReviewerTimes,
  deleteOldWaits,
  organizationsWithOldDeliveries,
  readAgeLimit,
} from "../../store/upkeep/old-rows.ts";
import { deleteOldHealth } from "../../store/webhooks/webhook-health.ts";

export type Aging =
  | "delivery"
  | "idempotency_key"
  | "session"
  | "token"
  | "invitation"
  | "intake"
  | "wait"
  | "reviewer_time"
  | "token_use"
  | "counter_entry"
  | "counter_key"
  | "webhook_health"
  | "backtest";

export interface PassEnd {
  readonly org_id: string;
  readonly delivery_id: string;
}

export interface AgingTerms {
  /** For delivered and cancelled deliveries. */
  readonly deliveries_kept_days: number;
  /** Rows per transaction; `pages_max`: transactions per kind and pass. The next pass continues. */
  readonly rows_max: number;
  readonly pages_max: number;
  readonly stopped: () => boolean;
  readonly deleted: (what: Aging, rows: number) => void;
}

/** Same on every node: 100,000 rows per kind and pass, a few milliseconds per page. */
export const agingPages = { rows_max: 500, pages_max: 200 } as const;

/** One hour longer than promised, because a key's time is that of its node, whose clock may be behind. */
const idempotency_kept_hours = limits.idempotency_kept_hours_min + 1;
/** Pace figures cover 30 days, and no review is open longer. */
const reviewer_times_kept_days = 31;
const start: PassEnd = { org_id: "", delivery_id: "" };

/**
 * Makes one pass over all expired rows, by database time. Concurrent nodes share the work. Returns where the next pass
 * continues in the deliveries; otherwise it would only meet failed ones, which are kept. See decision 0021.
 */
export async function deleteOld(
  { db }: { readonly db: Db },
  terms: AgingTerms,
  from: PassEnd = start,
): Promise<PassEnd> {
  const { rows_max } = terms;
  await pages(terms, "idempotency_key", () =>
    db.system((query) => deleteOldIdempotencyKeys(query, idempotency_kept_hours)),
  );
  await pages(terms, "session", () => db.system((query) => deleteOldSessions(query)));
  await pages(terms, "token", () => db.system((query) => deleteOldTokens(query)));
  await pages(terms, "invitation", () => db.system((query) => deleteOldInvitations(query, rows_max)));
  await pages(terms, "intake", () => db.system((query) => deleteOldIntakes(query, limits.intake_kept_days, rows_max)));
  await pages(terms, "webhook_health", () => db.system((query) => deleteOldHealth(query, rows_max)));
  await pages(terms, "backtest", () => db.system((query) => deleteOldBacktests(query, rows_max)));
  await pages(terms, "wait", () => db.system((query) => deleteOldWaits(query, rows_max)));
  await pages(terms, "reviewer_time", () =>
    db.system((query) => deleteOldReviewerTimes(query, reviewer_times_kept_days, rows_max)),
  );
  await pages(terms, "token_use", () => db.system((query) => deleteOldTokenUses(query, rows_max)));
  await pages(terms, "counter_entry", () => db.system((query) => deleteEndedEntries(query, rows_max)));
  await pages(terms, "counter_key", () => deleteKeys(db, rows_max));
  return deleteSettled(db, terms, from);
}

async function pages(terms: AgingTerms, what: Aging, deletePage: () => Promise<number>): Promise<void> {
  for (let page = 0; page < terms.pages_max && !terms.stopped(); page += 1) {
    const rows = await deletePage();
    if (rows === 0) return;
    terms.deleted(what, rows);
  }
}

/** Deletes keys of counters, one organization after the other, because the number of keys is in the head. */
async function deleteKeys(db: Db, rows_max: number): Promise<number> {
  const organizations = await db.system((query) => organizationsWithEndedKeys(query, rows_max));
  let count = 0;
  for (const org_id of organizations)
    count += await db.tenant(org_id, async (query) => {
      await lockHead(query, org_id);
      return deleteEndedKeys(query, org_id, rows_max);
    });
  return count;
}

async function deleteSettled(db: Db, terms: AgingTerms, from: PassEnd): Promise<PassEnd> {
  const { deliveries_kept_days, pages_max, rows_max } = terms;
  const [age, organizations] = await db.system(async (query) => {
    const limit = await readAgeLimit(query, deliveries_kept_days * 24);
    // One more than the pages, so that the pass knows where the next one begins.
    return [limit, await organizationsWithOldDeliveries(query, limit, from.org_id, pages_max + 1)] as const;
  });
  let pages_left = pages_max;
  for (const org_id of organizations) {
    for (let after: string | null = org_id === from.org_id ? from.delivery_id : ""; after !== null; pages_left -= 1) {
      if (pages_left === 0 || terms.stopped()) return { org_id, delivery_id: after };
      const { deleted, end }: DeletedPage = await deleteOldDeliveries(db, org_id, age, after, rows_max);
      if (deleted > 0) terms.deleted("delivery", deleted);
      after = end;
    }
  }
  return start;
}
