import Type, { type Static } from "typebox";
import { eventTypeNames, test_event_type } from "../event-types.ts";
import { limits } from "../limits.ts";
import { EscalationStatus } from "./decision.ts";
import { anyObject, id, nullable, oneOf, text } from "./shapes.ts";

/** The body of a delivery: all twelve keys in alphabetical order, null where unset. Source: spec §2.5. */
export const EventBody = Type.Object(
  {
    data: anyObject("see docs/reference/events.md"),
    decision_id: nullable(id("decision")),
    escalation_id: nullable(id("escalation")),
    escalation_status: nullable(EscalationStatus),
    event_type: oneOf([...eventTypeNames, test_event_type]),
    intent_id: nullable(id("intent")),
    observation_id: nullable(id("observation")),
    organization_id: id("organization"),
    pattern_id: nullable(text(limits.label_chars_max)),
    policy_id: nullable(text(limits.label_chars_max)),
    timestamp: text(27, { pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{6}Z$" }),
    webhook_id: id("webhook"),
  },
  { title: "EventBody" },
);
export type EventBody = Static<typeof EventBody>;
