import { expect, test } from "vitest";
import type { Attempt } from "../../operations/webhooks/attempt-delivery.ts";
import type { Db } from "../../ports.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { courtesyOf } from "./courtesy.ts";
import { Deliverer } from "./deliverer.ts";
import type { DeliveryTerms } from "./delivery-terms.ts";

const per_webhook = { first: 100, least: 2, most: 100 };
const terms: DeliveryTerms = { slots: 40, reserve: 8, few: 4, per_webhook, per_organization: 20, lease_ms: 1_000 };
const settled = async () => {
  for (let n = 0; n < 50; n++) await new Promise(setImmediate);
};

/** Attempts last until the test ends them. The test triggers looks and timers. */
function stage(queue: Record<string, number>) {
  const leases: [org_id: string, count: number][] = [];
  const attempts: { readonly org_id: string; readonly end: () => void }[] = [];
  const timers: (() => void)[] = [];
  let made = 0;
  const db = {
    async queued(_: unknown, [org_id, , , places]: [string, string, number, number]) {
      const count = Math.min(queue[org_id] ?? 0, places);
      queue[org_id] = (queue[org_id] ?? 0) - count;
      leases.push([org_id, count]);
      const lines = Array.from({ length: count }, () => ({
        ...{
          org_id,
          delivery_id: `dlv_${made++}`,
          webhook_id: "wh_1",
          event_type: "quota.exceeded",
          intent_id: null,
          body: org_id,
        },
        ...{
          original_delivery_id: null,
          number: 1,
          outcomes: [],
          url: "https://receiver.test",
          secret_sealed: "",
          next_secret_sealed: null,
          headers_sealed: null,
          paused: false,
          blocked: null,
        },
      }));
      return [...lines, { org_id, delivery_id: null, blocked: (queue[org_id] as number) > 0 }];
    },
    system: async () => Object.keys(queue).filter((org_id) => (queue[org_id] as number) > 0),
  };
  const runtime = {
    ...{
      db: db as unknown as Db,
      log: silentLog,
      clock: { now_us: () => 0 },
      sealer: { open: () => "whsec_" } as never,
    },
    timers: {
      after(_: number, run: () => void) {
        timers.push(run);
        return () => undefined;
      },
    },
    httpOut: {
      post: (_: string, __: unknown, org_id: string) =>
        new Promise((resolve) => {
          attempts.push({ org_id, end: () => resolve({ response_status: 200, error: null, duration_ms: 1 }) });
        }),
    } as never,
  };
  const ended: Attempt[] = [];
  const deliverer = new Deliverer(runtime, terms, courtesyOf(), (attempt) => void ended.push(attempt));
  /** Ends the oldest attempts, of an organization or of all. */
  async function end(count: number, of?: string): Promise<void> {
    for (let n = 0; n < count; n++) {
      const at = attempts.findIndex(({ org_id }) => of === undefined || org_id === of);
      attempts.splice(at, 1)[0]?.end();
    }
    await settled();
  }
  const inFlight = () => {
    const counts: Record<string, number> = {};
    for (const { org_id } of attempts) counts[org_id] = (counts[org_id] ?? 0) + 1;
    return counts;
  };
  return { deliverer, leases, timers, end, inFlight, ended };
}

test("organizations share the places of the node, and the last of them are for those with few attempts in flight", async () => {
  const { deliverer, inFlight } = stage({ a: 1_000, b: 1_000, c: 1_000 });
  for (const org_id of ["a", "b", "c"]) deliverer.wake(org_id);
  await settled();
  // 32 of 40 places are not reserved. A reserved one is only for an organization's first four attempts.
  const all = Object.values(inFlight()).reduce((sum, n) => sum + n);
  expect(all).toBeGreaterThanOrEqual(32);
  expect(all).toBeLessThanOrEqual(32 + 4);
  expect(Math.max(...Object.values(inFlight()))).toBeLessThanOrEqual(20);
  expect(Math.min(...Object.values(inFlight()))).toBeGreaterThanOrEqual(4);
});

test("organizations that find no place are served in turns, before those that had some", async () => {
  const names = Array.from({ length: 20 }, (_, n) => `org_${n}`);
  const { deliverer, leases, end } = stage(Object.fromEntries(names.map((name) => [name, 1_000])));
  for (const name of names) deliverer.wake(name);
  await settled();
  while (leases.length < 40) await end(32);
  const first = new Set(leases.slice(0, 30).map(([org_id]) => org_id));
  expect([...first].sort()).toEqual(names.toSorted());
});

test("a single delivery does not wait for an organization that has its share in flight", async () => {
  const { deliverer, inFlight } = stage({ busy: 10_000, small: 1 });
  deliverer.wake("busy");
  await settled();
  expect(inFlight()).toEqual({ busy: 20 });
  deliverer.wake("small");
  await settled();
  expect(inFlight()).toEqual({ busy: 20, small: 1 });
});

test("a look leaves out an organization that an attempt in flight will wake, and finds it when nothing is in flight", async () => {
  const queue: Record<string, number> = { busy: 30 };
  const { deliverer, leases, timers, end, inFlight } = stage(queue);
  timers.shift()?.();
  await settled();
  timers.shift()?.();
  await settled();
  expect(leases).toEqual([["busy", 20]]);
  await end(20);
  expect([leases.at(-1), inFlight()]).toEqual([["busy", 10], { busy: 10 }]);
  // Another node dispatched these.
  queue["busy"] = 5;
  timers.shift()?.();
  await settled();
  expect(inFlight()).toEqual({ busy: 15 });
  deliverer.wakeAfter("late", 5_000);
  queue["late"] = 1;
  timers.at(-1)?.();
  await settled();
  expect(inFlight()).toEqual({ busy: 15, late: 1 });
});
