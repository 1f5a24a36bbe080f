import { expect, test } from "vitest";
import { type Answer, compare, isFault, type Outcome, steady } from "./outcomes.ts";

const outcomes = (seen: Readonly<Record<string, unknown>>) =>
  new Map(Object.entries(seen).map(([name, value]): [string, Outcome] => [name, { said: "result", seen: value }]));
const answers: readonly Answer[] = [{ pair: /^pair$/, scenario: /^blocked$/, reason: "A policy blocks it." }];
const faultsOf = (...[plain, governed]: [Record<string, unknown>, Record<string, unknown>]) =>
  compare("pair", outcomes(plain), outcomes(governed), answers)
    .filter(isFault)
    .map(({ scenario }) => scenario);

test("a difference is a fault unless governance answers there, and then equality is one", () => {
  const plain = { same: { a: 1 }, blocked: 1, changed: { a: [1] } };
  expect(faultsOf(plain, { same: { a: 1 }, blocked: 2, changed: { a: [1] } })).toEqual([]);
  expect(faultsOf(plain, { same: { a: 1 }, blocked: 2, changed: { a: [2] } })).toEqual(["changed"]);
  expect(faultsOf(plain, { same: { a: 1 }, blocked: 1, changed: { a: [1] } })).toEqual(["blocked"]);
});

test("a scenario that ran on one side only is a fault", () => {
  expect(faultsOf({ a: null }, {})).toEqual(["a"]);
  expect(faultsOf({}, { a: null })).toEqual(["a"]);
});

test("what differs between any two runs is not compared, and the rest is", () => {
  const seen = (id: string, at: string, port: number, text: string) =>
    steady({ id, text: `${text} at ${at}, http://127.0.0.1:${port}/mcp`, requestState: id });
  const first = seen("0f0e0d0c-0000-4000-8000-000000000001", "2026-01-01T00:00:00.000Z", 1024, "done");
  expect(seen("0f0e0d0c-0000-4000-8000-000000000002", "2027-02-03T04:05:06Z", 65_000, "done")).toEqual(first);
  expect(seen("0f0e0d0c-0000-4000-8000-000000000001", "2026-01-01T00:00:00.000Z", 1024, "failed")).not.toEqual(first);
});
