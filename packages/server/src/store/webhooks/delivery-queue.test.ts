import { expect, test } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { byWebhook, hearingOrganization, roomy } from "../../testing/deliveries.ts";
import { withHead } from "../organizations/heads.ts";
import { type LeasedDelivery, leaseDue, type Room } from "./delivery-queue.ts";
import { dispatchEvents, organizationsWithEvents } from "./dispatch-events.ts";

const database = await testDatabase();
const { db } = database;
const ids = createIds(createClock());
const made = { next_id: () => ids.next("delivery"), created_at: "2026-11-21T00:00:00.000000Z" };

async function addEvents(org_id: string, count: number): Promise<void> {
  await db.query(
    `insert into events (org_id, event_id, event_type, body, created_at)
     select $1, gen_random_uuid(), 'quota.exceeded', '{"data":{},"organization_id":"o"}', clock_timestamp() from generate_series(1, $2::integer)`,
    [org_id, count],
  );
}

const everything = async (org_id: string, room: Room) => (await leaseDue(db, org_id, room)).deliveries;
const emptied = () => db.query("update deliveries set status = 'cancelled' where status = 'pending'");

async function deliveriesOf(org_id: string): Promise<number> {
  const [row] = await db.query<{ n: number }>("select count(*)::integer as n from deliveries where org_id = $1", [
    org_id,
  ]);
  return row?.n ?? 0;
}

async function dispatchAll(org_id: string): Promise<void> {
  while ((await dispatchEvents(db, org_id, made)).events_left);
}

test("no receiver gets more leases than its room, and all together no more than the places", async () => {
  const { org_id, webhook_ids } = await hearingOrganization(db, 2);
  const [hung, other] = webhook_ids as [string, string];
  await addEvents(org_id, 30);
  await dispatchAll(org_id);
  const room: Room = { ...roomy, per_webhook: 8, receivers: { [hung]: 1 } };
  expect(byWebhook(await everything(org_id, { ...room, places: 8 }))).toEqual({ [hung]: 1, [other]: 7 });
  expect(byWebhook(await everything(org_id, { ...room, receivers: { [hung]: -3 } }))).toEqual({ [other]: 8 });
  await emptied();
});

test("an event of a membrane goes to webhooks of this membrane and of the mode live, and to those without filters", async () => {
  const { org_id, webhook_ids } = await hearingOrganization(db, 5);
  const [plain, own, live, other, shadow] = webhook_ids as [string, string, string, string, string];
  const filter = (id: string, column: "modes" | "membrane_ids", value: string) =>
    db.query(`update webhooks set ${column} = array[$2] where webhook_id = $1`, [id, value]);
  await filter(own, "membrane_ids", "mem_a");
  await filter(live, "modes", "live");
  await filter(other, "membrane_ids", "mem_b");
  await filter(shadow, "modes", "shadow");
  // As if they had been registered before the event.
  await db.query("update webhooks set registered_seq = 0 where org_id = $1", [org_id]);
  await db.query("update org_heads set webhooks = 5 where org_id = $1", [org_id]);
  const about = { event_type: "quota.exceeded", intent_id: null, decision_id: null, escalation_id: null } as const;
  const body = '{"data":{},"organization_id":"o"}';
  const events = [{ ...about, event_id: ids.next("event"), membrane_id: "mem_a", body, created_at: made.created_at }];
  await db.tenant(org_id, (query) => withHead(query, org_id, { audit: [], events }));
  await dispatchAll(org_id);
  expect(byWebhook(await everything(org_id, roomy))).toEqual({ [plain]: 1, [own]: 1, [live]: 1 });
  await emptied();
});

