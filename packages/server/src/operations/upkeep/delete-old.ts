/** Deletes what has done its work, page by page, so that nothing grows for ever that need not. Source: decision 0021. */
import { limits } from "@countersign/contract";
import { formatTimestampUs, us_per_day, us_per_second } from "@countersign/core";
import type { Db } from "../../ports.ts";
import { deleteOldTokens } from "../../store/people/person-tokens.ts";
import { deleteOldSessions } from "../../store/people/sessions.ts";
import { deleteOldIdempotencyKeys } from "../../store/rows/idempotency.ts";
import {
  deleteOldDeliveries,
  deleteOldIntakes,
  deleteOldInvitations,
  type PageEnd,
  readAgeLimit,
} from "../../store/upkeep/old-rows.ts";
import type { Runtime } from "../runtime.ts";

/** What is deleted for its age. */
export type Aging = "delivery" | "idempotency_key" | "session" | "token" | "invitation" | "intake";

/** How a pass is made. */
export interface AgingTerms {
  /** Days for which delivered and cancelled deliveries are kept. */
  readonly deliveries_kept_days: number;
  /** Rows of one transaction, kept ones between them included, and transactions for one kind in a pass; the rest is left for the next pass. */
  readonly rows_max: number;
  readonly pages_max: number;
  /** Asked between transactions. */
  readonly stopped: () => boolean;
  readonly deleted: (what: Aging, rows: number) => void;
}

/** The terms that do not depend on a node: 100,000 rows of a kind in a pass, a few milliseconds a page. */
export const aging_pages = { rows_max: 500, pages_max: 200 } as const;

/** Kept an hour longer than promised, so that no clock difference between nodes shortens the promise. */
const idempotency_kept_hours = limits.idempotency_kept_hours_min + 1;
const start: PageEnd = { org_id: "", id: "" };

/**
 * One pass over everything that ages. Two nodes at once share the work, and never delete more than is old. Answers where
 * among the deliveries the next pass goes on: at the start, the failed ones that are kept would be all that it ever sees.
 */
export async function deleteOld(
  { db, clock }: Pick<Runtime, "clock"> & { db: Db },
  terms: AgingTerms,
  from: PageEnd = start,
): Promise<PageEnd> {
  const { rows_max } = terms;
  const now_us = clock.now_us();
  const now = formatTimestampUs(now_us);
  const ago = (kept_us: number) => formatTimestampUs(now_us - kept_us);
  const seen_before = ago(limits.session_idle_seconds * us_per_second);
  const unused_before = ago(limits.intake_kept_days * us_per_day);
  await pages(terms, "idempotency_key", () =>
    db.system((query) => deleteOldIdempotencyKeys(query, now, idempotency_kept_hours)),
  );
  await pages(terms, "session", () => db.system((query) => deleteOldSessions(query, now, seen_before)));
  await pages(terms, "token", () => db.system((query) => deleteOldTokens(query, now)));
  await pages(terms, "invitation", () => db.system((query) => deleteOldInvitations(query, now, rows_max)));
  await pages(terms, "intake", () => db.system((query) => deleteOldIntakes(query, unused_before, rows_max)));
  return deleteSettled(db, terms, from);
}

async function pages(terms: AgingTerms, what: Aging, deletePage: () => Promise<number>): Promise<void> {
  for (let page = 0; page < terms.pages_max && !terms.stopped(); page += 1) {
    const rows = await deletePage();
    if (rows === 0) return;
    terms.deleted(what, rows);
  }
}

/** Ends where another node is at it. */
async function deleteSettled(db: Db, terms: AgingTerms, from: PageEnd): Promise<PageEnd> {
  const limit = await db.system((query) => readAgeLimit(query, terms.deliveries_kept_days * 24));
  let last = from;
  for (let page = 0; page < terms.pages_max && !terms.stopped(); page += 1) {
    const { mine, deleted, end } = await deleteOldDeliveries(db, limit, last, terms.rows_max);
    if (!mine) return last;
    if (deleted > 0) terms.deleted("delivery", deleted);
    if (end === null) return start;
    last = end;
  }
  return last;
}
