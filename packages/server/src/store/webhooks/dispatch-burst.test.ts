/** The way for a burst does what the way for everything does, or nothing. Source: decision 0020. */
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { runs } from "../../../../../scripts/property-runs.ts";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { type TestDatabase, testDatabase } from "../../testing/database/database.ts";
import { testOrganization } from "../../testing/nodes/http-node.ts";
import { large_bytes, type Room } from "./delivery-queue.ts";
import { type Burst, type BurstSoFar, burstOf, dispatchBurst, dispatchNext, no_burst } from "./dispatch-burst.ts";
import type { Dispatched } from "./dispatch-events.ts";

const { db }: TestDatabase = await testDatabase();
const ids = createIds(createClock());
const created_at = "2026-11-21T00:00:00.000000Z";
const terms = { next_id: () => ids.next("delivery"), created_at };

interface Hears {
  readonly event_types?: readonly string[];
  readonly active?: boolean;
  readonly escalation_id?: string | null;
  /** Its place in the organization's sequence. */
  readonly registered?: number;
}
interface Told {
  readonly event_type?: string;
  readonly escalation_id?: string | null;
  readonly bytes?: number;
  /** The organization's sequence; null: unknown. */
  readonly recorded?: number | null;
}

/** Webhooks and events of a new organization, in their order. */
async function organization(webhooks: readonly Hears[], events: readonly Told[]) {
  const { org_id } = await testOrganization(db);
  const webhook_ids = webhooks.map(() => ids.next("webhook"));
  for (const [n, hears] of webhooks.entries()) {
    const { event_types = ["quota.exceeded"], active = true, escalation_id = null, registered = 0 } = hears;
    await db.query(
      `insert into webhooks (org_id, webhook_id, url, secret_sealed, event_types, active, escalation_id, description, created_at, registered_seq)
       values ($1, $2, 'https://receiver.test/', 'sealed', $3::json, $4, $5, '', now(), $6)`,
      [org_id, webhook_ids[n], JSON.stringify(event_types), active, escalation_id, registered],
    );
  }
  await addEvents(org_id, events);
  return { org_id, webhook_ids };
}

let numbers = 0;
async function addEvents(org_id: string, events: readonly Told[]): Promise<void> {
  for (const { event_type = "quota.exceeded", escalation_id = null, bytes = 20, recorded = 5 } of events)
    await db.query(
      `insert into events (org_id, event_id, event_type, escalation_id, body, created_at, recorded_seq)
       values ($1, $2, $3, $4, json_build_object('data', repeat('x', $5::integer)), clock_timestamp(), $6)`,
      [org_id, `evt_${String(++numbers).padStart(9, "0")}`, event_type, escalation_id, bytes, recorded],
    );
}

/** Room for all of the burst's webhooks, with `places` for each. */
function roomFor({ org_id, webhook_ids }: Burst, places = 100, known: Partial<Room> = {}): Room {
  return {
    ...{ free: 1_000, reserve: 100, few: 0, per_organization: 1_000, per_webhook: 8, lease_ms: 60_000 },
    receivers: Object.fromEntries(webhook_ids.map((id) => [`${org_id} ${id}`, [0, places] as const])),
    ...{ organizations: {}, ...known },
  };
}

const stored = (org_id: string) =>
  db.query<{ event_id: string; webhook_id: string; body: string; attempts: number; leased: boolean; status: string }>(
    `select event_id, webhook_id, body, attempts, status, due_at > clock_timestamp() + interval '50 s' as leased from deliveries
     where org_id = $1 order by event_id, webhook_id`,
    [org_id],
  );
const eventsLeft = async (org_id: string) =>
  (await db.query<{ event_id: string }>("select event_id from events where org_id = $1 order by 1", [org_id])).map(
    ({ event_id }) => event_id,
  );
const next = (burst: Burst, events_max: number, room = roomFor(burst)) =>
  dispatchBurst(db, room, { ...terms, events_max, after: { [burst.org_id]: "" } }, burst);
const many = (count: number, told: Told = {}) => Array.from({ length: count }, () => told);

beforeEach(async () => {
  await db.query("delete from events");
});

