import type { EventBody, EventType } from "@countersign/contract";
import { formatTimestampUs } from "../time.ts";
import { eventJson } from "../values/canonical-json.ts";

/** Omitted fields are null in the body. */
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
 * Canonical JSON of eleven of the twelve keys. The dispatch statement appends `webhook_id`, which sorts last, with the
 * same result as `eventBodyText`. Throws TypeError for values that JSON cannot represent.
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

/** The bytes of every attempt: compact JSON, keys sorted recursively by UTF-16 code unit. */
export function eventBodyText(draft: Omit<EventBody, "webhook_id">, webhook_id: string): string {
  return eventJson({ ...draft, webhook_id });
}

/** Uses a numeric offset. All other API times end with `Z`. */
export function decisionEventTimestamp(at_us: number): string {
  return formatTimestampUs(at_us).replace("Z", "+00:00");
}
