import { expect, test } from "vitest";
import { cloudEventHeaders } from "./cloud-event.ts";
import { eventBodyText } from "./event-body.ts";

const draft = {
  data: { note: '","timestamp":"2020-01-01T00:00:00Z","webhook_id":"x"}' },
  decision_id: null,
  escalation_id: null,
  escalation_status: null,
  event_type: "decision.approved",
  intent_id: "int_1",
  observation_id: null,
  organization_id: "org_1",
  pattern_id: null,
  policy_id: null,
  timestamp: "2026-11-30T10:00:00.000001+00:00",
} as const;
const event = {
  org_id: "org_1",
  delivery_id: "dlv_2",
  original_delivery_id: null,
  event_type: "decision.approved",
  intent_id: "int_1",
  body: eventBodyText(draft, "wh_1"),
};

test("an event has the required attributes of CloudEvents 1.0, its subject and its time", () => {
  expect(cloudEventHeaders(event)).toEqual({
    "ce-specversion": "1.0",
    "ce-id": "dlv_2",
    "ce-source": "/organizations/org_1",
    "ce-type": "decision.approved",
    "ce-subject": "int_1",
    "ce-time": "2026-11-30T10:00:00.000001+00:00",
  });
});

test("a manual retry is the same event, and an event without an intent has no subject", () => {
  const headers = cloudEventHeaders({ ...event, original_delivery_id: "dlv_1", intent_id: null });
  expect(headers["ce-id"]).toBe("dlv_1");
  expect(headers).not.toHaveProperty("ce-subject");
});

test("a body of another form has no time instead of a wrong one", () => {
  expect(cloudEventHeaders({ ...event, body: '{"timestamp":"2020-01-01T00:00:00Z"}' })).not.toHaveProperty("ce-time");
});