test("leases each event for each webhook, takes the events away, and says where to go on", async () => {
  const burst = await organization([{}, {}], many(5));
  const [first = "", second = "", third = ""] = await eventsLeft(burst.org_id);
  const dispatched = (await next(burst, 3)) as Dispatched;
  expect(dispatched).toMatchObject({
    waiting: [],
    events_left: true,
    last: { [burst.org_id]: third },
    turn: burst.org_id,
  });
  const rows = await stored(burst.org_id);
  const expected = [first, second, third].flatMap((event_id) =>
    burst.webhook_ids.map((webhook_id) => ({ event_id, webhook_id })),
  );
  expect(rows.map(({ event_id, webhook_id }) => ({ event_id, webhook_id }))).toEqual(expected);
  for (const { webhook_id, body, attempts, leased, status } of rows) {
    expect({ attempts, leased, status }).toEqual({ attempts: 1, leased: true, status: "pending" });
    expect(JSON.parse(body)).toEqual({ data: "x".repeat(20), webhook_id });
  }
  expect(dispatched.leased.map(({ body }) => body).sort()).toEqual(rows.map(({ body }) => body).sort());
  expect(new Set(dispatched.leased.map(({ delivery_id }) => delivery_id)).size).toBe(6);
  expect(dispatched.leased[0]).toMatchObject({
    org_id: burst.org_id,
    number: 1,
    outcomes: [],
    secret_sealed: "sealed",
  });
  expect(await eventsLeft(burst.org_id)).toHaveLength(2);
  const after = { [burst.org_id]: third };
  expect(burstOf(dispatched)).toEqual(burst);
  const rest = await dispatchBurst(db, roomFor(burst), { ...terms, events_max: 3, after }, burst);
  expect([rest?.leased.length, rest?.events_left]).toEqual([4, false]);
  expect(await next(burst, 3)).toBe(null); // nothing is left
});

describe("changes nothing where", () => {
  const other = { event_types: ["decision.blocked"] };
  const cases: [string, readonly Hears[], readonly Told[]][] = [
    ["another webhook hears of one of them", [{}, other], [{}, { event_type: "decision.blocked" }]],
    ["another webhook hears of them, too", [{}, {}], many(2)],
    ["nobody hears of them", [], many(2)],
    ["nobody hears of them any more", [{ active: false }], many(2)],
    ["one of them is for nobody", [{}], [{}, { event_type: "decision.blocked" }]],
    ["the webhook was registered after one of them", [{ registered: 5 }], [{ recorded: 4 }, { recorded: 5 }]],
    ["the webhook is of one review", [{ escalation_id: "esc_1" }], many(2, { escalation_id: "esc_1" })],
    ["one of them is large", [{}], [{}, { bytes: large_bytes.over }]],
  ];
  test.each(cases)("%s", async (_, webhooks, events) => {
    const { org_id, webhook_ids } = await organization(webhooks, events);
    const burst = { org_id, webhook_ids: webhook_ids.slice(0, 1) };
    expect(await next(burst, 2)).toBe(null);
    expect([await eventsLeft(org_id), await stored(org_id)]).toEqual([expect.arrayContaining([expect.anything()]), []]);
    expect(await eventsLeft(org_id)).toHaveLength(2);
  });

  test.each(["before", "after"])("an organization %s it has an event", async (place) => {
    const orgs = [await organization([{}], many(2)), await organization([{}], many(1))];
    orgs.sort((a, b) => (a.org_id < b.org_id ? -1 : 1));
    const [first, second] = orgs as unknown as [Burst, Burst];
    const burst = place === "after" ? first : second;
    expect(await next(burst, 1)).toBe(null);
    expect([...(await stored(first.org_id)), ...(await stored(second.org_id))]).toEqual([]);
  });

  test("a part of a large event was told before", async () => {
    const burst = await organization([{}], many(2));
    await db.query("update events set told_up_to = '' where org_id = $1", [burst.org_id]);
    expect(await next(burst, 2)).toBe(null);
  });

  test("more is stored of them than a statement unpacks, though none is large", async () => {
    const burst = await organization([{}], many(35));
    await db.query(
      `update events set body = json_build_object('data', (select string_agg(md5(event_id || n), '') from generate_series(1, 2040) n))
       where org_id = $1`,
      [burst.org_id],
    );
    expect(await next(burst, 35)).toBe(null);
    expect(await eventsLeft(burst.org_id)).toHaveLength(35);
    expect((await next(burst, 30))?.leased).toHaveLength(30);
  });

  test.each([
    ["a receiver's places", 3, {}],
    ["the node's places but for the reserve", 100, { free: 103 }],
    ["the organization's places", 100, { per_organization: 3 }],
  ])("there are fewer of %s than events", async (_, places, known) => {
    const burst = await organization([{}], many(9));
    expect(await next(burst, 4, roomFor(burst, places, known))).toBe(null);
    expect((await next(burst, 3, roomFor(burst, places, known)))?.leased).toHaveLength(3);
  });

  test("the node knows nothing of the receiver, or not where the events before these ended", async () => {
    const burst = await organization([{}], many(2));
    expect(await next(burst, 1, roomFor(burst, 100, { receivers: {} }))).toBe(null);
    expect(await dispatchBurst(db, roomFor(burst), { ...terms, events_max: 1 }, burst)).toBe(null);
  });
});

