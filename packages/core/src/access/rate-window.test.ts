import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { RateWindow } from "./rate-window.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

interface Step {
  readonly t: number;
  readonly status?: number;
  readonly allowed: boolean;
  readonly remaining: number;
  readonly reset_unix: number;
  readonly retry_after?: number;
}
const vectors: { sequences: { name: string; limit: number; steps: Step[] }[] } = JSON.parse(
  readFileSync(new URL("../../../../test/data/ratelimit-vectors.json", import.meta.url), "utf8"),
);

test.each(vectors.sequences)("recorded sequence: $name", ({ limit, steps }) => {
  const window = new RateWindow();
  for (const { t, status, ...expected } of steps) {
    const taken = window.take(limit, t);
    const answer = status === 304 ? window.refund(limit, taken.at_ms, t) : taken;
    expect(answer).toMatchObject(expected);
  }
});

type Asked = "take" | "look" | "refund";

/**
 * Reference implementation. A refund takes back the `which`-th accepted request not yet refunded, even if it has
 * expired.
 */
function byDefinition(steps: readonly { gap_ms: number; asked: Asked; which: number; limit: number }[]) {
  let now = 1_767_225_600_000;
  let log: number[] = [];
  const let_in: number[] = [];
  return steps.map(({ gap_ms, asked, which, limit }) => {
    now += gap_ms;
    log = log.filter((at) => at + 60_000 > now);
    const [back] = asked === "refund" && let_in.length > 0 ? let_in.splice(which % let_in.length, 1) : [];
    if (back !== undefined && log.includes(back)) log.splice(log.indexOf(back), 1);
    const allowed = back !== undefined || log.length < limit;
    if (allowed && asked === "take") {
      log.push(now);
      let_in.push(now);
    }
    const freeing = log[Math.max(0, log.length - limit)] ?? now;
    return {
      now,
      back,
      expected: {
        allowed,
        remaining: Math.max(0, limit - log.length),
        reset_unix: Math.ceil((freeing + 60_000) / 1000),
        retry_after: Math.max(1, Math.ceil((freeing + 60_000 - now) / 1000)),
      },
    };
  });
}

describe("RateWindow", () => {
  const step = fc.record({
    gap_ms: fc.oneof(fc.constant(0), fc.nat(20), fc.nat(30_000), fc.constant(60_000)),
    asked: fc.constantFrom<Asked[]>("take", "take", "look", "refund"),
    which: fc.nat(20),
    limit: fc.constantFrom(1, 3, 5, 5, 5),
  });

  test("agrees with the reference for takes, looks, refunds and changing limits", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const window = new RateWindow();
        byDefinition(steps).forEach(({ now, back, expected }, index) => {
          const { limit, asked } = steps[index] as (typeof steps)[number];
          const answer =
            back !== undefined
              ? window.refund(limit, back, now)
              : asked === "take"
                ? window.take(limit, now)
                : window.look(limit, now);
          expect(answer).toMatchObject(expected);
        });
      }),
      { numRuns: runs(500) },
    );
  });

  test("allows at most the limit in any 60 s, and a caller that waits for Retry-After passes", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(4_000), { minLength: 50, maxLength: 300 }), (gaps) => {
        const window = new RateWindow();
        const passed: number[] = [];
        let now = 1_000_000;
        for (const gap of gaps) {
          now += gap;
          const taken = window.take(7, now);
          if (!taken.allowed) {
            now += taken.retry_after * 1000;
            expect(window.take(7, now).allowed).toBe(true);
          }
          passed.push(now);
        }
        for (let i = 7; i < passed.length; i++) {
          expect((passed[i] as number) - (passed[i - 7] as number)).toBeGreaterThanOrEqual(60_000);
        }
      }),
    );
  });

  test("a refund after the request has aged out, or a second one, changes nothing", () => {
    const window = new RateWindow();
    const first = window.take(2, 0);
    window.take(2, 10);
    expect(window.refund(2, first.at_ms, 20).remaining).toBe(1);
    expect(window.refund(2, first.at_ms, 20).remaining).toBe(1);
    expect(window.refund(2, first.at_ms, 60_010).remaining).toBe(2);
  });

  test("a clock that steps back neither frees capacity nor loses order", () => {
    const window = new RateWindow();
    expect(window.take(1, 100_000).allowed).toBe(true);
    expect(window.take(1, 40_000)).toMatchObject({ allowed: false, retry_after: 60 });
    expect(window.take(1, 160_000).allowed).toBe(true);
  });

  test("a clock that steps back by more than a window restarts the log", () => {
    const window = new RateWindow();
    expect(window.take(1, 9_000_000).allowed).toBe(true);
    expect(window.take(1, 100_000)).toMatchObject({ allowed: true, at_ms: 100_000, reset_unix: 160 });
    expect(window.take(1, 100_001)).toMatchObject({ allowed: false, retry_after: 60 });
    expect(window.refund(1, 9_000_000, 100_002).remaining).toBe(0);
    expect(window.take(1, 160_000).allowed).toBe(true);
  });

  test("holds 6,000,000 requests a minute in at most 60,000 entries, and counts every one", () => {
    const window = new RateWindow();
    const limit = 6_000_000;
    const heap = () => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const before = heap();
    for (let ms = 0; ms < 60_000; ms++) for (let i = 0; i < 100; i++) window.take(limit, ms);
    // One number per request would need 48 MB.
    expect(heap() - before).toBeLessThan(8_000_000);
    expect(window.take(limit, 59_999)).toMatchObject({ allowed: false, remaining: 0, retry_after: 1 });
    expect(window.take(limit, 60_000)).toMatchObject({ allowed: true, remaining: 99 });
  });

  test("is idle once nothing counts", () => {
    const window = new RateWindow();
    expect(window.idle(0)).toBe(true);
    const taken = window.take(5, 1_000);
    expect(window.idle(60_999)).toBe(false);
    expect(window.idle(61_000)).toBe(true);
    window.refund(5, taken.at_ms, 1_001);
    expect(window.idle(1_001)).toBe(true);
  });
});
