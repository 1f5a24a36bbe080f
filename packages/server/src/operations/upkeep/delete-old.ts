/** Deletes rows that are no longer needed, page by page. Source: decision 0021. */
import { limits } from "@countersign/contract";
import type { Db } from "../../ports.ts";
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

/** Kinds of rows that are deleted for their age. */
export type Aging =
  | "delivery"
  | "idempotency_key"
  | "session"
  | "token"
  | "invitation"
  | "intake"
  | "wait"
  | "reviewer_time"
  | "token_use";

/** Where a pass ended among the deliveries. */
export interface PassEnd {
  readonly org_id: string;
  /** The last delivery that was looked at. */
  readonly delivery_id: string;
}

/** How a pass is made. */
export interface AgingTerms {
  /** Days for which delivered and cancelled deliveries are kept. */
  readonly deliveries_kept_days: number;
  /** Rows that one transaction looks at, and transactions for one kind in a pass. The rest is left for the next pass. */
  readonly rows_max: number;
  readonly pages_max: number;
  /** Asked between transactions. */
  readonly stopped: () => boolean;
  readonly deleted: (what: Aging, rows: number) => void;
}

/** The terms that are the same on every node: 100,000 rows of a kind in a pass, a few milliseconds a page. */
export const agingPages = { rows_max: 500, pages_max: 200 } as const;

/** Kept an hour longer than promised: a key has the time of the node that wrote it, whose clock may be behind the database's. */
const idempotency_kept_hours = limits.idempotency_kept_hours_min + 1;
/** Figures of pace look back 30 days, and no review is open for longer. */
const reviewer_times_kept_days = 31;
const start: PassEnd = { org_id: "", delivery_id: "" };

/**
 * Makes one pass over everything that ages, by the database's time. Two nodes at once share the work. Returns where among the
 * deliveries the next pass must continue: from the start it would only ever see the failed ones, which are kept.
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
  await pages(terms, "wait", () => db.system((query) => deleteOldWaits(query, rows_max)));
  await pages(terms, "reviewer_time", () =>
    db.system((query) => deleteOldReviewerTimes(query, reviewer_times_kept_days, rows_max)),
  );
  await pages(terms, "token_use", () => db.system((query) => deleteOldTokenUses(query, rows_max)));
  return deleteSettled(db, terms, from);
}

async function pages(terms: AgingTerms, what: Aging, deletePage: () => Promise<number>): Promise<void> {
  for (let page = 0; page < terms.pages_max && !terms.stopped(); page += 1) {
    const rows = await deletePage();
    if (rows === 0) return;
    terms.deleted(what, rows);
  }
}

/** Pages through the organizations. Each page is of one organization, and the pages of a pass are bounded over all. */
async function deleteSettled(db: Db, terms: AgingTerms, from: PassEnd): Promise<PassEnd> {
  const { deliveries_kept_days, pages_max, rows_max } = terms;
  const [age, organizations] = await db.system(async (query) => {
    const limit = await readAgeLimit(query, deliveries_kept_days * 24);
    // One more than the pages can reach, so that the pass knows where the next one begins.
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
