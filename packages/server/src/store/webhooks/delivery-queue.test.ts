/** Dispatches and leases: turns, shares, the reserve, large bodies, and that nothing is dispatched or leased twice. */
import { expect, test } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { byOrganization, byWebhook, hearingOrganization, roomy } from "../../testing/deliveries.ts";
import { type LeasedDelivery, leaseDue, type Room } from "./delivery-queue.ts";
import { dispatchEvents } from "./dispatch-events.ts";

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

const everything = async (room: Room) => (await leaseDue(db, room)).deliveries;
const emptied = () => db.query("update deliveries set status = 'cancelled' where status = 'pending'");

async function deliveriesOf(org_id: string): Promise<number> {
  const [row] = await db.query<{ n: number }>("select count(*)::integer as n from deliveries where org_id = $1", [
    org_id,
  ]);
  return row?.n ?? 0;
}

async function dispatchAll(): Promise<void> {
  while ((await dispatchEvents(db, made)).events_left);
}

test("turns go round the organizations, however long the queue of one is", async () => {
  const long = await hearingOrganization(db, 2);
  const short = await hearingOrganization(db, 1);
  await addEvents(long.org_id, 50);
  await addEvents(short.org_id, 3);
  await dispatchAll();
  const first = await everything({ ...roomy, free: 6 });
  expect(byOrganization(first)).toEqual({ [long.org_id]: 3, [short.org_id]: 3 });
  expect(byWebhook(first)).toEqual({
    [long.webhook_ids[0] as string]: 2,
    [long.webhook_ids[1] as string]: 1,
    [short.webhook_ids[0] as string]: 3,
  });
  await emptied();
});

test("no receiver and no organization is leased more than its share, and what is in flight counts", async () => {
  const [hung, other] = (await hearingOrganization(db, 2).then(async (org) => {
    await addEvents(org.org_id, 30);
    return org.webhook_ids.map((webhook_id) => ({ org_id: org.org_id, webhook_id }));
  })) as [{ org_id: string; webhook_id: string }, { org_id: string; webhook_id: string }];
  await dispatchAll();
  const room: Room = {
    ...{ ...roomy, per_webhook: 8, per_organization: 9 },
    ...{ receivers: { [`${hung.org_id} ${hung.webhook_id}`]: [1, 2] }, organizations: { [hung.org_id]: 1 } },
  };
  expect(byWebhook(await everything(room))).toEqual({ [hung.webhook_id]: 1, [other.webhook_id]: 7 });
  await emptied();
});

test("the reserve is for organizations that have little in flight", async () => {
  const hog = await hearingOrganization(db, 1);
  await addEvents(hog.org_id, 40);
  await dispatchAll();
  const room: Room = { ...roomy, free: 10, reserve: 8, few: 4, organizations: { [hog.org_id]: 100 } };
  expect(await everything(room)).toHaveLength(2);
  const newcomer = await hearingOrganization(db, 1);
  await addEvents(newcomer.org_id, 10);
  await dispatchAll();
  expect(byOrganization(await everything({ ...room, free: 8 }))).toEqual({ [newcomer.org_id]: 4 });
  await emptied();
});

test("a lease takes what there is room for, the oldest first, and names the receivers that have more due", async () => {
  const { org_id, webhook_ids } = await hearingOrganization(db, 2);
  await addEvents(org_id, 5);
  await dispatchAll();
  const { deliveries, more, blocked } = await leaseDue(db, { ...roomy, per_webhook: 3 });
  expect(byWebhook(deliveries)).toEqual(Object.fromEntries(webhook_ids.map((id) => [id, 3])));
  expect(
    deliveries.every(({ number, url, webhook_id }) => number === 1 && url === `https://receiver.test/${webhook_id}`),
  ).toBe(true);
  expect(deliveries[0]?.body).toBe(`{"data":{},"organization_id":"o","webhook_id":"${deliveries[0]?.webhook_id}"}`);
  expect(more.map(({ webhook_id }) => webhook_id).sort()).toEqual([...webhook_ids].sort());
  expect(blocked).toBe(false);
  // Exactly as many as there is room for: nothing more is due.
  expect(await leaseDue(db, { ...roomy, per_webhook: 2 })).toMatchObject({ deliveries: { length: 4 }, more: [] });
  await emptied();
});

test("a lease says when a bound of the node or of an organization keeps back what receivers have room for", async () => {
  const { org_id } = await hearingOrganization(db, 1);
  await addEvents(org_id, 3);
  await dispatchAll();
  for (const room of [{ reserve: 1_000 }, { per_organization: 1 }])
    expect(await leaseDue(db, { ...roomy, ...room })).toMatchObject({ more: [], blocked: true });
  expect(await leaseDue(db, roomy)).toMatchObject({ more: [], blocked: false });
  await emptied();
});

