/** The rest of a burst: as places come free, and nobody waits for that long. */
import { describe, expect, it } from "vitest";
import { createDispatchPace } from "./dispatch-pace.ts";

/** A pace with a clock of its own; `dispatched` tells when it went on, and whether with few events. */
function stage() {
  let now_ms = 0;
  let due: { at_ms: number; run: () => void }[] = [];
  const timers = {
    after(wait_ms: number, run: () => void) {
      const timer = { at_ms: now_ms + wait_ms, run };
      due.push(timer);
      return () => {
        due = due.filter((each) => each !== timer);
      };
    },
  };
  const dispatched: [at_ms: number, few: boolean][] = [];
  const pace = createDispatchPace(timers, () => dispatched.push([now_ms, pace.begin()]));
  const ended = (count: number) => {
    for (let n = 0; n < count; n++) pace.ended(false);
  };
  return {
    pace,
    dispatched,
    ended,
    timersLeft: () => due.length,
    /** Lets time pass; `meanwhile` runs before each millisecond. */
    pass(ms: number, meanwhile: () => void = () => undefined) {
      for (let n = 0; n < ms; n++) {
        meanwhile();
        now_ms += 1;
        for (const timer of due.filter(({ at_ms }) => at_ms <= now_ms)) {
          due = due.filter((each) => each !== timer);
          timer.run();
        }
      }
    },
  };
}

describe("the rest of a burst", () => {
  it("goes on with few events as soon as a receiver has places that nothing waits for", () => {
    const { pace, dispatched, pass, ended, timersLeft } = stage();
    pace.wait();
    pass(3);
    ended(40);
    expect(dispatched).toEqual([]);
    pace.ended(true);
    expect(dispatched).toEqual([[3, true]]);
    expect(timersLeft()).toBe(0);
  });

  it.each([0, 31])("goes on with as many events as ever after 20 ms in which %i attempts ended", (count) => {
    const { pace, dispatched, pass, ended } = stage();
    pace.wait();
    ended(count);
    pass(19);
    expect(dispatched).toEqual([]);
    pass(1);
    expect(dispatched).toEqual([[20, false]]);
  });

  it("waits 40 ms at most, however busy the receivers are", () => {
    const { pace, dispatched, pass, ended } = stage();
    pace.wait();
    pass(100, () => ended(2));
    expect(dispatched).toEqual([[40, true]]);
  });

  it("waits 20 ms at most when something new came, and takes what is new along", () => {
    const { pace, dispatched, pass, ended } = stage();
    pace.wait();
    pace.poked();
    pass(100, () => ended(2));
    expect(dispatched).toEqual([[20, true]]);
  });

  it("is nobody's business when nothing waits: what is new is dispatched at once, ends change nothing", () => {
    const { pace, dispatched, pass, timersLeft } = stage();
    pace.ended(true);
    expect(dispatched).toEqual([]);
    pace.poked();
    expect(dispatched).toEqual([[0, false]]);
    pace.wait();
    pace.begin();
    expect(timersLeft()).toBe(0);
    pass(100);
    expect(dispatched).toHaveLength(1);
  });
});
