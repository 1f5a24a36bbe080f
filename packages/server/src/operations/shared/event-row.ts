import { type EventFacts, eventDraftText, formatTimestampUs } from "@countersign/core";
import type { Ids } from "../../ports.ts";
import type { EventRow } from "../../store/commit/commit-writer-rows.ts";

/**
 * Returns the event row to commit with a change. `membrane_id`: see `EventRow`. Throws TypeError if `data` is not
 * JSON.
 */
export function eventRow(ids: Ids, event: EventFacts, membrane_id?: string): EventRow {
  return {
    event_id: ids.next("event"),
    event_type: event.event_type,
    intent_id: event.intent_id ?? null,
    decision_id: event.decision_id ?? null,
    escalation_id: event.escalation_id ?? null,
    ...(membrane_id !== undefined && { membrane_id }),
    body: eventDraftText(event),
    created_at: formatTimestampUs(event.at_us),
  };
}
