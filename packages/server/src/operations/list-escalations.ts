import type { Escalation } from "@countersign/contract";
import { decodeCursor, idPlace, page } from "../store/cursor.ts";
import { type EscalationFilter, listEscalations as readPage } from "../store/escalations.ts";
import type { Caller } from "./caller.ts";
import type { Page } from "./read-intents.ts";
import type { Runtime } from "./runtime.ts";

const isEscalation = idPlace("escalation");

/** The organization's escalations, newest first; those of test mode only when asked for. Faults: invalid_request (cursor). */
export async function listEscalations(
  runtime: Pick<Runtime, "db">,
  caller: Pick<Caller, "org_id">,
  filter: EscalationFilter,
  limit: number,
  cursor: string | undefined,
): Promise<Page<Escalation>> {
  const before = decodeCursor(cursor, isEscalation);
  const rows = await runtime.db.tenant(caller.org_id, (query) =>
    readPage(query, caller.org_id, filter, before, limit + 1),
  );
  return page(rows, limit, (row) => row.escalation_id);
}
