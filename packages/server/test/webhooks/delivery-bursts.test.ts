/** Bursts of events through the loop, against the database, with receivers that answer when the test says. */
import { describe, expect, it } from "vitest";
import { createClock } from "../../src/edge/clock.ts";
import { createIds } from "../../src/edge/ids.ts";
import { timers } from "../../src/edge/timers.ts";
import type { Db, GiveWay } from "../../src/ports.ts";
import { cancelDeliveries } from "../../src/store/webhooks/deliveries.ts";
import { deleteWebhook } from "../../src/store/webhooks/webhooks.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { testOrganization } from "../../src/testing/nodes/http-node.ts";
import { silentLog } from "../../src/testing/nodes/silent-log.ts";
import { listen } from "../../src/testing/people/told.ts";
import { delivery_terms, startDeliveries } from "../../src/worker/deliveries/deliveries.ts";

const { db } = await testDatabase();
const clock = createClock();
const ids = createIds(clock);
const answer_ms = 3;
/** Between two looks of the pace. */
const pace_ms = 20;
/** For which ended attempts gather. */
const gather_ms = 50;

/** An organization whose one webhook takes everything. */
async function organization(): Promise<string> {
  const { org_id } = await testOrganization(db);
  await listen(db, org_id);
  return org_id;
}

async function addEvents(org_id: string, count: number, event_type = "quota.exceeded"): Promise<void> {
  await db.query(
    `insert into events (org_id, event_id, event_type, body, created_at)
     select $1, 'evt_' || gen_random_uuid(), $3, '{"data":{},"organization_id":"o"}', clock_timestamp() from generate_series(1, $2::integer)`,
    [org_id, count, event_type],
  );
}

/**
 * The loop, without the looks that find what a lost wake-up left behind: only the first one. `claimed` counts the deliveries
 * that were claimed after they were made. `hung` organizations never answer. `endless`: waits that nobody ends, as a busy
 * machine may do nothing at all in the meantime; what ended attempts gather for is done by `settle` then.
 */
function loop({
  hung = new Set(),
  giveWay,
  endless = [],
  now_us = clock.now_us,
}: {
  hung?: ReadonlySet<string>;
  giveWay?: GiveWay;
  endless?: readonly number[];
  now_us?: () => number;
} = {}) {
  const attempted: string[] = [];
  let answered = 0;
  let claimed = 0;
  /** What dispatches and settlements were for. */
  const sizes = { dispatch: [] as number[], burst: [] as number[], settle: [] as number[] };
  const counting: Pick<Db, "queued"> = {
    async queued(statement, params) {
      if (statement.name === "deliveries-dispatch") sizes.dispatch.push(params[9] as number);
      if (statement.name === "deliveries-dispatch-burst") sizes.burst.push(params[4] as number);
      // The length of an array stands behind its dimensions, flags and type.
      if (statement.name === "deliveries-settle") sizes.settle.push((params[1] as Buffer).readInt32BE(12));
      const rows = await db.queued<{ delivery_id: string | null }>(statement, params);
      if (statement.name === "deliveries-claim") claimed += rows.filter((row) => row.delivery_id !== null).length;
      return rows as never;
    },
  };
  let looks = 0;
  let settle: () => void = () => undefined;
  const deliveries = startDeliveries({
    ...(giveWay === undefined ? {} : { giveWay }),
    ids,
    clock: { now_us },
    log: silentLog,
    db: { ...db, ...counting } as Db,
    metrics: { attempted: () => undefined },
    timers: {
      after(ms, run) {
        if (ms >= 400) looks += 1;
        if (ms === gather_ms) settle = run;
        return ms >= 400 || endless.includes(ms) ? () => undefined : timers.after(ms, run);
      },
    },
    sealer: { open: () => "whsec_" } as never,
    httpOut: {
      post: (_: string, __: unknown, body: string) =>
        new Promise((resolve) => {
          attempted.push(body);
          if (hung.has(JSON.parse(body).organization_id)) return;
          setTimeout(() => {
            answered += 1;
            resolve({ response_status: 200, error: null, duration_ms: answer_ms });
          }, answer_ms);
        }),
    } as never,
  });
  return {
    ...{ deliveries, attempted, sizes },
    ...{ answered: () => answered, claimed: () => claimed, looks: () => looks, settle: () => settle() },
  };
}

const left = async (org_id: string) => {
  const [row] = await db.query<{ events: number; pending: number }>(
    `select (select count(*)::int from events where org_id = $1) as events,
       (select count(*)::int from deliveries where org_id = $1 and status = 'pending') as pending`,
    [org_id],
  );
  return row;
};

