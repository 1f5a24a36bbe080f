import { expect, test } from "vitest";
import { createClock } from "../../src/edge/clock.ts";
import { createIds } from "../../src/edge/ids.ts";
import { type LeasedDelivery, leaseDue, type Room } from "../../src/store/webhooks/delivery-queue.ts";
import { dispatchEvents } from "../../src/store/webhooks/dispatch-events.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { byWebhook, hearingOrganization, roomy } from "../../src/testing/deliveries.ts";

const { db } = await testDatabase();
const ids = createIds(createClock());
const at = "2026-11-21T00:00:00.000000Z";
const made = { next_id: () => ids.next("delivery"), created_at: at };

async function add(org_id: string, count: number, bytes = 2): Promise<string[]> {
  const events = Array.from({ length: count }, () => ids.next("event"));
  await db.query(
    `insert into events (org_id, event_id, event_type, body, created_at)
     select $1, event_id, 'quota.exceeded', json_build_object('data', repeat('x', $3::integer)), clock_timestamp()
     from unnest($2::text[]) as event_id`,
    [org_id, events, bytes],
  );
  return events;
}

async function dispatch(org_id: string, room: Partial<Room> = {}, terms: object = {}) {
  const dispatched = await dispatchEvents(db, org_id, { ...made, ...terms });
  const { deliveries: leased, more } = await leaseDue(db, org_id, { ...roomy, ...room });
  return { ...dispatched, leased, more };
}
/** Returns the events of leased deliveries, in order. */
async function eventsOf(leased: readonly LeasedDelivery[]): Promise<string[]> {
  const rows = await db.query<{ event_id: string }>(
    "select distinct event_id from deliveries where delivery_id = any($1) order by 1",
    [leased.map(({ delivery_id }) => delivery_id)],
  );
  return rows.map(({ event_id }) => event_id);
}
async function emptied(): Promise<void> {
  await db.query("update deliveries set status = 'cancelled' where status = 'pending'");
  await db.query("delete from events");
}

test("if others dispatch all remaining events, the dispatch looks for no more", async () => {
  const { org_id } = await hearingOrganization(db, 1);
  const events = await add(org_id, 3);
  const lock = "select from events where org_id = $1 and event_id = any($2) for update";
  const [some, none] = await db.system(async (query) => {
    await query(lock, [org_id, events.slice(1)]);
    const first = await dispatch(org_id, {}, { events_max: 3 });
    await query(lock, [org_id, events]);
    return [first, await dispatch(org_id, {}, { events_max: 2 })];
  });
  expect(await eventsOf(some.leased)).toEqual(events.slice(0, 1));
  expect(some.events_left).toBe(true);
  expect(none).toMatchObject({ made: 0, leased: [], events_left: false });
  expect((await dispatch(org_id)).leased).toHaveLength(2);
  await emptied();
});

test("a receiver's deliveries are leased from the oldest event on", async () => {
  const { org_id, webhook_ids } = await hearingOrganization(db, 2);
  const events = await add(org_id, 5);
  const { leased, more } = await dispatch(org_id, { per_webhook: 2 });
  expect(byWebhook(leased)).toEqual(Object.fromEntries(webhook_ids.map((id) => [id, 2])));
  expect(await eventsOf(leased)).toEqual(events.slice(0, 2));
  expect(more).toHaveLength(2);
  await emptied();
});

test("an organization's receivers take turns, even if one gets fewer events", async () => {
  const { org_id, webhook_ids } = await hearingOrganization(db, 2);
  const [busy, rare] = webhook_ids as [string, string];
  await db.query(`update webhooks set event_types = '["rate_limit.exceeded"]' where webhook_id = $1`, [rare]);
  const events = await add(org_id, 4);
  await db.query("update events set event_type = 'rate_limit.exceeded' where event_id = $1", [events[3]]);
  const { leased } = await dispatch(org_id, { places: 2 });
  expect(byWebhook(leased)).toEqual({ [busy]: 1, [rare]: 1 });
  await emptied();
});

test("a webhook receives nothing that happened before it was registered", async () => {
  const { org_id, webhook_ids } = await hearingOrganization(db, 2);
  const [early, late] = webhook_ids as [string, string];
  await add(org_id, 1);
  await db.query("update events set recorded_seq = 4 where org_id = $1", [org_id]);
  await db.query("update webhooks set registered_seq = 5 where webhook_id = $1", [late]);
  await add(org_id, 1);
  await db.query("update events set recorded_seq = 5 where org_id = $1 and recorded_seq is null", [org_id]);
  expect(byWebhook((await dispatch(org_id)).leased)).toEqual({ [early]: 2, [late]: 1 });
  await emptied();
});

test("a partly dispatched event continues with the next webhook, and later events wait", async () => {
  const { org_id } = await hearingOrganization(db, 40);
  await add(org_id, 1, 1_000_000);
  await add(org_id, 1);
  const none = { places: 0 };
  const first = await dispatch(org_id, none);
  expect(first.made).toBeLessThan(40);
  expect(first.events_left).toBe(true);
  expect(await db.query("select told_up_to is null as whole from events order by event_id")).toEqual([
    ...[{ whole: false }, { whole: true }],
  ]);
  const { made: rest, events_left } = await dispatch(org_id, none);
  expect([first.made + rest, events_left]).toEqual([80, false]);
  await emptied();
});

test("a webhook of one review gets only that review's escalation events", async () => {
  const { org_id, webhook_ids } = await hearingOrganization(db, 1);
  const types = ["escalation.decided", "decision.approved"];
  await db.query("update webhooks set escalation_id = 'esc_1', event_types = $2::json where org_id = $1", [
    ...[org_id, JSON.stringify(types)],
  ]);
  const events = await add(org_id, 5);
  for (const [n, [type, escalation_id]] of [
    [types[0], "esc_1"],
    [types[1], "esc_1"],
    [types[0], "esc_2"],
    [types[0], null],
    [types[1], null],
  ].entries())
    await db.query("update events set event_type = $2, escalation_id = $3 where event_id = $1", [
      ...[events[n], type, escalation_id],
    ]);
  const { leased } = await dispatch(org_id);
  expect(byWebhook(leased)).toEqual({ [webhook_ids[0]]: 1 });
  expect(await eventsOf(leased)).toEqual(events.slice(0, 1));
});

test("leased deliveries are due again when the lease ends, and the others are due now", async () => {
  const { org_id } = await hearingOrganization(db, 1);
  await add(org_id, 3);
  await dispatch(org_id, { per_webhook: 2, lease_ms: 3_600_000 });
  const rows = await db.query(
    `select attempts, round(extract(epoch from due_at - clock_timestamp()) / 3600)::integer as hours from deliveries
     where org_id = $1 order by event_id`,
    [org_id],
  );
  expect(rows).toEqual([
    { attempts: 1, hours: 1 },
    { attempts: 1, hours: 1 },
    { attempts: 0, hours: 0 },
  ]);
  await emptied();
});
