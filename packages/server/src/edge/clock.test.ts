import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createClock } from "./clock.ts";

function machineAt(wall_ms: number) {
  const state = { wall_ms, elapsed_ms: 5 };
  const clock = createClock({ wall_ms: () => Math.floor(state.wall_ms), elapsed_ms: () => state.elapsed_ms });
  const pass = (ms: number) => {
    state.wall_ms += ms;
    state.elapsed_ms += ms;
  };
  return { state, clock, pass };
}

describe("the clock", () => {
  test("counts microseconds between the wall clock's milliseconds", () => {
    const { clock, pass } = machineAt(1_700_000_000_000);
    pass(0.25);
    expect(clock.now_us()).toBe(1_700_000_000_000_250);
    pass(0.004);
    expect(clock.now_us()).toBe(1_700_000_000_000_254);
  });

  test("is an integer within 2 ms of the machine's wall clock", () => {
    const clock = createClock();
    const before_ms = Date.now();
    const now_us = clock.now_us();
    expect(Number.isInteger(now_us)).toBe(true);
    expect(now_us / 1000).toBeGreaterThanOrEqual(before_ms - 2);
    expect(now_us / 1000).toBeLessThanOrEqual(Date.now() + 2);
  });

  test("follows a wall clock that jumps ahead at once, as after a sleep", () => {
    const { clock, state } = machineAt(1_700_000_000_000);
    state.wall_ms += 3_600_000;
    expect(clock.now_us()).toBe(1_700_003_600_000_000);
  });

  test("continues from its last time after the wall clock was set back by less than a minute", () => {
    const { clock, state, pass } = machineAt(1_700_000_000_000);
    const before_us = clock.now_us();
    state.wall_ms -= 10_000;
    expect(clock.now_us()).toBe(before_us);
    pass(4_000);
    expect(clock.now_us()).toBe(before_us + 4_000_000);
  });

  test("follows a wall clock that was set back by more than a minute", () => {
    const { clock, state, pass } = machineAt(1_700_000_000_000);
    state.wall_ms += 86_400_000 * 365;
    expect(clock.now_us()).toBe(state.wall_ms * 1000);
    pass(5);
    state.wall_ms -= 86_400_000 * 365;
    expect(clock.now_us()).toBe(1_700_000_000_005_000);
    pass(1_000);
    expect(clock.now_us()).toBe(1_700_000_001_005_000);
  });

  test("never goes back for steps of up to a minute, whatever the machine's clocks do", () => {
    const step = fc.record({
      wall: fc.double({ min: -200, max: 5000, noNaN: true }),
      elapsed: fc.double({ min: 0, max: 50, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const { clock, state } = machineAt(1_700_000_000_000);
        let last_us = clock.now_us();
        for (const { wall, elapsed } of steps) {
          state.wall_ms += wall;
          state.elapsed_ms += elapsed;
          const now_us = clock.now_us();
          expect(now_us).toBeGreaterThanOrEqual(last_us);
          last_us = now_us;
        }
      }),
    );
  });
});
