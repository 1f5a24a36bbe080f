import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { type CountedState, countedStates, type Track } from "./definition.ts";
import { type CounterEntry, CounterHistory, type CounterReading, countsState, type EntryState } from "./history.ts";
import { windowStartUs } from "./windows.ts";

const us_per_minute = 60_000_000;
const base_us = Date.UTC(2026, 9, 25) * 1000;
const states: readonly EntryState[] = ["approve", "approve_modified", "pending", "failed", "failed_modified"];

const track = (window: Track["window"], counts: readonly CountedState[]): Track => {
  const name = JSON.stringify([window, counts]);
  return {
    kind: "count",
    name,
    match: {},
    key: [],
    value: null,
    negative: true,
    window,
    counts: new Set(counts),
    adjust_needs_two: false,
    text: name,
  };
};
const tracks = [
  track({ kind: "sliding", us: 10 * us_per_minute }, ["executed", "pending"]),
  track({ kind: "sliding", us: 60 * us_per_minute }, countedStates),
  track({ kind: "calendar", unit: "hour", zone: "Europe/Berlin" }, ["executed"]),
  track({ kind: "calendar", unit: "day", zone: "Australia/Lord_Howe" }, ["approve", "approve_modified", "pending"]),
];

/** Two hours in steps of ten seconds, so that times often are equal or at an edge, and one microsecond beside them. */
const time = fc
  .tuple(fc.nat(720), fc.constantFrom(-1, 0, 1))
  .map(([step, beside]) => base_us + step * 10_000_000 + beside);
const micros = fc.oneof(fc.integer({ min: -1_000_000_000, max: 1_000_000_000 }), fc.constant(null));
const values = fc.constantFrom<CounterEntry["values"]>({}, { to: "a" }, { to: "b" }, { to: "b", from: "c" });
const intent_id = fc.nat(30).map((n) => `int_${n}`);
const entry: fc.Arbitrary<CounterEntry> = fc.record({
  intent_id,
  at_us: time,
  micros,
  state: fc.constantFrom(...states),
  values,
});
const changes = fc.oneof(
  fc.constant(null),
  fc.record({ state: fc.constantFrom(...states) }),
  fc.record({ state: fc.constantFrom(...states), at_us: time, micros }),
);

type Step =
  | { readonly do: "add"; readonly entry: CounterEntry }
  | { readonly do: "change"; readonly intent_id: string; readonly change: Partial<CounterEntry> | null }
  | { readonly do: "drop"; readonly at_us: number }
  | { readonly do: "read"; readonly track: Track; readonly at_us: number; readonly except: string | null };
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant("add" as const), entry }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("change" as const), intent_id, change: changes }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("drop" as const), at_us: time }) },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant("read" as const),
        track: fc.constantFrom(...tracks),
        at_us: time,
        except: fc.option(intent_id, { nil: null }),
      }),
    },
  ),
  { maxLength: 60 },
);

const own = { to: "b", from: "d" };

/** Sums up all entries. The ids of `last` are those of the actions at the latest time. */
function summed(entries: readonly CounterEntry[], of: Track, now_us: number, except: string | null) {
  const since_us = windowStartUs(of.window, now_us);
  const counted = entries.filter(
    (each) => each.at_us >= since_us && each.intent_id !== except && countsState(of, each.state),
  );
  const sum = counted.reduce((all, each) => all + (each.micros ?? 0), 0);
  const last_us = Math.max(...counted.map(({ at_us }) => at_us));
  const distinct = (field: "to" | "from") => {
    const all = new Set(counted.flatMap((each) => each.values[field] ?? []));
    return { n: all.size, has_own: all.has(own[field]) };
  };
  return {
    reading: {
      n: counted.length,
      micros: counted.some((each) => each.micros === null) ? null : sum,
      since_us,
      distinct: { to: distinct("to"), from: distinct("from") },
    },
    last: counted.filter(({ at_us }) => at_us === last_us),
  };
}

function expectReading({ last, ...reading }: CounterReading, expected: ReturnType<typeof summed>): void {
  expect(reading).toEqual(expected.reading);
  if (last === null) expect(expected.last).toEqual([]);
  else expect(expected.last).toContainEqual(expect.objectContaining(last));
}

/** Enough old entries for the history to forget them when it may. */
const old = Array.from({ length: 1_100 }, (_, at): CounterEntry => {
  return {
    intent_id: `old_${at}`,
    at_us: base_us - 2_000_000 * (1_100 - at),
    micros: at,
    state: "approve",
    values: {},
  };
});

test.each([
  ["from nothing", []],
  ["after 1,100 earlier actions", old],
])("a read is what all entries add up to, after any additions, changes and reads: %s", (_, before) => {
  fc.assert(
    fc.property(steps, (all) => {
      const history = new CounterHistory(before);
      let entries = [...before];
      let known_since_us = 0;
      for (const step of all)
        if (step.do === "add") {
          history.add(step.entry);
          entries.push(step.entry);
        } else if (step.do === "change") {
          const { intent_id: id, change } = step;
          history.change(id, change);
          entries = entries.flatMap((each) =>
            each.intent_id !== id ? [each] : change === null ? [] : [{ ...each, ...change }],
          );
        } else if (step.do === "drop") {
          if (history.dropBefore(step.at_us)) known_since_us = step.at_us;
        } else if (windowStartUs(step.track.window, step.at_us) >= known_since_us)
          expectReading(
            history.read(step.track, step.at_us, own, step.except),
            summed(entries, step.track, step.at_us, step.except),
          );
    }),
    { numRuns: runs(before.length === 0 ? 3_000 : 500) },
  );
});

test("forgets old entries only when they are many", () => {
  const history = new CounterHistory(old);
  expect(history.dropBefore(old[1_023]?.at_us ?? 0)).toBe(false);
  expect(history.size).toBe(1_100);
  expect(history.dropBefore(old[1_025]?.at_us ?? 0)).toBe(true);
  expect(history.size).toBe(75);
});
