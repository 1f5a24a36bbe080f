/**
 * A one-line mistake: every statement that contains `right` gets `wrong` instead. `seed` is the first world that always
 * notices it.
 */
export interface DeliveryFault {
  readonly name: string;
  readonly seed: number;
  readonly right: string;
  readonly wrong: string;
}

export const deliveryFaults: readonly DeliveryFault[] = [
  {
    name: "a lease does not count as an attempt",
    seed: 1,
    right: "set attempts = least(d.attempts + 1, 3)",
    wrong: "set attempts = d.attempts",
  },
  {
    name: "there is a fourth attempt",
    seed: 2,
    right: "l.attempts + 1 as number",
    wrong: "least(l.attempts + 1, 3) as number",
  },
  {
    name: "a lease ends at once",
    seed: 1,
    right: "at + $7::integer * interval '1 millisecond'",
    wrong: "at + 0 * $7::integer * interval '1 millisecond'",
  },
  {
    name: "an event is dispatched again",
    seed: 1,
    right: "delete from events where org_id = $1",
    wrong: "delete from events where org_id = $1 and false",
  },
  {
    name: "an event is dispatched without deliveries",
    seed: 1,
    right: "from made m)\n",
    wrong: "from made m where false)\n",
  },
  {
    name: "webhooks get events that they do not watch",
    seed: 3,
    right: "on w.event_types ? t.event_type",
    wrong: "on true",
  },
  { name: "a late settlement counts", seed: 473, right: "and d.attempts = s.attempts", wrong: "" },
  {
    name: "a failed attempt is not counted",
    seed: 1,
    right: "settled_at = case when s.status = 'pending'",
    wrong: "attempts = 0, settled_at = case when s.status = 'pending'",
  },
  {
    name: "a settlement writes no audit",
    seed: 1,
    right: "where s.audit_id is not null",
    wrong: "where s.audit_id is not null and false",
  },
  {
    name: "the chain is not in the order of seq",
    seed: 1,
    right: "''::bytea order by k) as hashes",
    wrong: "''::bytea order by k desc) as hashes",
  },
  {
    name: "deleting a webhook leaves pending deliveries",
    seed: 1,
    right: "webhook_id = any($2::text[]) and status = 'pending'",
    wrong: "webhook_id = any($2::text[]) and false",
  },
  {
    name: "one delivery has two pending retries",
    seed: 23,
    right: "original_delivery_id = $2 and status = 'pending'",
    wrong: "original_delivery_id = $2 and false",
  },
  {
    name: "a retry does not name its original",
    seed: 2,
    right: "'[]', clock_timestamp(), $9,",
    wrong: "'[]', clock_timestamp(), case when false then $9 else $2 end,",
  },
];