test("a webhook hears of events of which nobody noted when they were recorded", async () => {
  const burst = await organization([{ registered: 6 }], many(2, { recorded: null }));
  expect((await next(burst, 2))?.leased).toHaveLength(2);
});

test("webhooks that hear of none of them are in nobody's way", async () => {
  const { org_id, webhook_ids } = await organization([{}, { event_types: ["decision.blocked"] }], many(2));
  expect((await next({ org_id, webhook_ids: webhook_ids.slice(0, 1) }, 2))?.leased).toHaveLength(2);
});

test("no more deliveries than a statement may make", async () => {
  const burst = await organization(
    Array.from({ length: 100 }, () => ({})),
    many(3),
  );
  expect(await next(burst, 200, roomFor(burst, 200))).toMatchObject({ events_left: true });
  expect(await stored(burst.org_id)).toHaveLength(200);
});

test("an event goes once, however many nodes take the burst at once", async () => {
  const burst = await organization([{}], many(60));
  const passes = await Promise.all(Array.from({ length: 6 }, () => next(burst, 20)));
  const leased = passes.flatMap((pass) => pass?.leased ?? []);
  const rows = await stored(burst.org_id);
  expect(rows.length).toBeGreaterThanOrEqual(20);
  expect(leased).toHaveLength(rows.length);
  expect(new Set(rows.map(({ event_id }) => event_id)).size).toBe(rows.length);
  expect(await eventsLeft(burst.org_id)).toHaveLength(60 - rows.length);
});

test("what another node is dispatching is left to it, and nothing more is looked for where it has all", async () => {
  const burst = await organization([{}], many(3));
  const events = await eventsLeft(burst.org_id);
  const lock = "select from events where org_id = $1 and event_id = any($2) for update";
  const [first, second] = await db.system(async (query) => {
    await query(lock, [burst.org_id, events.slice(0, 1)]);
    const others = await next(burst, 2);
    await query(lock, [burst.org_id, events]);
    return [others, await next(burst, 2)];
  });
  expect([first?.leased.length, first?.events_left, first?.last]).toEqual([1, true, { [burst.org_id]: events[1] }]);
  expect(second).toMatchObject({ leased: [], events_left: false });
  expect((await next(burst, 3))?.leased).toHaveLength(2);
  expect((await stored(burst.org_id)).map(({ event_id }) => event_id)).toEqual(events);
});

const types = ["quota.exceeded", "decision.blocked", "escalation.created"];
const hears: fc.Arbitrary<Hears> = fc.record({
  event_types: fc.subarray(types, { minLength: 1 }),
  active: fc.boolean(),
  escalation_id: fc.constantFrom(null, null, null, "esc_1"),
  registered: fc.constantFrom(0, 0, 5, 6),
});
const told: fc.Arbitrary<Told> = fc.record({
  event_type: fc.constantFrom(...types),
  escalation_id: fc.constantFrom(null, "esc_1"),
  bytes: fc.constantFrom(20, 20, 20, large_bytes.over),
  recorded: fc.constantFrom(null, 4, 5, 5, 5, 6),
});

