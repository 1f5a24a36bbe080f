import type { EventBody, EventType } from "@countersign/contract";
import { formatTimestampUs } from "../time.ts";
import { eventJson } from "../values/canonical-json.ts";

/** What happened, before it is known which webhook will be told. Fields left out are null in the body. */
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
 * The event without `webhook_id`, as it is stored: canonical JSON text of eleven of the twelve keys of contract 2.5, null
 * where unset. The twelfth sorts last: the dispatch statement appends it and has the bytes of `eventBodyText`. Throws
 * TypeError when `data` holds what JSON cannot.
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
 * The bytes that every attempt of a delivery sends: compact, keys sorted recursively by UTF-16 code unit.
 * Source: contract §2.5, api.md §8.
 */
export function eventBodyText(draft: Omit<EventBody, "webhook_id">, webhook_id: string): string {
  return eventJson({ ...draft, webhook_id });
}

/** The one time that the contract writes with a numeric offset. Source: contract §2.6. */
export function decisionEventTimestamp(at_us: number): string {
  return formatTimestampUs(at_us).replace("Z", "+00:00");
}
