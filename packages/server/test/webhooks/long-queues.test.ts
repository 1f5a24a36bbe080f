/** Statements read only the rows they need, despite a long queue and many failures. */
import { beforeAll, expect, test } from "vitest";
import { readFailedDeliveries } from "../../src/store/webhooks/deliveries.ts";
import { leaseDue } from "../../src/store/webhooks/delivery-queue.ts";
import { dispatchEvents } from "../../src/store/webhooks/dispatch-events.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { mostRows, planOf, planOfQueued } from "../../src/testing/database/plan.ts";
import { roomy } from "../../src/testing/deliveries.ts";

const { db, analyze } = await testDatabase();
const org_id = "org_00000000000000000000000001";
const many = 3_000;

beforeAll(async () => {
  // Failed deliveries, delivered retries of the older half, and pending ones.
  await db.query(
    `insert into deliveries (org_id, delivery_id, webhook_id, event_id, event_type, body, status, attempts, outcomes, due_at,
       original_delivery_id, created_at)
     select $1, 'dlv_' || lpad(n::text, 26, '0'), case n when 1 then 'wh_1' else 'wh_2' end, 'evt', 'quota.exceeded', '{}',
       case when n <= $2::integer then 'failed' when n <= $2::integer * 2 then 'delivered' else 'pending' end, 1, '[]', now(),
       case when n > $2::integer and n <= $2::integer * 2 then 'dlv_' || lpad((n - $2::integer)::text, 26, '0') end, now()
     from generate_series(1, $2::integer * 3) as n`,
    [org_id, many],
  );
  await db.query(
    `insert into events (org_id, event_id, event_type, body, created_at)
     select $1, 'evt_' || lpad(n::text, 26, '0'), 'quota.exceeded', '{}', now() from generate_series(1, $2::integer) as n`,
    [org_id, many],
  );
  await analyze("deliveries, events");
});

test.each([
  ["of all webhooks", null],
  ["of a webhook with one among thousands of another", "wh_1"],
])("a page of failed deliveries with their outcomes, %s", async (_, webhook_id) => {
  const plan = await planOf(db, org_id, (query) =>
    readFailedDeliveries(query, org_id, { limit: 51, before: null, webhook_id }),
  );
  expect(mostRows(plan)).toBeLessThan(60);
});

test("a dispatch reads no more events than it may take", async () => {
  const terms = { created_at: "2026-11-21T00:00:00.000000Z", next_id: () => "dlv_x" };
  const plan = await planOfQueued(db, (queue) =>
    expect(dispatchEvents(queue, org_id, terms)).rejects.toThrow("returned no row"),
  );
  expect(mostRows(plan)).toBeLessThan(300); // one id for each possible delivery
});

test("a lease reads only one delivery more than a receiver may get", async () => {
  const plan = await planOfQueued(db, (queue) => leaseDue(queue, org_id, { ...roomy, per_webhook: 10 }));
  expect(mostRows(plan)).toBeLessThan(20);
});