test("events are dispatched in turns: behind a burst of one organization another's single event is among the first", async () => {
  const busy = await hearingOrganization(db, 10);
  await addEvents(busy.org_id, 1_000);
  const small = await hearingOrganization(db, 1);
  await addEvents(small.org_id, 1);
  expect((await dispatchEvents(db, made)).events_left).toBe(true);
  expect(await deliveriesOf(small.org_id)).toBe(1);
  await db.query("delete from events");
  await emptied();
});

test("however few events a dispatch is for, every organization has a turn", async () => {
  const busy = await Promise.all(Array.from({ length: 70 }, () => hearingOrganization(db, 1)));
  for (const { org_id } of busy) await addEvents(org_id, 2);
  const late = await hearingOrganization(db, 1);
  await addEvents(late.org_id, 1);
  expect(await dispatchEvents(db, { ...made, events_max: 64 })).toMatchObject({ made: 71, events_left: true });
  expect(await deliveriesOf(late.org_id)).toBe(1);
  await db.query("delete from events");
  await emptied();
});

test("a lease says when another node had some of what it would have taken", async () => {
  const { org_id } = await hearingOrganization(db, 1);
  await addEvents(org_id, 5);
  await dispatchAll();
  await db.system(async (query) => {
    await query("select 1 from deliveries where org_id = $1 limit 2 for update", [org_id]);
    expect(await leaseDue(db, roomy)).toMatchObject({ deliveries: { length: 3 }, blocked: true });
  });
  expect(await leaseDue(db, roomy)).toMatchObject({ deliveries: { length: 2 }, blocked: false });
  expect(await leaseDue(db, roomy)).toMatchObject({ deliveries: { length: 0 }, blocked: false });
  await emptied();
});

test("eight nodes that dispatch at once make each delivery once, and leave nothing", async () => {
  const organizations = await Promise.all([1, 2, 3].map(() => hearingOrganization(db, 2)));
  for (const { org_id } of organizations) await addEvents(org_id, 300);
  await Promise.all(Array.from({ length: 8 }, dispatchAll));
  // A node that found everything locked has stopped; the others go on until nothing is left.
  await dispatchAll();
  const rows = await db.query<{ event_id: string; webhook_id: string }>(
    "select event_id, webhook_id from deliveries where org_id = any($1)",
    [organizations.map(({ org_id }) => org_id)],
  );
  expect(rows).toHaveLength(1_800);
  expect(new Set(rows.map(({ event_id, webhook_id }) => `${event_id} ${webhook_id}`)).size).toBe(1_800);
  await emptied();
});

test("where two events fill a statement, the turns go on from one to the next: no organization waits for another's burst", async () => {
  const busy = await Promise.all(Array.from({ length: 6 }, () => hearingOrganization(db, 100)));
  for (const { org_id } of busy) await addEvents(org_id, 4);
  const late = await hearingOrganization(db, 1);
  await addEvents(late.org_id, 1);
  await db.query("update events set event_id = 'z' where org_id = $1", [late.org_id]);
  // Two events a statement and one turn for each of seven organizations: the late one is among the first four statements.
  let turn_after = "";
  for (let statement = 0; statement < 4; statement += 1)
    ({ turn: turn_after } = await dispatchEvents(db, { ...made, turn_after }));
  expect(await deliveriesOf(late.org_id)).toBe(1);
  for (const { org_id } of busy) expect(await deliveriesOf(org_id)).toBeLessThanOrEqual(200);
  await db.query("delete from events");
  await emptied();
});

test("turns go on from one dispatch to the next also where nobody hears of the events", async () => {
  const busy = await hearingOrganization(db, 1);
  const late = await hearingOrganization(db, 1);
  await addEvents(late.org_id, 1);
  // Each is as much as a statement takes.
  await db.query(
    `insert into events (org_id, event_id, event_type, body, created_at)
     select $1, gen_random_uuid(), 'escalation.decided', to_json((select string_agg(gen_random_uuid()::text, '')
       from generate_series(1, 100000) where n > 0)), clock_timestamp() from generate_series(1, 4) as n`,
    [busy.org_id],
  );
  const told: number[] = [];
  let turn_after = "";
  for (let left = true; left; ) {
    const pass = await dispatchEvents(db, { ...made, turn_after });
    told.push(pass.made);
    ({ turn: turn_after, events_left: left } = pass);
  }
  // The second statement begins with the other organization's, which leaves room for one of the busy one's.
  expect(told).toEqual([0, 1, 0, 0]);
  await emptied();
});

test("a webhook hears of what happens after it was registered, whatever the clock said of either", async () => {
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
    expect((await dispatchEvents(db, made)).made).toBe(told);
  }
  await emptied();
});

