/** Who is leased what: shares, turns, the reserve, and what cannot be leased twice. Source: architecture.md §5. */
import { expect, test } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { byOrganization, byWebhook, hearingOrganization, roomy } from "../../testing/deliveries.ts";
import { type ClaimedDelivery, claimDue, type Room } from "./delivery-queue.ts";
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

const everything = async (room: Room) => (await claimDue(db, room)).deliveries;
const emptied = () => db.query("update deliveries set status = 'cancelled' where status = 'pending'");

/** Dispatches everything and leases nothing. */
async function dispatchAll(): Promise<void> {
  while ((await dispatchEvents(db, { ...roomy, free: 0 }, made)).events_left);
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

test("a dispatch leases what there is room for, and tells whose deliveries wait", async () => {
  const { org_id, webhook_ids } = await hearingOrganization(db, 2);
  await addEvents(org_id, 5);
  const { leased, waiting, events_left } = await dispatchEvents(db, { ...roomy, per_webhook: 3 }, made);
  expect(byWebhook(leased)).toEqual(Object.fromEntries(webhook_ids.map((id) => [id, 3])));
  expect(
    leased.every(({ number, url, webhook_id }) => number === 1 && url === `https://receiver.test/${webhook_id}`),
  ).toBe(true);
  expect(leased[0]?.body).toBe(`{"data":{},"organization_id":"o","webhook_id":"${leased[0]?.webhook_id}"}`);
  expect(waiting.map(({ webhook_id }) => webhook_id).sort()).toEqual([...webhook_ids].sort());
  expect(events_left).toBe(false);
  // Older ones come first: nothing of this receiver is leased past those that wait.
  await addEvents(org_id, 1);
  expect((await dispatchEvents(db, roomy, made)).leased).toEqual([]);
  expect(await everything(roomy)).toHaveLength(6);
  await emptied();
});

test("events are dispatched in turns: behind a burst of one organization another's single event is among the first", async () => {
  const busy = await hearingOrganization(db, 10);
  await addEvents(busy.org_id, 1_000);
  const small = await hearingOrganization(db, 1);
  await addEvents(small.org_id, 1);
  const { leased, events_left } = await dispatchEvents(db, roomy, made);
  expect(byOrganization(leased)[small.org_id]).toBe(1);
  expect(events_left).toBe(true);
  await db.query("delete from events");
  await emptied();
});

test("however few events a dispatch is for, every organization has a turn", async () => {
  const busy = await Promise.all(Array.from({ length: 70 }, () => hearingOrganization(db, 1)));
  for (const { org_id } of busy) await addEvents(org_id, 2);
  const late = await hearingOrganization(db, 1);
  await addEvents(late.org_id, 1);
  const { leased, events_left } = await dispatchEvents(db, { ...roomy, free: 500 }, { ...made, events_max: 64 });
  expect(leased).toHaveLength(71);
  expect(byOrganization(leased)[late.org_id]).toBe(1);
  expect(events_left).toBe(true);
  await db.query("delete from events");
  await emptied();
});

test("a claim says when another node had some of what it would have taken", async () => {
  const { org_id } = await hearingOrganization(db, 1);
  await addEvents(org_id, 5);
  await dispatchAll();
  await db.system(async (query) => {
    await query("select 1 from deliveries where org_id = $1 limit 2 for update", [org_id]);
    expect(await claimDue(db, roomy)).toMatchObject({ deliveries: { length: 3 }, passed_over: true });
  });
  expect(await claimDue(db, roomy)).toMatchObject({ deliveries: { length: 2 }, passed_over: false });
  expect(await claimDue(db, roomy)).toMatchObject({ deliveries: { length: 0 }, passed_over: false });
  await emptied();
});

test("eight nodes that dispatch at once make each delivery once, and leave nothing", async () => {
  const organizations = await Promise.all([1, 2, 3].map(() => hearingOrganization(db, 2)));
  for (const { org_id } of organizations) await addEvents(org_id, 300);
  const leased: ClaimedDelivery[] = [];
  const node = async () => {
    for (let left = true; left; ) {
      const pass = await dispatchEvents(db, roomy, made);
      leased.push(...pass.leased);
      left = pass.events_left;
    }
  };
  await Promise.all(Array.from({ length: 8 }, node));
  // Whoever found everything taken by others has stopped; the others go on until nothing is left.
  await node();
  const rows = await db.query<{ event_id: string; webhook_id: string }>(
    "select event_id, webhook_id from deliveries where org_id = any($1)",
    [organizations.map(({ org_id }) => org_id)],
  );
  expect(rows).toHaveLength(1_800);
  expect(new Set(rows.map(({ event_id, webhook_id }) => `${event_id} ${webhook_id}`)).size).toBe(1_800);
  expect(new Set(leased.map(({ delivery_id }) => delivery_id)).size).toBe(leased.length);
  await emptied();
});

test("where two events fill a statement, the turns go on from one to the next: no organization waits for another's burst", async () => {
  const busy = await Promise.all(Array.from({ length: 6 }, () => hearingOrganization(db, 100)));
  for (const { org_id } of busy) await addEvents(org_id, 4);
  const late = await hearingOrganization(db, 1);
  await addEvents(late.org_id, 1);
  await db.query("update events set event_id = 'z' where org_id = $1", [late.org_id]);
  const turns: string[] = [];
  let turn_after = "";
  for (let left = true; left; ) {
    const pass = await dispatchEvents(db, { ...roomy, free: 0 }, { ...made, turn_after });
    turns.push(...new Set(pass.waiting.map(({ org_id }) => org_id)));
    ({ turn: turn_after, events_left: left } = pass);
  }
  const all = [...busy, late].map(({ org_id }) => org_id);
  expect(new Set(turns.slice(0, 7))).toEqual(new Set(all));
  expect(turns).toHaveLength(6 * 4 + 1);
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
    const pass = await dispatchEvents(db, roomy, { ...made, turn_after });
    told.push(pass.leased.length);
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
    await db.query("update webhooks set registered_at = clock_timestamp() - $2::interval where org_id = $1", [
      org_id,
      clock,
    ]);
    await db.query("update events set recorded_seq = $2 where org_id = $1", [org_id, recorded_seq]);
    expect((await dispatchEvents(db, roomy, made)).leased).toHaveLength(told);
  }
  await emptied();
});

