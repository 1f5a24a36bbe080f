import type { EventBody, EventType } from "@countersign/contract";
import { formatTimestampUs } from "../time.ts";
import { eventJson } from "../values/canonical-json.ts";

/** An event before its webhooks are known. Omitted fields are null in the body. */
export interface EventFacts {
  readonly event_type: EventType;
  readonly organization_id: string;
  readonly at_us: number;
  readonly data: Readonly<Record<string, unknown>>;
  readonly intent_id?: string;
  readonly decision_id?: string;
  readonly escalation_id?: string;
  readonly escalation_status?: EventBody["escalation_status"];
}

/**
 * Returns the event without `webhook_id` as it is stored: canonical JSON text of eleven of the twelve keys, null where
 * unset. The twelfth sorts last. The dispatch statement appends it, and the result has the bytes of `eventBodyText`.
 * Throws TypeError if `data` contains a value that JSON cannot represent.
 */
export function eventDraftText(event: EventFacts): string {
  return eventJson({
    data: event.data,
    decision_id: event.decision_id ?? null,
    escalation_id: event.escalation_id ?? null,
    escalation_status: event.escalation_status ?? null,
    event_type: event.event_type,
    intent_id: event.intent_id ?? null,
    observation_id: null,
    organization_id: event.organization_id,
    pattern_id: null,
    policy_id: null,
    timestamp: formatTimestampUs(event.at_us),
  } satisfies Omit<EventBody, "webhook_id">);
}

/**
 * Returns the bytes that every attempt of a delivery sends: compact JSON, keys sorted recursively by UTF-16 code unit.
 */
export function eventBodyText(draft: Omit<EventBody, "webhook_id">, webhook_id: string): string {
  return eventJson({ ...draft, webhook_id });
}

/** Returns a time with a numeric offset. All other times of the API end with `Z`. */
export function decisionEventTimestamp(at_us: number): string {
  return formatTimestampUs(at_us).replace("Z", "+00:00");
}
