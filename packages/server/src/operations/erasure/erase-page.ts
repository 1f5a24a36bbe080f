/** Erases one page: some intents with all that belongs to them, or some entries without an intent. See decision 0065. */
import type { Erased, ErasureCounts } from "@countersign/contract";
import { type KeptDocuments, keptChange, keptDecision, keptResolution, keptReview } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { type AuditEntry, auditRow } from "../../store/audit/audit.ts";
import {
  eraseAnswers,
  eraseBacktests,
  eraseCounterKeys,
  eraseEvents,
  eraseGrants,
  eraseOverrides,
  readReviewsOf,
  type StillActive,
  writeErasedReviews,
} from "../../store/erasure/erase-attached.ts";
import {
  eraseEntries,
  readEntriesBySeq,
  readErasable,
  readWholeEntries,
  type WholeEntry,
} from "../../store/erasure/erase-entries.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { cancelReviews } from "../escalations/review-steps.ts";
import type { Runtime } from "../runtime.ts";

/** Who erases: an actor, or `retention`. */
export type Eraser = Omit<Erased, "at">;

export const noCounts: ErasureCounts = {
  ...{ intents: 0, entries: 0, reviews: 0, overrides: 0, grants: 0, answers: 0, backtests: 0, counters: 0, facts: 0 },
  ...{ addresses: 0, deliveries: 0, held: 0 },
};

export function addCounts(a: ErasureCounts, b: Partial<ErasureCounts>): ErasureCounts {
  const sum = { ...a };
  for (const name of Object.keys(a) as (keyof ErasureCounts)[]) sum[name] += b[name] ?? 0;
  return sum;
}

/**
 * Erases intents, and those of the same reviews, unless a legal hold is about one of them. Open reviews are closed as blocked
 * first. Locks the head, so call it with few intents.
 */
export async function eraseIntents(
  runtime: Pick<Runtime, "ids">,
  query: Query,
  org_id: string,
  intent_ids: readonly string[],
  eraser: Eraser,
): Promise<ErasureCounts> {
  const head = await lockHead(query, org_id);
  const found = await readErasable(query, org_id, intent_ids);
  const free = found.filter(({ held }) => !held);
  const held = found.length - free.length;
  if (free.length === 0) return { ...noCounts, held };
  const ids = free.map(({ intent_id }) => intent_id);
  const escalation_ids = [
    ...new Set(free.flatMap(({ escalation_id }) => (escalation_id === null ? [] : [escalation_id]))),
  ];
  const at = await databaseNow(query);
  const erased: Erased = { at, ...eraser };
  const closing = { kind: "cancel", by: eraser.by, comment: null, at } as const;
  const closed = await cancelReviews(runtime, query, org_id, escalation_ids, closing);
  const overrides = await eraseOverrides(query, org_id, ids);
  const grants = await eraseGrants(query, org_id, ids, null);
  const audit = [
    ...closed.audit,
    ...revokedRows(runtime, "override_revoked", overrides.revoked, erased),
    ...revokedRows(runtime, "grant_revoked", grants.revoked, erased),
    erasedRow(runtime, erased, { intents: ids, entries: [] }),
  ];
  await changeHead(query, head, { audit, events: closed.events });

  const entries = await readWholeEntries(query, org_id, ids);
  await eraseEntries(
    query,
    org_id,
    entries.map((entry) => ({ seq: entry.seq, kept: keptOf(entry, erased) })),
  );
  const reviews = (await readReviewsOf(query, org_id, escalation_ids)).map(({ escalation_id, record, resolution }) => ({
    escalation_id,
    record: keptReview(record, erased),
    resolution: resolution === null ? null : keptResolution(resolution),
  }));
  await writeErasedReviews(query, org_id, reviews);
  await eraseEvents(query, org_id, reviews);
  return {
    ...noCounts,
    intents: ids.length,
    entries: entries.length - ids.length,
    reviews: reviews.length,
    overrides: overrides.count,
    grants: grants.count,
    answers: await eraseAnswers(query, org_id, ids),
    backtests: await eraseBacktests(query, org_id, ids),
    counters: await eraseCounterKeys(query, org_id, ids, []),
    held,
  };
}

/** Erases the data of entries without an intent. */
export async function eraseOtherEntries(
  runtime: Pick<Runtime, "ids">,
  query: Query,
  org_id: string,
  seqs: readonly number[],
  eraser: Eraser,
): Promise<ErasureCounts> {
  const head = await lockHead(query, org_id);
  const entries = await readEntriesBySeq(query, org_id, seqs);
  if (entries.length === 0) return noCounts;
  const erased: Erased = { at: await databaseNow(query), ...eraser };
  const named = entries.map(({ seq }) => seq);
  await changeHead(query, head, { audit: [erasedRow(runtime, erased, { intents: [], entries: named })] });
  await eraseEntries(
    query,
    org_id,
    entries.map(({ seq, data }) => ({ seq, kept: keptChange(data, erased) })),
  );
  return { ...noCounts, entries: entries.length };
}

function keptOf({ intent, facts, data }: WholeEntry, erased: Erased): KeptDocuments {
  return intent === null || facts === null ? keptChange(data, erased) : keptDecision({ intent, facts, data }, erased);
}

/** The entry of the ledger that names what was erased, so that nobody can erase in secret. */
function erasedRow(
  { ids }: Pick<Runtime, "ids">,
  { at, by, erasure_id }: Erased,
  named: { readonly intents: readonly string[]; readonly entries: readonly number[] },
) {
  const actor = erasure_id === null ? "system" : by;
  return auditRow(ids, { intent_id: null, at, actor, type: "content_erased", data: { erasure_id, by, ...named } });
}

export function revokedRows(
  { ids }: Pick<Runtime, "ids">,
  type: Extract<AuditEntry["type"], "override_revoked" | "grant_revoked">,
  revoked: readonly StillActive[],
  { at, by }: Erased,
) {
  const member = type === "grant_revoked" ? "grant_id" : "override_id";
  return revoked.map(({ id, intent_id }) =>
    auditRow(ids, { intent_id, at, actor: "system", type, data: { [member]: id, person: by } }),
  );
}