test("an event for more receivers than one statement has ids for waits for the next one, whole", async () => {
  const { org_id, webhook_ids } = await hearingOrganization(db, 100);
  await addEvents(org_id, 5);
  const leased: ClaimedDelivery[] = [];
  const sizes: number[] = [];
  for (let left = true; left; ) {
    const pass = await dispatchEvents(db, roomy, made);
    leased.push(...pass.leased);
    sizes.push(pass.leased.length + pass.waiting.length);
    left = pass.events_left;
  }
  expect(sizes).toEqual([200, 200, 100]);
  expect(Object.keys(byWebhook(leased))).toHaveLength(webhook_ids.length);
  await emptied();
});

test("eight claims at once lease each of 400 deliveries once", async () => {
  const { org_id } = await hearingOrganization(db, 4);
  await addEvents(org_id, 100);
  await dispatchAll();
  const lots = await Promise.all(Array.from({ length: 8 }, () => everything({ ...roomy, per_webhook: 40 })));
  const more: ClaimedDelivery[] = [];
  for (let lot = await everything(roomy); lot.length > 0; lot = await everything(roomy)) more.push(...lot);
  const all = [...lots.flat(), ...more];
  expect(new Set(all.map(({ delivery_id }) => delivery_id)).size).toBe(400);
  expect(all).toHaveLength(400);
  await emptied();
});

test("a claim of named receivers leases theirs only, and says nothing about when others are due", async () => {
  const { org_id, webhook_ids } = await hearingOrganization(db, 2);
  await addEvents(org_id, 3);
  await dispatchAll();
  const [named] = webhook_ids as [string, string];
  const { deliveries, due_in_ms } = await claimDue(db, roomy, [{ org_id, webhook_id: named }]);
  expect(byWebhook(deliveries)).toEqual({ [named]: 3 });
  expect(due_in_ms).toBeNull();
  await emptied();
  expect(await claimDue(db, roomy)).toEqual({ deliveries: [], due: [], due_in_ms: null, passed_over: false });
});

test("a claim of all tells whose deliveries are due, also of receivers that have no room", async () => {
  const { org_id, webhook_ids } = await hearingOrganization(db, 2);
  await addEvents(org_id, 1);
  await dispatchAll();
  const [full, free] = [...webhook_ids].sort() as [string, string];
  const { deliveries, due } = await claimDue(db, { ...roomy, receivers: { [`${org_id} ${full}`]: [2, 2] } });
  expect(byWebhook(deliveries)).toEqual({ [free]: 1 });
  expect(due.map(({ webhook_id }) => webhook_id)).toEqual([full, free]);
  await emptied();
});

