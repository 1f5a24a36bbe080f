/** What a further rule does to a review, whoever is named by whichever rule. */
import { type Escalation, type Reviewer, type Role, roleMeets } from "@countersign/contract";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { electorateOf, mergeTerms, reviewerOf } from "../../src/policy/escalation-terms.ts";
import { type Review, stepReview } from "../../src/reviews/escalation.ts";

const people = new Map<string, Role>([
  ["ann", "reviewer"],
  ["bob", "reviewer"],
  ["cas", "operator"],
  ["dan", "operator"],
  ["eve", "admin"],
]);
const known = new Map([...people].map(([id, role]) => [id, { role, self: id, person: id }] as const));
const names = ["role:reviewer", "role:operator", "role:admin", ...[...people.keys()].map((id) => `user:${id}`)];
const at = "2026-11-21T10:00:00.000000Z";

const isAmong = (reviewers: readonly Reviewer[], person: string): boolean =>
  reviewers.length === 0 ||
  reviewers.some(({ type, id }) =>
    type === "user" ? id === person : roleMeets(people.get(person) as Role, [id as Role]),
  );

const reviewers = fc.uniqueArray(fc.constantFrom(...names), { maxLength: 3 });
const quorum = fc.integer({ min: 1, max: 3 });
const rule = fc.record(
  { reviewers: reviewers.filter((some) => some.length > 0), quorum, on_timeout: fc.constant("block" as const) },
  { requiredKeys: [] },
);
const membrane = fc.record({ reviewers: reviewers.map((some) => some.map(reviewerOf)), quorum }).map((terms) => ({
  ...terms,
  timeout_seconds: 60,
  on_timeout: "block" as const,
}));

/** The review after these people, of those who may vote, approved one after another. */
function approvedBy(voters: readonly string[], ...terms: Parameters<typeof mergeTerms>): Review {
  const { demands } = mergeTerms(...terms);
  const electorate = electorateOf(demands, known);
  const record = {
    status: "pending",
    expires_at: "2026-11-21T11:00:00.000000Z",
    votes: [],
    reviewers: electorate.reviewers,
    quorum: { required: electorate.required, approvals: 0, rejections: 0 },
  } as unknown as Escalation;
  let review: Review = { record, ruling: null, demands: demands.map((demand) => ({ ...demand, approved_by: [] })) };
  const ruling = { outcome: "approve", modifications: [], modified_content: null } as const;
  for (const person of voters.filter((each) => isAmong(electorate.reviewers, each))) {
    const meets = demands.flatMap((demand, n) => (isAmong(demand.reviewers, person) ? [n] : []));
    const what = { person, meets, outcome: ruling.outcome, ruling, comment: null, modifications: null };
    const stepped = stepReview(review, { kind: "vote", ...what, overtaken: false, at });
    if (stepped.kind === "refused") return review;
    review = stepped.review;
    const { required, approvals } = review.record.quorum;
    expect(approvals < required).toBe(review.record.status === "pending");
  }
  return review;
}

test("a further rule never lets people approve who could not approve without it, and a review takes what it says at least", () => {
  const voters = fc.shuffledSubarray([...people.keys()]);
  const holding = fc.array(rule, { maxLength: 3 });
  fc.assert(
    fc.property(membrane, fc.boolean(), holding, rule, voters, (by_membrane, asks, rules, further, approving) => {
      const named = [...rules, further].map(
        (escalation, n) => ({ name: `p${n}`, escalation, approvals_min: 1 }) as const,
      );
      const fewer = named.slice(0, -1);
      const more = approvedBy(approving, by_membrane, named, asks);
      if (more.record.status !== "decided") return;
      const is_held = asks || fewer.length > 0;
      if (is_held) expect(approvedBy(approving, by_membrane, fewer, asks).record.status).toBe("decided");
      expect(more.record.votes.length).toBeGreaterThanOrEqual(
        electorateOf(mergeTerms(by_membrane, named, asks).demands, known).required,
      );
    }),
    { numRuns: runs(20_000) },
  );
});
