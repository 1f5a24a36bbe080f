/** However much an organization's queue and its failures come to, a statement about some of them reads only those. */
import { beforeAll, expect, test } from "vitest";
import { readFailedDeliveries } from "../../src/store/webhooks/deliveries.ts";
import { type ClaimedDelivery, readGone } from "../../src/store/webhooks/delivery-queue.ts";
import { dispatchEvents } from "../../src/store/webhooks/dispatch-events.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { mostRows, planOf, planOfQueued } from "../../src/testing/database/plan.ts";
import { roomy } from "../../src/testing/deliveries.ts";

const { db, analyze } = await testDatabase();
const org_id = "org_00000000000000000000000001";
const many = 3_000;
const nth = (prefix: string, n: number) => prefix + String(n).padStart(26, "0");

beforeAll(async () => {
  // Failed ones, what was sent again of the older half, and what still waits.
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
])("a page of failed deliveries, with what became of each, %s", async (_, webhook_id) => {
  const plan = await planOf(db, org_id, (query) =>
    readFailedDeliveries(query, org_id, { limit: 51, before: null, webhook_id }),
  );
  expect(mostRows(plan)).toBeLessThan(60);
});

test("deliveries that are under way are looked for by their ids, not among all that wait", async () => {
  const leased = Array.from({ length: 10 }, (_, n) => ({
    ...{ org_id, delivery_id: nth("dlv_", many * 3 - n), number: 1 },
  })) as unknown as ClaimedDelivery[];
  expect(mostRows(await planOfQueued(db, (queue) => readGone(queue, leased)))).toBeLessThan(20);
  expect(await readGone(db, leased)).toEqual(new Set());
  const others = [1, many + 1, many * 4].map((n) => ({ org_id, delivery_id: nth("dlv_", n), number: 1 }));
  const later = { ...(leased[0] as ClaimedDelivery), number: 2 };
  const gone = await readGone(db, [...others, later, ...leased.slice(1)] as unknown as ClaimedDelivery[]);
  expect(gone).toEqual(new Set([...others, later].map(({ delivery_id }) => delivery_id)));
});

test("a dispatch goes on where the one before it stopped, and reads no event before that", async () => {
  const terms = { created_at: "2026-11-21T00:00:00.000000Z", after: { [org_id]: nth("evt_", many - 5) } };
  const plan = await planOfQueued(db, (queue) => dispatchEvents(queue, roomy, { ...terms, next_id: () => "dlv_x" }));
  expect(mostRows(plan)).toBeLessThan(300); // one id for each delivery that it may make
});
