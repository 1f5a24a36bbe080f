import { limits, type PolicyReadiness } from "@countersign/contract";
import { expect, test } from "vitest";
import { judgePolicyReadiness, verdictFigures } from "./judge-policy-readiness.ts";

type Figures = NonNullable<PolicyReadiness["figures"]>;

const counts = (escalate: number) => ({ approve: 700 - escalate, approve_modified: 0, escalate, block: 0 });

const ready: Figures = {
  ...{ backtest_id: "bkt_1", backtested_at: "2026-01-01T00:00:00.000000Z", decisions: 700, days: 7, flips: 3 },
  ...verdictFigures(counts(14), 7),
  recorded: verdictFigures(counts(7), 7),
  reviews: { people: 1, median_seconds: 60, hours_per_day: 0.1 },
  missing_facts: { fired: 10, unknown: 1, facts: [] },
  agrees_with_reviewers: { rulings: 10, agreed: 10, share: 1, low: 0.7, high: 1 },
};

const codes = (more: Partial<Figures>) => judgePolicyReadiness({ ...ready, ...more }).map(({ code }) => code);

test("a version is ready with evidence, and not without", () => {
  expect(judgePolicyReadiness(ready)).toEqual([]);
  expect(judgePolicyReadiness(null)).toMatchObject([{ code: "no_backtest" }]);
});

test("each kind of evidence can make it not ready", () => {
  expect(codes({ decisions: limits.readiness_decisions_min - 1 })).toEqual(["too_few_decisions"]);
  expect(codes({ missing_facts: { fired: 10, unknown: 2, facts: [{ path: "facts.a.b", count: 2 }] } })).toEqual([
    "missing_facts",
  ]);
  const agreement = { rulings: 50, agreed: 40, share: 0.8, low: 0.67, high: 0.89 };
  expect(codes({ agrees_with_reviewers: agreement })).toEqual(["reviewers_disagree"]);
  expect(codes({ agrees_with_reviewers: { ...agreement, high: 0.9 } })).toEqual([]);
});

test("reviewers count only against a version that adds reviews", () => {
  const busy = { people: 1, median_seconds: 3_600, hours_per_day: 2.1 };
  const nobody = { ...busy, people: 0 };
  expect([codes({ reviews: busy }), codes({ reviews: nobody })]).toEqual([["too_many_reviews"], ["nobody_can_decide"]]);
  expect(codes({ reviews: nobody, recorded: verdictFigures(counts(14), 7) })).toEqual([]);
});

test("rates divide by the days of the window, at least one", () => {
  expect(verdictFigures(counts(14), 7)).toMatchObject({
    passes: { count: 686, share: 0.98 },
    holds: { count: 14, per_day: 2, low: expect.closeTo(1.093, 3), high: expect.closeTo(3.356, 3) },
  });
  expect(verdictFigures(counts(14), 0.5).holds.per_day).toBe(14);
});
