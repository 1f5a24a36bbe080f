import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { NodeRateWindows } from "./rate-windows.ts";

test("buckets are independent of each other", () => {
  const windows = new NodeRateWindows();
  expect(windows.take("a", 1, 0).allowed).toBe(true);
  expect(windows.take("a", 1, 0).allowed).toBe(false);
  expect(windows.take("b", 1, 0).allowed).toBe(true);
});

test("a refund gives the request back", () => {
  const windows = new NodeRateWindows();
  const taken = windows.take("a", 1, 5);
  expect(windows.refund("a", taken, 6).remaining).toBe(1);
  expect(windows.take("a", 1, 7).allowed).toBe(true);
});

test("a look counts nothing and creates no bucket", () => {
  const windows = new NodeRateWindows();
  expect(windows.look("a", 1, 5)).toMatchObject({ allowed: true, remaining: 1 });
  expect(windows.size).toBe(0);
  windows.take("a", 1, 5);
  expect(windows.look("a", 1, 6)).toMatchObject({ allowed: false, remaining: 0 });
  expect(windows.look("a", 1, 60_005)).toMatchObject({ allowed: true, remaining: 1 });
});

test("of 100,000 callers over ten minutes, only those of the last minutes are kept", () => {
  const windows = new NodeRateWindows();
  for (let caller = 0; caller < 100_000; caller++) windows.take(`caller ${caller}`, 120, caller * 6);
  expect(windows.size).toBeLessThan(25_000);
});

test("the buckets of many occasional callers are forgotten", () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage: () => void = runInNewContext("gc");
  const windows = new NodeRateWindows();
  const heap_mb = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed / 1e6;
  };
  const before_mb = heap_mb();
  for (let caller = 0; caller < 100_000; caller++) windows.take(`caller ${caller}`, 120, caller * 600);
  expect(windows.size).toBeLessThan(1_000);
  expect(heap_mb() - before_mb).toBeLessThan(7);
});

test("a bucket in use is never forgotten", () => {
  const windows = new NodeRateWindows();
  windows.take("busy", 1, 0);
  for (let other = 0; other < 10_000; other++) windows.take(`other ${other}`, 1, 1);
  expect(windows.take("busy", 1, 59_999).allowed).toBe(false);
});

test("of 400,000 callers in one second the oldest are dropped, at a constant cost", () => {
  const windows = new NodeRateWindows();
  // A search for each oldest bucket would exceed the test's timeout.
  for (let caller = 0; caller < 400_000; caller++) windows.take(`caller ${caller}`, 1, Math.floor(caller / 400));
  expect(windows.size).toBeLessThanOrEqual(300_000);
  expect(windows.size).toBeGreaterThan(298_000);
  expect(windows.take("caller 99999", 1, 1_000).allowed).toBe(true);
  expect(windows.take("caller 102000", 1, 1_000).allowed).toBe(false);
});