describe("a burst", () => {
  it("is not sent to its end where its webhook is deleted while the thread gives way: what did not begin is dropped", async () => {
    const org_id = await organization();
    const [webhook] = await db.query<{ webhook_id: string }>("select webhook_id from webhooks where org_id = $1", [
      org_id,
    ]);
    await addEvents(org_id, 4);
    let rested_us = 0;
    const resting: (() => void)[] = [];
    const giveWay: GiveWay = {
      asked: () => attempted.length === 1 && rested_us === 0,
      expecting: () => false,
      rest: () => new Promise((resolve) => void resting.push(resolve)),
    };
    const { deliveries, attempted } = loop({ giveWay, now_us: () => clock.now_us() + rested_us });
    await expect.poll(() => resting).not.toEqual([]);
    await db.tenant(org_id, async (query) => {
      await cancelDeliveries(query, org_id, webhook?.webhook_id ?? "");
      await deleteWebhook(query, org_id, webhook?.webhook_id ?? "");
    });
    rested_us = 60_000_000;
    for (const goOn of resting) goOn();
    // It has its places back, or the stop would wait for them.
    await deliveries.stop();
    expect(attempted).toHaveLength(1);
    expect(await left(org_id)).toEqual({ events: 0, pending: 0 });
  });

  it("is delivered to its end without another look, most of it without a claim", async () => {
    const org_id = await organization();
    await addEvents(org_id, 3_000);
    const { deliveries, attempted, claimed, looks, sizes } = loop({ endless: [pace_ms] });
    await expect.poll(() => attempted.length).toBe(3_000);
    await expect.poll(() => left(org_id)).toEqual({ events: 0, pending: 0 });
    expect(looks()).toBeGreaterThan(0); // they were asked for, and did not come
    expect(claimed()).toBeLessThan(1_500);
    expect(sizes.burst.length).toBeGreaterThan(5);
    await deliveries.stop();
  });

  it("of which a webhook hears half is delivered too, and seldom taken for one that it hears all of", async () => {
    const org_id = await organization();
    await db.query(
      `insert into events (org_id, event_id, event_type, body, created_at)
       select $1, 'evt_' || lpad(n::text, 9, '0'), case when n % 2 = 0 then 'quota.exceeded' else 'unheard.of' end, '{"data":{}}', clock_timestamp()
       from generate_series(1, 6000) n`,
      [org_id],
    );
    const { deliveries, attempted, sizes } = loop();
    await expect.poll(() => attempted.length).toBe(3_000);
    await expect.poll(() => left(org_id)).toEqual({ events: 0, pending: 0 });
    await deliveries.stop();
    expect(sizes.dispatch.length).toBeGreaterThan(30);
    expect(sizes.burst.length).toBeLessThan(10);
  });

  it("that comes while another is on its way is delivered too, also when no webhook hears of it", async () => {
    const org_id = await organization();
    await addEvents(org_id, 400);
    const { deliveries, attempted } = loop();
    await expect.poll(() => attempted.length, { interval: 1 }).toBeGreaterThan(100);
    await addEvents(org_id, 700, "unheard.of");
    await addEvents(org_id, 400);
    deliveries.poke();
    await expect.poll(() => attempted.length).toBe(800);
    await expect.poll(() => left(org_id)).toEqual({ events: 0, pending: 0 });
    await deliveries.stop();
  });

  it("for a receiver that never answers is dispatched to its end, and others behind it are told", async () => {
    const [stuck, free] = [await organization(), await organization()];
    for (const org_id of [stuck, free]) {
      await db.query(
        `insert into events (org_id, event_id, event_type, body, created_at)
         select $1, 'evt_' || gen_random_uuid(), 'quota.exceeded', json_build_object('organization_id', $1::text), clock_timestamp()
         from generate_series(1, 1000)`,
        [org_id],
      );
    }
    const { deliveries, attempted } = loop({ hung: new Set([stuck]) });
    const of = (org_id: string) => attempted.filter((body) => body.includes(org_id)).length;
    await expect.poll(() => of(free)).toBe(1_000);
    await expect.poll(() => left(stuck)).toEqual({ events: 0, pending: 1_000 });
    expect(of(stuck)).toBe(delivery_terms.per_webhook.first);
    await db.query("update deliveries set status = 'cancelled' where org_id = $1", [stuck]);
    void deliveries.stop();
  });

  it("gives way to requests before every attempt and every statement, and still comes to its end", async () => {
    const org_id = await organization();
    await addEvents(org_id, 300);
    let rests = 0;
    const giveWay = {
      asked: () => true,
      expecting: () => false,
      rest: async () => {
        rests += 1;
      },
    };
    const { deliveries, attempted } = loop({ giveWay });
    await expect.poll(() => left(org_id)).toEqual({ events: 0, pending: 0 });
    expect(attempted).toHaveLength(300);
    expect(rests).toBeGreaterThan(300);
    await deliveries.stop();
  });

  it.each([
    { requests: "come", expecting: true, rest_of_burst: 32, settled_max: 32 },
    { requests: "do not come", expecting: false, rest_of_burst: 144, settled_max: 600 },
  ])("dispatches and settles in small pieces only while requests come: they $requests", async (the) => {
    const org_id = await organization();
    await addEvents(org_id, 600);
    const giveWay = { asked: () => false, expecting: () => the.expecting, rest: async () => undefined };
    const { deliveries, answered, sizes, settle } = loop({ giveWay, endless: [pace_ms, gather_ms] });
    await expect.poll(answered).toBe(600);
    settle();
    await expect.poll(() => left(org_id)).toEqual({ events: 0, pending: 0 });
    await deliveries.stop();
    expect(new Set(sizes.dispatch)).toEqual(new Set([200, the.rest_of_burst]));
    expect(sizes.burst.every((size) => size === the.rest_of_burst)).toBe(true);
    expect(sizes.settle.reduce((sum, size) => sum + size)).toBe(600);
    expect(Math.max(...sizes.settle)).toBeLessThanOrEqual(the.settled_max);
    if (!the.expecting) expect(Math.max(...sizes.settle)).toBeGreaterThan(32);
  });
});