test("a lease fills the room with the oldest deliveries, and names the receivers that have more due", async () => {
  const { org_id, webhook_ids } = await hearingOrganization(db, 2);
  await addEvents(org_id, 5);
  await dispatchAll(org_id);
  const { deliveries, more, blocked } = await leaseDue(db, org_id, { ...roomy, per_webhook: 3 });
  expect(byWebhook(deliveries)).toEqual(Object.fromEntries(webhook_ids.map((id) => [id, 3])));
  expect(
    deliveries.every(({ number, url, webhook_id }) => number === 1 && url === `https://receiver.test/${webhook_id}`),
  ).toBe(true);
  expect(deliveries[0]?.body).toBe(`{"data":{},"organization_id":"o","webhook_id":"${deliveries[0]?.webhook_id}"}`);
  expect([...more].sort()).toEqual([...webhook_ids].sort());
  expect(blocked).toBe(false);
  expect(await leaseDue(db, org_id, { ...roomy, per_webhook: 2 })).toMatchObject({
    deliveries: { length: 4 },
    more: [],
  });
  await emptied();
});

test("a lease reports that places ran out although receivers had room", async () => {
  const { org_id } = await hearingOrganization(db, 1);
  await addEvents(org_id, 3);
  await dispatchAll(org_id);
  expect(await leaseDue(db, org_id, { ...roomy, places: 1 })).toMatchObject({ more: [], blocked: true });
  expect(await leaseDue(db, org_id, roomy)).toMatchObject({ more: [], blocked: false });
  await emptied();
});

test("the search finds the organizations that have events", async () => {
  const [first, second] = [await hearingOrganization(db, 1), await hearingOrganization(db, 1)];
  await hearingOrganization(db, 1);
  for (const { org_id } of [first, second]) await addEvents(org_id, 2);
  expect([...(await db.system(organizationsWithEvents))].sort()).toEqual([first.org_id, second.org_id].sort());
  await dispatchAll(first.org_id);
  expect(await db.system(organizationsWithEvents)).toEqual([second.org_id]);
  await db.query("delete from events");
  await emptied();
});

test("a dispatch takes the oldest events of its organization up to its limit, and none of another", async () => {
  const [own, other] = [await hearingOrganization(db, 1), await hearingOrganization(db, 1)];
  for (const { org_id } of [own, other]) await addEvents(org_id, 5);
  expect(await dispatchEvents(db, own.org_id, { ...made, events_max: 3 })).toEqual({ made: 3, events_left: true });
  expect(await dispatchEvents(db, own.org_id, { ...made, events_max: 3 })).toEqual({ made: 2, events_left: false });
  expect(await deliveriesOf(other.org_id)).toBe(0);
  await db.query("delete from events");
  await emptied();
});

test("a lease reports that another node held some of its deliveries", async () => {
  const { org_id } = await hearingOrganization(db, 1);
  await addEvents(org_id, 5);
  await dispatchAll(org_id);
  await db.system(async (query) => {
    await query("select 1 from deliveries where org_id = $1 limit 2 for update", [org_id]);
    expect(await leaseDue(db, org_id, roomy)).toMatchObject({ deliveries: { length: 3 }, blocked: true });
  });
  expect(await leaseDue(db, org_id, roomy)).toMatchObject({ deliveries: { length: 2 }, blocked: false });
  expect(await leaseDue(db, org_id, roomy)).toMatchObject({ deliveries: { length: 0 }, blocked: false });
  await emptied();
});

test("eight concurrent dispatches create each delivery once, and leave no event", async () => {
  const organizations = await Promise.all([1, 2, 3].map(() => hearingOrganization(db, 2)));
  for (const { org_id } of organizations) await addEvents(org_id, 300);
  const dispatchEach = async () => {
    for (const { org_id } of organizations) await dispatchAll(org_id);
  };
  await Promise.all(Array.from({ length: 8 }, dispatchEach));
  await dispatchEach();
  const rows = await db.query<{ event_id: string; webhook_id: string }>(
    "select event_id, webhook_id from deliveries where org_id = any($1)",
    [organizations.map(({ org_id }) => org_id)],
  );
  expect(rows).toHaveLength(1_800);
  expect(new Set(rows.map(({ event_id, webhook_id }) => `${event_id} ${webhook_id}`)).size).toBe(1_800);
  await emptied();
});

