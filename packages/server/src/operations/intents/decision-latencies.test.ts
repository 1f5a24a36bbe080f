import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createDecisionLatencies } from "./decision-latencies.ts";

const at_us = Date.UTC(2026, 0, 31) * 1_000;

describe("decision latencies", () => {
  test("are null until the first decision, and separate for each organization", () => {
    const latencies = createDecisionLatencies();
    latencies.decided("org_a", at_us, 2_500);
    latencies.decided("org_a", at_us + 1, 2_500);
    expect(latencies.of("org_b")).toBeNull();
    expect(latencies.of("org_a")).toMatchObject({ since: "2026-01-31T00:00:00.000000Z", count: 2 });
  });

  test("lie at most a sixteenth above the true quantile and never below it", () => {
    const elapsed = fc.oneof(fc.nat(40), fc.nat(1_000_000), fc.nat(2 ** 31 - 1));
    fc.assert(
      fc.property(fc.array(elapsed, { minLength: 1, maxLength: 200 }), (all_us) => {
        const latencies = createDecisionLatencies();
        for (const each of all_us) latencies.decided("org_a", at_us, each);
        const sorted = all_us.toSorted((a, b) => a - b);
        const shown = latencies.of("org_a");
        for (const [share, ms] of [
          [0.5, shown?.p50_ms],
          [0.95, shown?.p95_ms],
          [0.99, shown?.p99_ms],
        ] as const) {
          const truth_us = sorted[Math.ceil(sorted.length * share) - 1] as number;
          const shown_us = Math.round((ms as number) * 1_000);
          expect(shown_us).toBeGreaterThanOrEqual(truth_us);
          expect(shown_us).toBeLessThanOrEqual(truth_us * (1 + 1 / 16));
        }
      }),
    );
  });

  test("accept a clock that was set back and a decision that took very long", () => {
    const latencies = createDecisionLatencies();
    latencies.decided("org_a", at_us, -5_000);
    expect(latencies.of("org_a")?.p99_ms).toBe(0);
    latencies.decided("org_b", at_us, Number.MAX_SAFE_INTEGER);
    expect(latencies.of("org_b")?.p50_ms).toBeGreaterThan(1_800_000);
  });

  test("evict the least recently used organization", () => {
    const latencies = createDecisionLatencies();
    for (let n = 0; n <= 2_000; n += 1) latencies.decided(`org_${n}`, at_us, n);
    expect(latencies.of("org_0")).toBeNull();
    expect(latencies.of("org_1")?.count).toBe(1);
    expect(latencies.of("org_2000")?.count).toBe(1);
  });
});
