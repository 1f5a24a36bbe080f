import { expect, test } from "vitest";
import { createGiveWay, newRequestCount } from "./give-way.ts";

const manners = { recent_ms: 10, pause_ms: 5, share: 1 / 8, rest_ms_max: 1_000 };

/** A thread with its own clock. Only work and sleep take time. */
function thread(terms = manners) {
  let now_ms = 1_000;
  let worked_ms = 0;
  const requests = newRequestCount();
  const arrivals: number[] = [];
  let arrived = 0;
  const count = () => {
    for (; (arrivals[arrived] ?? Number.POSITIVE_INFINITY) <= now_ms; arrived += 1) Atomics.add(requests, 0, 1);
    return now_ms;
  };
  const { asked, expecting, rest } = createGiveWay(requests, terms, {
    now_ms: count,
    worked_ms: () => worked_ms,
    breathe: async () => undefined,
    sleep: async (ms) => {
      now_ms += ms;
    },
  });
  return {
    requests,
    asked,
    expecting,
    /** In this many milliseconds. Must be called in the order of time. */
    arrive: (in_ms: number) => arrivals.push(now_ms + in_ms),
    /** Returns how long giving way took. */
    async piece(work_ms: number, waited_ms = 0): Promise<number> {
      now_ms += waited_ms + work_ms;
      worked_ms += work_ms;
      const began_ms = now_ms;
      await rest();
      return now_ms - began_ms;
    },
  };
}

test("without requests a thread does not rest", async () => {
  const { piece } = thread();
  for (let n = 0; n < 100; n += 1) expect(await piece(2)).toBe(0);
});

test("requests before its start do not delay it", async () => {
  const requests = newRequestCount();
  Atomics.add(requests, 0, 7);
  const never = async () => expect.unreachable();
  const pace = { now_ms: () => 0, worked_ms: () => 0, breathe: async () => undefined, sleep: never };
  await createGiveWay(requests, manners, pace).rest();
});

test("after a request it rests until the request is probably answered, then continues at once", async () => {
  const { piece, arrive, asked } = thread();
  await piece(2);
  expect(asked()).toBe(false);
  arrive(0);
  expect(asked()).toBe(true);
  const rested_ms = await piece(2);
  expect(rested_ms).toBeGreaterThanOrEqual(8);
  expect(rested_ms).toBeLessThanOrEqual(15);
  expect(asked()).toBe(false);
  for (let n = 0; n < 10; n += 1) expect(await piece(2)).toBe(0);
});

test("for a tenth of a second after a request the next one is expected", async () => {
  const { piece, arrive, asked, expecting } = thread();
  expect(expecting()).toBe(false);
  arrive(0);
  expect(expecting()).toBe(true);
  await piece(99);
  expect([asked(), expecting()]).toEqual([false, true]);
  await piece(1);
  expect(expecting()).toBe(false);
});

test.each([1, 3, 40])("under constant traffic it works an eighth of the time, in pieces of %d ms", async (work_ms) => {
  const { piece, arrive } = thread();
  for (let ms = 0; ms < 200_000; ms += 1) arrive(ms);
  let rested_ms = 0;
  for (let n = 0; n < 200; n += 1) rested_ms += await piece(work_ms);
  const share = (200 * work_ms) / (200 * work_ms + rested_ms);
  expect(share).toBeGreaterThan(0.12);
  expect(share).toBeLessThan(0.13);
});

test("it does not rest longer because it waited for another thread that rested: rests do not grow", async () => {
  const { piece, arrive } = thread();
  for (let ms = 0; ms < 200_000; ms += 1) arrive(ms);
  for (let waited_ms = 1; waited_ms < 20_000; waited_ms *= 7)
    expect(await piece(2, waited_ms)).toBeLessThanOrEqual(2 * 7 + 5);
});

test.each([0.05, 0.1, 0.4, 3])(
  "with a share of half it gets nearly half of the time, also in pieces of %d ms",
  async (work_ms) => {
    const { piece, arrive } = thread({ recent_ms: 3, pause_ms: 1, share: 1 / 2, rest_ms_max: 20 });
    for (let ms = 0; ms < 20_000; ms += 1) arrive(ms);
    let rested_ms = 0;
    const pieces = Math.ceil(1_000 / work_ms);
    for (let n = 0; n < pieces; n += 1) rested_ms += await piece(work_ms);
    const share = (pieces * work_ms) / (pieces * work_ms + rested_ms);
    expect(share).toBeGreaterThan(0.4);
    expect(share).toBeLessThan(0.51);
  },
);

test("work without traffic is not paid back when requests come", async () => {
  const { piece, arrive } = thread({ ...manners, rest_ms_max: 20 });
  for (let ms = 0; ms < 5_000; ms += 1) arrive(ms + 60_000);
  expect(await piece(60_000)).toBeLessThanOrEqual(20);
});

test("the count may wrap around", async () => {
  const { requests, piece } = thread();
  Atomics.store(requests, 0, 2 ** 31 - 1);
  await piece(1);
  for (let n = 0; n < 10; n += 1) await piece(1);
  Atomics.add(requests, 0, 1);
  expect(Atomics.load(requests, 0)).toBeLessThan(0);
  expect(await piece(1)).toBeGreaterThan(0);
});