test("a dispatch goes on where it is told, in each organization, and finds the organizations that it is not told of", async () => {
  const all = await Promise.all([1, 2, 3, 4].map(() => hearingOrganization(db, 1)));
  const [first, told, third, drained] = all.map(({ org_id }) => org_id).sort() as [string, string, string, string];
  for (const org_id of [first, told, third]) await addEvents(org_id, 4);
  const rows = await db.query<{ event_id: string }>("select event_id from events where org_id = $1 order by event_id", [
    told,
  ]);
  const events = rows.map(({ event_id }) => event_id) as [string, string, string, string];
  const after = { [told]: events[1], [drained]: events[1] };
  // A share of two of each, as there may be four organizations.
  const begun = await dispatchEvents(db, roomy, { ...made, after, events_max: 8 });
  expect(byOrganization(begun.leased)).toEqual({ [first]: 2, [told]: 2, [third]: 2 });
  expect(Object.keys(begun.last).sort()).toEqual([first, told, third]);
  expect(begun.last[told]).toBe(events[3]);
  const next = await dispatchEvents(db, roomy, { ...made, after: begun.last });
  expect(byOrganization(next.leased)).toEqual({ [first]: 2, [third]: 2 });
  expect([next.events_left, next.last]).toEqual([false, {}]);
  const rest = await dispatchEvents(db, roomy, made);
  expect(byOrganization(rest.leased)).toEqual({ [told]: 2 });
  await emptied();
});

test("a dispatch that has no ids left for an organization's events goes on before them", async () => {
  const { org_id } = await hearingOrganization(db, 100);
  await addEvents(org_id, 5);
  let after: Readonly<Record<string, string>> = {};
  const sizes: number[] = [];
  for (let left = true; left; ) {
    const pass = await dispatchEvents(db, roomy, { ...made, after, events_max: 5 });
    sizes.push(pass.leased.length);
    ({ last: after, events_left: left } = pass);
  }
  expect(sizes).toEqual([200, 200, 100]);
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
    ({ events_left } = await dispatchEvents(db, { ...roomy, free: 0 }, made));
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
  const orgs = await Promise.all(Array.from({ length: 6 }, () => hearingOrganization(db, 4)));
  for (const { org_id } of orgs) for (let n = 0; n < 2; n += 1) await addLarge(org_id, 3_000_000);
  await dispatchAll();
  const [first, second] = orgs as [(typeof orgs)[0], (typeof orgs)[0]];
  await addEvents(second.org_id, 1);
  await dispatchAll();
  const of = (claimed: readonly ClaimedDelivery[]) => Object.entries(byOrganization(claimed));
  const named = first.webhook_ids.map((webhook_id) => ({ org_id: first.org_id, webhook_id }));
  // Five of 3 MB; the others are told as passed over, since they are due.
  const own = await claimDue(db, roomy, named);
  expect([own.deliveries.length, own.passed_over]).toEqual([5, true]);
  const held = { [first.org_id]: 15_000_120, all: 15_000_120 };
  expect((await claimDue(db, { ...roomy, large: held }, named)).deliveries.length).toBe(0);
  const { deliveries } = await claimDue(db, { ...roomy, large: held });
  expect(deliveries.filter(({ body }) => body.length < 65_536).length).toBe(4);
  const large = deliveries.filter(({ body }) => body.length >= 65_536);
  expect(of(large).every(([org_id, n]) => org_id !== first.org_id && n <= 5)).toBe(true);
  expect(large.length).toBe(17); // with the five that are in flight 66 MB
  await emptied();
});

test("large bodies are not leased as they are dispatched, and one that is larger than what may be in flight goes alone", async () => {
  const own = await hearingOrganization(db, 2);
  await addLarge(own.org_id, 17_000_000);
  const pass = await dispatchEvents(db, roomy, made);
  expect([pass.leased.length, pass.waiting.length, pass.events_left]).toEqual([0, 2, false]);
  expect((await everything({ ...roomy, large: { [own.org_id]: 17_000_000, all: 17_000_000 } })).length).toBe(0);
  expect((await everything(roomy)).length).toBe(1);
  await emptied();
});