test("whatever is taken for a burst: who is to hear of an event is told once, and nobody else", async () => {
  const alike = fc.record({
    webhooks: fc.array(fc.constant({}), { maxLength: 3 }),
    events: fc.array(fc.constant({}), { maxLength: 8 }),
  });
  const any = fc.record({ webhooks: fc.array(hears, { maxLength: 3 }), events: fc.array(told, { maxLength: 8 }) });
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(alike, any),
      fc.nat(3),
      fc.integer({ min: 1, max: 4 }),
      async (is, taken_for, events_max) => {
        const { org_id, webhook_ids } = await organization(is.webhooks, is.events);
        const event_ids = await eventsLeft(org_id);
        const burst = { org_id, webhook_ids: webhook_ids.slice(0, taken_for) };
        let so_far = burst.webhook_ids.length > 0 ? { ...no_burst, burst } : no_burst;
        let after: Dispatched["last"] = { [org_id]: "" };
        for (let events_left = true; events_left; ) {
          const next = await dispatchNext(db, roomFor(burst), { ...terms, events_max, after }, so_far);
          so_far = next.so_far;
          ({ events_left, last: after } = next.dispatched);
        }
        const expected = event_ids.flatMap((event_id, n) => {
          const { event_type = "quota.exceeded", escalation_id: about = null, recorded = 5 } = is.events[n] as Told;
          return webhook_ids
            .filter((_, of) => {
              const {
                event_types = ["quota.exceeded"],
                active = true,
                escalation_id = null,
                registered = 0,
              } = is.webhooks[of] as Hears;
              const watched =
                escalation_id === null || (escalation_id === about && event_type.startsWith("escalation."));
              const later = recorded === null || registered <= recorded;
              return active && watched && later && event_types.includes(event_type);
            })
            .map((webhook_id) => ({ event_id, webhook_id }));
        });
        const rows = await stored(org_id);
        expect(rows.map(({ event_id, webhook_id }) => ({ event_id, webhook_id }))).toEqual(expected);
        expect(await eventsLeft(org_id)).toEqual([]);
      },
    ),
    { numRuns: runs(60) },
  );
});

test("what is never alike is asked about less and less, what is alike again after at most 31 dispatches, and always", async () => {
  const { org_id, webhook_ids } = await organization([{}], []);
  const burst = { org_id, webhook_ids };
  const unheard: Told = { event_type: "decision.blocked" };
  await addEvents(org_id, [...Array.from({ length: 70 }, () => [{}, unheard]).flat(), ...many(80)]);
  let names: string[] = [];
  const counting: typeof db.queued = (statement, params) => {
    names.push(statement.name);
    return db.queued(statement, params);
  };
  const asked: boolean[][] = [];
  let so_far: BurstSoFar = { ...no_burst, burst };
  let after: Dispatched["last"] = { [org_id]: "" };
  for (let events_left = true; events_left; ) {
    names = [];
    const now = await dispatchNext({ queued: counting }, roomFor(burst), { ...terms, events_max: 2, after }, so_far);
    so_far = now.so_far;
    ({ events_left, last: after } = now.dispatched);
    asked.push(["deliveries-dispatch-burst", "deliveries-dispatch"].map((name) => names.includes(name)));
  }
  const unlike = asked.slice(0, 70);
  expect(unlike.flatMap(([burst_asked], n) => (burst_asked ? [n] : []))).toEqual([0, 1, 3, 7, 15, 31, 63]);
  expect(unlike.every(([, everything]) => everything)).toBe(true);
  const first = asked.findIndex(([, everything]) => !everything);
  expect(first).toBeLessThanOrEqual(63 + 32);
  // But for the last one, which finds nothing.
  expect(asked.slice(first, -1).every(([burst_asked, everything]) => burst_asked && !everything)).toBe(true);
  expect(so_far).toEqual(no_burst);
  expect(await stored(org_id)).toHaveLength(150);
});

test("a burst is one organization's, with nothing that waits", () => {
  const leased = ["b", "a", "b"].map((webhook_id) => ({ org_id: "o", webhook_id })) as never;
  const one: Dispatched = { leased, waiting: [], events_left: true, last: { o: "evt_1" }, turn: "o" };
  expect(burstOf(one)).toEqual({ org_id: "o", webhook_ids: ["a", "b"] });
  expect(burstOf({ ...one, events_left: false })).toBe(null);
  expect(burstOf({ ...one, last: {} })).toBe(null);
  expect(burstOf({ ...one, last: { o: "evt_1", p: "evt_2" } })).toBe(null);
  expect(burstOf({ ...one, last: { p: "evt_2" } })).toBe(null);
  expect(burstOf({ ...one, leased: [] })).toBe(null);
  expect(burstOf({ ...one, waiting: [{ org_id: "o", webhook_id: "c" }] })).toBe(null);
});
