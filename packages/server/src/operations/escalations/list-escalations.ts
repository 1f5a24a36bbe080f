import type { Escalation } from "@countersign/contract";
import { faultAt, formatTimestampUs } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { type EscalationFilter, listEscalations as readPage } from "../../store/escalations/escalations.ts";
import type { EscalationOrder, EscalationPlace } from "../../store/escalations/queue-order.ts";
import { readStoppedReviews } from "../../store/freezes/freezes.ts";
import { readRotations } from "../../store/keys/keys.ts";
import { decodeCursor, idPlace, type Page, page } from "../../store/rows/cursor.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { identityOf } from "../people/identity.ts";
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
  caller: Pick<Caller, "org_id" | "lineage_id">,
  filter: EscalationFilter,
  limit: number,
  cursor: string | undefined,
): Promise<Page<Escalation>> {
  if (filter.order !== undefined && filter.status !== "pending") {
    const message = "Only pending escalations are listed in this order: ask with status=pending.";
    throw faultAt("invalid_request", "/order", "not_allowed", message);
  }
  const after = filter.order === undefined ? placeByAge(cursor) : placeByKey(cursor, filter.order);
  const { org_id, lineage_id } = caller;
  const { reviewer, ...others } = filter;
  const keys = new Map<string, string>();
  const { rows, more } = await runtime.db.tenant(org_id, async (query) => {
    const reviewers = reviewer === undefined ? null : await namesOf(query, org_id, reviewer);
    const asks_who = filter.snoozed !== undefined || filter.mine !== undefined;
    const person = !asks_who ? null : (await identityOf(query, org_id, lineage_id)).person;
    const found = await readPage(query, org_id, { ...others, ...timesOf(filter), reviewers, person }, after, limit + 1);
    for (const { record, sort_key } of found.rows) keys.set(record.escalation_id, sort_key);
    const pending = found.rows.flatMap(({ record }) => (record.status === "pending" ? [record.escalation_id] : []));
    const stopped = pending.length === 0 ? new Set<string>() : await readStoppedReviews(query, org_id, pending);
    const standing = await standingReviews(query, org_id, found.rows, await databaseNow(query));
    return { rows: standing.map(({ record }) => withFreeze(record, stopped)), more: found.more };
  });
  const placeOf = ({ escalation_id }: Escalation) =>
    filter.order === undefined ? escalation_id : `${keys.get(escalation_id) ?? ""} ${escalation_id}`;
  return page(rows, limit, placeOf, more);
}

function timesOf({ from, to }: Pick<EscalationFilter, "from" | "to">): Pick<EscalationFilter, "from" | "to"> {
  return {
    ...(from !== undefined && { from: formatTimestampUs(storableUs(from)) }),
    ...(to !== undefined && { to: formatTimestampUs(storableUs(to)) }),
  };
}

async function namesOf(query: Query, org_id: string, reviewer: string): Promise<string[]> {
  return [...new Set([reviewer, ...(await readRotations(query, org_id, reviewer.replace(/^user:/, "")))])];
}

function placeByAge(cursor: string | undefined): EscalationPlace | null {
  const escalation_id = decodeCursor(cursor, isEscalation);
  return escalation_id === null ? null : { escalation_id, key: null };
}

/** The id is part of the cursor, because many escalations can have the same key. It comes last, because names may contain spaces. */
function placeByKey(cursor: string | undefined, order: EscalationOrder): EscalationPlace | null {
  const place = decodeCursor(cursor, (text) => {
    const { escalation_id, key } = parted(text);
    return isEscalation(escalation_id) && isKey(order, key);
  });
  return place === null ? null : parted(place);
}

function parted(place: string) {
  const at = place.lastIndexOf(" ");
  return { escalation_id: place.slice(at + 1), key: place.slice(0, Math.max(0, at)) };
}

function isKey(order: EscalationOrder, key: string): boolean {
  if (order === "amount_usd") return key === "" || /^[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]{1,3})?$/.test(key);
  if (order === "expires_at" || order === "created_at") return formatTimestampUs(storableUs(key)) === key;
  return !key.includes("\0");
}
