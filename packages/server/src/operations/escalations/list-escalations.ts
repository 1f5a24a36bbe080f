import type { Escalation } from "@countersign/contract";
import { faultAt, formatTimestampUs } from "@countersign/core";
import type { Query } from "../../ports.ts";
import {
  type EscalationFilter,
  type EscalationPlace,
  listEscalations as readPage,
} from "../../store/escalations/escalations.ts";
import { readStoppedReviews } from "../../store/freezes/freezes.ts";
import { readRotations } from "../../store/keys/keys.ts";
import { decodeCursor, idPlace, type Page, page } from "../../store/rows/cursor.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { standingReviews } from "../people/voting/standing.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { storableUs } from "../shared/storable-time.ts";
import { withFreeze } from "./get-escalation.ts";

const isEscalation = idPlace("escalation");

/**
 * Lists escalations, newest first or in the requested order; test mode only on request. A page of large records is
 * shorter than `limit`. Faults: invalid_request (cursor, an order without `status=pending`).
 */
export async function listEscalations(
  runtime: Pick<Runtime, "db">,
  caller: Pick<Caller, "org_id">,
  filter: EscalationFilter,
  limit: number,
  cursor: string | undefined,
): Promise<Page<Escalation>> {
  if (filter.order !== undefined && filter.status !== "pending") {
    const message = "Only pending escalations are listed in this order: ask with status=pending.";
    throw faultAt("invalid_request", "/order", "not_allowed", message);
  }
  const after = filter.order === undefined ? placeByAge(cursor) : placeByTimeLimit(cursor);
  const { org_id } = caller;
  const { reviewer, ...others } = filter;
  const { rows, more } = await runtime.db.tenant(org_id, async (query) => {
    const reviewers = reviewer === undefined ? null : await namesOf(query, org_id, reviewer);
    const found = await readPage(query, org_id, { ...others, reviewers }, after, limit + 1);
    const pending = found.rows.flatMap(({ record }) => (record.status === "pending" ? [record.escalation_id] : []));
    const stopped = pending.length === 0 ? new Set<string>() : await readStoppedReviews(query, org_id, pending);
    const standing = await standingReviews(query, org_id, found.rows, await databaseNow(query));
    return { rows: standing.map(({ record }) => withFreeze(record, stopped)), more: found.more };
  });
  const placeOf = ({ expires_at, escalation_id }: Escalation) =>
    filter.order === undefined ? escalation_id : `${expires_at} ${escalation_id}`;
  return page(rows, limit, placeOf, more);
}

async function namesOf(query: Query, org_id: string, reviewer: string): Promise<string[]> {
  return [...new Set([reviewer, ...(await readRotations(query, org_id, reviewer.replace(/^user:/, "")))])];
}

function placeByAge(cursor: string | undefined): EscalationPlace | null {
  const escalation_id = decodeCursor(cursor, isEscalation);
  return escalation_id === null ? null : { escalation_id, expires_at: null };
}

/** The id is part of the cursor, because many escalations can expire at the same moment. */
function placeByTimeLimit(cursor: string | undefined): EscalationPlace | null {
  const place = decodeCursor(cursor, (text) => {
    const [expires_at = "", escalation_id = "", ...rest] = text.split(" ");
    return formatTimestampUs(storableUs(expires_at)) === expires_at && isEscalation(escalation_id) && rest.length === 0;
  });
  const [expires_at = "", escalation_id = ""] = place?.split(" ") ?? [];
  return place === null ? null : { escalation_id, expires_at };
}