test("an event for more receivers than one statement has ids for waits for the next one, whole", async () => {
  const { org_id, webhook_ids } = await hearingOrganization(db, 100);
  await addEvents(org_id, 5);
  const sizes: number[] = [];
  for (let left = true; left; ) {
    const pass = await dispatchEvents(db, made);
    sizes.push(pass.made);
    left = pass.events_left;
  }
  expect(sizes).toEqual([200, 200, 100]);
  expect(Object.keys(byWebhook(await everything(roomy)))).toHaveLength(webhook_ids.length);
  await emptied();
});

test("eight leases at once take each of 400 deliveries once", async () => {
  const { org_id } = await hearingOrganization(db, 4);
  await addEvents(org_id, 100);
  await dispatchAll();
  const lots = await Promise.all(Array.from({ length: 8 }, () => everything({ ...roomy, per_webhook: 40 })));
  const more: LeasedDelivery[] = [];
  for (let lot = await everything(roomy); lot.length > 0; lot = await everything(roomy)) more.push(...lot);
  const all = [...lots.flat(), ...more];
  expect(new Set(all.map(({ delivery_id }) => delivery_id)).size).toBe(400);
  expect(all).toHaveLength(400);
  await emptied();
});

/** An event with a body of about so many bytes, which take little room as they are stored. */
async function addLarge(org_id: string, bytes: number): Promise<void> {
  await db.query(
    `insert into events (org_id, event_id, event_type, body, created_at)
     select $1, gen_random_uuid(), 'quota.exceeded', json_build_object('data', repeat('x', $2::integer)), clock_timestamp()`,
    [org_id, bytes],
  );
}

test("an event too large for one statement is dispatched by several, to each webhook once, and holds up nobody else", async () => {
  const large = await hearingOrganization(db, 40);
  await addLarge(large.org_id, 1_000_000);
  await addLarge(large.org_id, 1_000_000);
  const small = await hearingOrganization(db, 1);
  await addEvents(small.org_id, 1);
  let [passes, events_left] = [0, true];
  for (; events_left; passes += 1) {
    ({ events_left } = await dispatchEvents(db, made));
    const [told] = await db.query<{ n: number; bytes: number }>(
      "select count(*)::integer as n, coalesce(sum(octet_length(body)), 0)::float8 as bytes from deliveries where org_id = $1",
      [large.org_id],
    );
    expect(told?.bytes).toBeLessThan((passes + 1) * 36_000_000);
  }
  expect(passes).toBeLessThan(10);
  const all = await db.query<{ org_id: string; webhook_id: string; n: number; events: number }>(
    `select org_id, webhook_id, count(*)::integer as n, count(distinct event_id)::integer as events from deliveries
     where org_id = any($1) and left(body, 9) = '{"data" :' and right(body, 46) = ',"webhook_id":"' || webhook_id || '"}' group by 1, 2`,
    [[large.org_id]],
  );
  expect(all.map(({ n, events }) => [n, events])).toEqual(Array(40).fill([2, 2]));
  expect(await db.query("select from deliveries where org_id = $1", [small.org_id])).toHaveLength(1);
  expect(await db.query("select from events where org_id = any($1)", [[large.org_id, small.org_id]])).toEqual([]);
  await emptied();
});

test("large bodies are in flight up to 16 MiB of an organization and 64 MiB of a node; small ones pass them", async () => {
  const orgs = await Promise.all(Array.from({ length: 5 }, () => hearingOrganization(db, 3)));
  for (const { org_id } of orgs) for (let n = 0; n < 2; n += 1) await addLarge(org_id, 3_000_000);
  await dispatchAll();
  const [first, second] = orgs as [(typeof orgs)[0], (typeof orgs)[0]];
  await addEvents(second.org_id, 1);
  await dispatchAll();
  // Five of 3 MB are in flight at the first organization, so it gets none. The node has room for 17 in all.
  const held = { [first.org_id]: 15_000_120, all: 15_000_120 };
  const { deliveries, blocked } = await leaseDue(db, { ...roomy, large: held });
  expect(blocked).toBe(true);
  expect(deliveries.filter(({ body }) => body.length < 65_536).length).toBe(3);
  const large = deliveries.filter(({ body }) => body.length >= 65_536);
  const counts = Object.entries(byOrganization(large));
  expect(counts.every(([org_id, n]) => org_id !== first.org_id && n <= 5)).toBe(true);
  expect(large.length).toBe(17);
  await emptied();
});

test("a body that is larger than what may be in flight goes alone", async () => {
  const own = await hearingOrganization(db, 2);
  await addLarge(own.org_id, 17_000_000);
  expect(await dispatchEvents(db, made)).toMatchObject({ made: 2, events_left: false });
  expect((await everything({ ...roomy, large: { [own.org_id]: 17_000_000, all: 17_000_000 } })).length).toBe(0);
  expect((await everything(roomy)).length).toBe(1);
  await emptied();
});
