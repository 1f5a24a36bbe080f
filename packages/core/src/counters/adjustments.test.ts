import { expect, test } from "vitest";
import { compilePolicySet } from "../deciding/policy-set.ts";
import { checkPolicy } from "../policy/check/check.ts";
import { keyText } from "./counting.ts";
import { type CounterEntry, CounterHistory } from "./history.ts";
import type { PlacedTrack } from "./tracks.ts";

type Counter = Record<string, unknown>;

function tracksOf(...counters: Counter[]): PlacedTrack {
  const policies = counters.map((counter, at) => {
    const spec = {
      counters: [{ name: "spent", key: ["agent.id"], window: "1h", ...counter }],
      when: "false",
      effect: "block",
    };
    const given = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: `p${at}`, title: "P" }, spec };
    const { document, diagnostics } = checkPolicy(given);
    if (document === null) throw new Error(JSON.stringify(diagnostics));
    return { policy_id: `pol_${at}`, version: 1, document, mode: "live" as const };
  });
  return compilePolicySet({ policies, version: 1 }).tracks.byName.get("count.spent") as PlacedTrack;
}

const action = { intent_id: "int_1", at_us: 10, micros: 5_000_000, state: "approve", values: { a: "1" } } as const;
const grant = { intent_id: "aud_1", at_us: 20, micros: -3_000_000, actions: -2, state: "granted", values: {} } as const;

test.each([{}, { counts: ["approve"] }, { counts: ["pending"] }])(
  "a grant counts, whatever else counts: %j",
  (counter) => {
    const only: CounterEntry[] = [grant];
    const { n, micros } = new CounterHistory(only).read(tracksOf(counter), 30, {}, null);
    expect([n, micros]).toEqual([-2, -3_000_000]);
  },
);

test("a grant is no latest action and no distinct value, and leaves the window", () => {
  const track = tracksOf({});
  const history = new CounterHistory([action, grant]);
  const own = { a: "1" };
  expect(history.read(track, 30, own, null)).toMatchObject({
    ...{ n: -1, micros: 2_000_000, last: { intent_id: "int_1", at_us: 10 }, distinct: { a: { n: 1, has_own: true } } },
  });
  expect(history.read(track, 30, {}, "int_1")).toMatchObject({ n: -2, micros: -3_000_000, last: null });
  const hour_us = 3_600_000_000;
  expect(history.read(track, 20 + hour_us - 1, {}, null)).toMatchObject({ n: -2, micros: -3_000_000 });
  expect(history.read(track, 20 + hour_us, {}, null)).toMatchObject({ n: 0, micros: 0 });
});

test("one definition with two_person is enough, and makes no conflict", () => {
  const two = { adjust: "two_person" };
  for (const counters of [
    [two, {}],
    [{}, two],
    [{ adjust: "operator" }, two],
  ])
    expect(tracksOf(...counters)).toMatchObject({ adjust_needs_two: true, conflicts: false });
  expect(tracksOf({}, { adjust: "operator" })).toMatchObject({ adjust_needs_two: false, conflicts: false });
});

test("a key has one text for all spellings, and at most 1,024 characters", () => {
  expect(keyText(["Invoice-Bot", 7])).toBe('["invoice-bot",7]');
  expect(keyText(["x".repeat(1_020)])).toHaveLength(1_024);
  expect(keyText(["x".repeat(1_021)])).toBeNull();
});
