/** Backlogs of events through dispatcher, deliverer and settler, with receivers that the test controls. */
import { describe, expect, it } from "vitest";
import { createClock } from "../../src/edge/clock.ts";
import { createIds } from "../../src/edge/ids.ts";
import { timers } from "../../src/edge/timers.ts";
import type { Db, GiveWay } from "../../src/ports.ts";
import { cancelDeliveries } from "../../src/store/webhooks/deliveries.ts";
import { deleteWebhooks } from "../../src/store/webhooks/webhooks.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { testOrganization } from "../../src/testing/nodes/http-node.ts";
import { silentLog } from "../../src/testing/nodes/silent-log.ts";
import { listen } from "../../src/testing/people/told.ts";
import { startDeliveries } from "../../src/worker/deliveries/deliveries.ts";
import { standardTerms } from "../../src/worker/deliveries/delivery-terms.ts";

const { db } = await testDatabase();
const clock = createClock();
const ids = createIds(clock);

async function organization(): Promise<string> {
  const { org_id } = await testOrganization(db);
  await listen(db, org_id);
  return org_id;
}

async function addEvents(org_id: string, count: number, event_type = "quota.exceeded"): Promise<void> {
  await db.query(
    `insert into events (org_id, event_id, event_type, body, created_at)
     select $1, 'evt_' || gen_random_uuid(), $3, json_build_object('organization_id', $1::text), clock_timestamp()
     from generate_series(1, $2::integer)`,
    [org_id, count, event_type],
  );
}

interface Arranged {
  readonly hung?: ReadonlySet<string>;
  readonly giveWay?: GiveWay;
}

/**
 * The three machines with only their first look, without later timers. `sizes` counts events and attempts of each
 * statement.
 */
function machines({ hung = new Set(), giveWay }: Arranged = {}) {
  const attempted: string[] = [];
  const sizes = { dispatch: [] as number[], settle: [] as number[] };
  const counting: Pick<Db, "queued"> = {
    queued(statement, params) {
      if (statement.name === "deliveries-dispatch") sizes.dispatch.push(params[2] as number);
      // The array's length follows its dimensions, flags and type.
      if (statement.name === "deliveries-settle") sizes.settle.push((params[1] as Buffer).readInt32BE(12));
      return db.queued(statement, params);
    },
  };
  let looks = 0;
  const deliveries = startDeliveries({
    ...(giveWay === undefined ? {} : { giveWay }),
    ids,
    clock,
    log: silentLog,
    db: { ...db, ...counting } as Db,
    metrics: { attempted: () => undefined },
    timers: {
      after(ms, run) {
        if (ms < 400) return timers.after(ms, run);
        looks += 1;
        return () => undefined;
      },
    },
    sealer: { open: () => "whsec_" } as never,
    httpOut: {
      post: (_: string, __: unknown, body: string) =>
        new Promise((resolve) => {
          attempted.push(body);
          if (!hung.has(JSON.parse(body).organization_id))
            setTimeout(() => resolve({ response_status: 200, error: null, duration_ms: 3 }), 3);
        }),
    } as never,
  });
  return { deliveries, attempted, sizes, looks: () => looks };
}

const left = async (org_id: string) => {
  const [row] = await db.query<{ events: number; pending: number }>(
    `select (select count(*)::int from events where org_id = $1) as events,
       (select count(*)::int from deliveries where org_id = $1 and status = 'pending') as pending`,
    [org_id],
  );
  return row;
};
const nothing = { events: 0, pending: 0 };