test("a webhook receives the events after its registration, whatever the clocks said", async () => {
  const { org_id } = await hearingOrganization(db, 1);
  await db.query("update webhooks set registered_seq = 5 where org_id = $1", [org_id]);
  for (const [clock, recorded_seq, told] of [
    ["1 hour", 5, 1],
    ["-1 hour", 5, 1],
    ["1 hour", 4, 0],
    ["0", 4, 0],
  ] as const) {
    await addEvents(org_id, 1);
    await db.query("update webhooks set created_at = clock_timestamp() - $2::interval where org_id = $1", [
      org_id,
      clock,
    ]);
    await db.query("update events set recorded_seq = $2 where org_id = $1", [org_id, recorded_seq]);
    expect((await dispatchEvents(db, org_id, made)).made).toBe(told);
  }
  await emptied();
});

test("an event that needs more ids than the statement has left waits for the next statement as a whole", async () => {
  const { org_id, webhook_ids } = await hearingOrganization(db, 100);
  await addEvents(org_id, 5);
  const sizes: number[] = [];
  for (let left = true; left; ) {
    const pass = await dispatchEvents(db, org_id, made);
    sizes.push(pass.made);
    left = pass.events_left;
  }
  expect(sizes).toEqual([200, 200, 100]);
  expect(Object.keys(byWebhook(await everything(org_id, roomy)))).toHaveLength(webhook_ids.length);
  await emptied();
});

test("eight concurrent leases take each of 400 deliveries once", async () => {
  const { org_id } = await hearingOrganization(db, 4);
  await addEvents(org_id, 100);
  await dispatchAll(org_id);
  const lots = await Promise.all(Array.from({ length: 8 }, () => everything(org_id, { ...roomy, per_webhook: 40 })));
  const more: LeasedDelivery[] = [];
  for (let lot = await everything(org_id, roomy); lot.length > 0; lot = await everything(org_id, roomy))
    more.push(...lot);
  const all = [...lots.flat(), ...more];
  expect(new Set(all.map(({ delivery_id }) => delivery_id)).size).toBe(400);
  expect(all).toHaveLength(400);
  await emptied();
});

async function addLarge(org_id: string, bytes: number): Promise<void> {
  await db.query(
    `insert into events (org_id, event_id, event_type, body, created_at)
     select $1, gen_random_uuid(), 'quota.exceeded', json_build_object('data', repeat('x', $2::integer)), clock_timestamp()`,
    [org_id, bytes],
  );
}

test("an event too large for one statement is dispatched by several, to each webhook once", async () => {
  const { org_id } = await hearingOrganization(db, 40);
  await addLarge(org_id, 1_000_000);
  await addLarge(org_id, 1_000_000);
  let [passes, events_left] = [0, true];
  for (; events_left; passes += 1) {
    ({ events_left } = await dispatchEvents(db, org_id, made));
    const [told] = await db.query<{ bytes: number }>(
      "select coalesce(sum(octet_length(body)), 0)::float8 as bytes from deliveries where org_id = $1",
      [org_id],
    );
    expect(told?.bytes).toBeLessThan((passes + 1) * 36_000_000);
  }
  expect(passes).toBeLessThan(10);
  const all = await db.query<{ n: number; events: number }>(
    `select count(*)::integer as n, count(distinct event_id)::integer as events from deliveries
     where org_id = $1 and left(body, 9) = '{"data" :' and right(body, 46) = ',"webhook_id":"' || webhook_id || '"}' group by webhook_id`,
    [org_id],
  );
  expect(all.map(({ n, events }) => [n, events])).toEqual(Array(40).fill([2, 2]));
  expect(await db.query("select from events where org_id = $1", [org_id])).toEqual([]);
  await emptied();
});

test("large bodies are leased within the limit of bytes, and small ones overtake them", async () => {
  const { org_id } = await hearingOrganization(db, 3);
  for (let n = 0; n < 2; n += 1) await addLarge(org_id, 3_000_000);
  await dispatchAll(org_id);
  await addEvents(org_id, 1);
  await dispatchAll(org_id);
  const { deliveries, blocked } = await leaseDue(db, org_id, { ...roomy, large_bytes: 9_500_000, lone_bytes: 0 });
  expect(blocked).toBe(true);
  expect(deliveries.filter(({ body }) => body.length < 65_536)).toHaveLength(3);
  expect(deliveries.filter(({ body }) => body.length >= 65_536)).toHaveLength(3);
  await emptied();
});
