/** The end of every body, because keys are sorted. Parsing a body of 1 MiB for one member would take milliseconds. */
const timeAtEnd = /,"timestamp":"([^"\\]{20,40})","webhook_id":"[^"\\]*"\}$/;
const end_chars = 300;

export interface DeliveredEvent {
  readonly org_id: string;
  readonly delivery_id: string;
  /** Null: this is no manual retry. */
  readonly original_delivery_id: string | null;
  readonly event_type: string;
  readonly intent_id: string | null;
  readonly body: string;
}

/**
 * Returns the headers of CloudEvents 1.0 in binary mode. A manual retry has the id of the first delivery, because it is
 * the same event. All values are visible ASCII without `"` and `%`, so none needs percent-encoding.
 */
export function cloudEventHeaders(event: DeliveredEvent): Record<string, string> {
  const { org_id, delivery_id, original_delivery_id, event_type, intent_id, body } = event;
  const [, time] = timeAtEnd.exec(body.slice(-end_chars)) ?? [];
  return {
    "ce-specversion": "1.0",
    "ce-id": original_delivery_id ?? delivery_id,
    "ce-source": `/organizations/${org_id}`,
    "ce-type": event_type,
    ...(intent_id === null ? {} : { "ce-subject": intent_id }),
    ...(time === undefined ? {} : { "ce-time": time }),
  };
}