describe("a backlog", () => {
  it("is not sent to a webhook deleted while the machines yield", async () => {
    const org_id = await organization();
    await addEvents(org_id, 4);
    const resting: (() => void)[] = [];
    let gone = false;
    const giveWay: GiveWay = {
      asked: () => !gone,
      expecting: () => false,
      rest: () => new Promise((resolve) => void resting.push(resolve)),
    };
    const { deliveries, attempted } = machines({ giveWay });
    // The dispatcher rests before its statement, then the deliverer before the lease.
    await expect.poll(() => resting).toHaveLength(1);
    resting[0]?.();
    await expect.poll(() => resting).toHaveLength(2);
    await db.tenant(org_id, async (query) => {
      await cancelDeliveries(query, org_id, ["wh_listens"]);
      await deleteWebhooks(query, org_id, ["wh_listens"]);
    });
    gone = true;
    resting[1]?.();
    await expect.poll(() => left(org_id)).toEqual(nothing);
    await deliveries.stop();
    expect(attempted).toEqual([]);
  });

  it("is delivered completely without another look", async () => {
    const org_id = await organization();
    await addEvents(org_id, 1_500);
    const { deliveries, attempted, looks } = machines();
    await expect.poll(() => left(org_id)).toEqual(nothing);
    expect(attempted).toHaveLength(1_500);
    expect(looks()).toBeGreaterThan(0); // looks were requested and none ran
    await deliveries.stop();
  });

  it("that arrives during another one is processed, too, even without a listening webhook", async () => {
    const org_id = await organization();
    await addEvents(org_id, 400);
    const { deliveries, attempted } = machines();
    await expect.poll(() => attempted.length, { interval: 1 }).toBeGreaterThan(100);
    await addEvents(org_id, 700, "unheard.of");
    await addEvents(org_id, 400);
    deliveries.wake(org_id);
    await expect.poll(() => attempted.length).toBe(800);
    await expect.poll(() => left(org_id)).toEqual(nothing);
    await deliveries.stop();
  });

  it("for a receiver that never answers is dispatched completely, and later receivers get their events", async () => {
    const [stuck, free] = [await organization(), await organization()];
    for (const org_id of [stuck, free]) await addEvents(org_id, 600);
    const { deliveries, attempted } = machines({ hung: new Set([stuck]) });
    const of = (org_id: string) => attempted.filter((body) => body.includes(org_id)).length;
    await expect.poll(() => of(free)).toBe(600);
    await expect.poll(() => left(stuck)).toEqual({ events: 0, pending: 600 });
    expect(of(stuck)).toBe(standardTerms.per_webhook.first);
    await db.query("update deliveries set status = 'cancelled' where org_id = $1", [stuck]);
    void deliveries.stop();
  });

  it("of 10,000 events does not delay another organization's single event", async () => {
    const [busy, other] = [await organization(), await organization()];
    await addEvents(busy, 10_000);
    const { deliveries, attempted } = machines({ hung: new Set([busy]) });
    await expect.poll(() => attempted.length, { interval: 1 }).toBeGreaterThan(0);
    await addEvents(other, 1);
    deliveries.wake(other);
    await expect.poll(() => attempted.some((body) => body.includes(other)), { interval: 1 }).toBe(true);
    expect((await left(busy))?.events).toBeGreaterThan(5_000);
    void deliveries.stop();
    await db.query("delete from events");
    await db.query("update deliveries set status = 'cancelled' where status = 'pending'");
  });

  it("yields to requests before every statement, uses small statements meanwhile, and still completes", async () => {
    const org_id = await organization();
    await addEvents(org_id, 300);
    let rests = 0;
    const rest = async () => {
      rests += 1;
    };
    const { deliveries, attempted, sizes } = machines({ giveWay: { asked: () => true, expecting: () => true, rest } });
    await expect.poll(() => left(org_id)).toEqual(nothing);
    expect(attempted).toHaveLength(300);
    await deliveries.stop();
    expect(rests).toBeGreaterThan(sizes.dispatch.length + sizes.settle.length);
    expect(new Set(sizes.dispatch)).toEqual(new Set([32]));
    expect(sizes.settle.reduce((sum, size) => sum + size)).toBe(300);
    expect(Math.max(...sizes.settle)).toBeLessThanOrEqual(32);
  });

  it("uses full statements while no request runs", async () => {
    const org_id = await organization();
    await addEvents(org_id, 300);
    const rest = () => Promise.reject(new Error("nobody asked"));
    const { deliveries, sizes } = machines({ giveWay: { asked: () => false, expecting: () => false, rest } });
    await expect.poll(() => left(org_id)).toEqual(nothing);
    await deliveries.stop();
    expect(new Set(sizes.dispatch)).toEqual(new Set([200]));
    expect(sizes.settle.reduce((sum, size) => sum + size)).toBe(300);
  });
});
