import { type Escalation, type Reviewer, type Role, roleMeets } from "@countersign/contract";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { decide } from "../../src/deciding/decide.ts";
import type { Decided, DecideInput, EscalationTerms } from "../../src/deciding/decision.ts";
import { electorateOf, peopleNamed, reviewerOf } from "../../src/policy/escalation-terms.ts";
import { type Review, stepReview } from "../../src/reviews/escalation.ts";
import { overrideTerms } from "../../src/reviews/override.ts";
import { panelsOf } from "../../src/reviews/panels.ts";
import { countedDemand, openTiers } from "../../src/reviews/tiers.ts";
import { inputOf, type TestPolicy } from "../../src/testing/deciding.ts";

const people = new Map<string, Role>([
  ["usr_ann", "reviewer"],
  ["usr_bob", "reviewer"],
  ["usr_cas", "operator"],
  ["usr_dan", "operator"],
  ["usr_eve", "admin"],
]);
const known = new Map([...people].map(([id, role]) => [id, { role, self: id, person: id }] as const));
const names = [...["role:reviewer", "role:operator", "role:admin"], ...[...people.keys()].map((id) => `user:${id}`)];
const opened_at = "2026-11-21T10:00:00.000000Z";
const expires_at = "2026-11-21T11:00:00.000000Z";
/** Before and after the second tiers open. */
const moments = [opened_at, "2026-11-21T10:00:20.000000Z", "2026-11-21T10:10:00.000000Z"];

const isAmong = (reviewers: readonly Reviewer[], person: string): boolean =>
  reviewers.length === 0 ||
  reviewers.some(({ type, id }) =>
    type === "user" ? id === person : roleMeets(people.get(person) as Role, [id as Role]),
  );

const reviewers = fc.uniqueArray(fc.constantFrom(...names), { maxLength: 3 });
const quorum = fc.integer({ min: 1, max: 3 });
const on_timeout = fc.constantFrom("block", "approve");
const ruleNames = ["p0", "p1", "p2", "p3"];
const spec = fc.record(
  {
    // `params.none` is unknown, so `on_unknown` applies.
    when: fc.constantFrom("true", "params.none"),
    effect: fc.constantFrom("escalate", "block"),
    override: fc.constantFrom("reviewer", "two_person", "never"),
    risk: fc.record({ add: fc.constantFrom(0.3, 0.6) }),
    escalation: fc.record(
      {
        reviewers: reviewers.filter((some) => some.length > 0),
        quorum,
        on_timeout,
        timeout: fc.constantFrom("30s", "2m"),
        after: fc.constantFrom(...ruleNames, "membrane.escalation", "nobody"),
        // biome-ignore lint/suspicious/noThenProperty: the word of the policy language.
        then: fc.record({
          after: fc.constantFrom("20s", "90s", "5m"),
          reviewers: reviewers.filter((some) => some.length > 0),
        }),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ["when", "effect"] },
);
const membrane = fc.record({
  default_verdict: fc.constantFrom("approve", "approve", "escalate"),
  thresholds: fc.constantFrom({ escalate_at: null, block_at: null }, { escalate_at: 0.5, block_at: 0.8 }),
  escalation: fc.record({
    reviewers: reviewers.map((some) => some.map(reviewerOf)),
    quorum,
    timeout_seconds: fc.constantFrom(60, 600),
    on_timeout,
  }),
}) as fc.Arbitrary<Partial<DecideInput["membrane"]>>;

/** `party`: the person served. `at`: when everybody votes. */
interface Circumstances {
  readonly at: string;
  readonly party: string | null;
  readonly absence: { readonly absent: string; readonly delegate: string } | null;
}

/** Lets people approve until nothing changes. */
function approvedBy(voters: readonly string[], terms: EscalationTerms, { party, absence, at }: Circumstances): Review {
  const absentIn = (reviewers: readonly Reviewer[], person: string): string | undefined =>
    absence?.delegate === person && reviewers.some(({ type, id }) => type === "user" && id === absence.absent)
      ? absence.absent
      : undefined;
  const mayVote = (reviewers: readonly Reviewer[], person: string): boolean =>
    isAmong(reviewers, person) || absentIn(reviewers, person) !== undefined;
  const electorate = electorateOf(terms.demands, known);
  const counted = electorate.demands.map((demand) => countedDemand(demand, opened_at, expires_at));
  const record = {
    status: "pending",
    expires_at,
    votes: [],
    reviewers: electorate.reviewers,
    quorum: { required: electorate.required, approvals: 0, rejections: 0 },
    panels: panelsOf(counted, expires_at),
  } as unknown as Escalation;
  let review: Review = openTiers({ record, ruling: null, demands: counted }, at);
  const { demands } = review;
  const ruling = { outcome: "approve", modifications: [], modified_content: null } as const;
  for (const person of voters.flatMap(() => voters)) {
    if (!mayVote(review.record.reviewers, person)) continue;
    const meets = demands.flatMap((demand, n) => (mayVote(demand.reviewers, person) ? [n] : []));
    const in_place_of = new Map(
      meets.flatMap((n) => {
        const reviewers = demands[n]?.reviewers ?? [];
        const absent = isAmong(reviewers, person) ? undefined : absentIn(reviewers, person);
        return absent === undefined ? [] : [[n, absent] as const];
      }),
    );
    const what = {
      person,
      self_reviewed: false,
      meets,
      in_place_of,
      party: meets.filter((n) => person === party || in_place_of.get(n) === party),
      outcome: ruling.outcome,
      ruling,
      comment: null,
      modifications: null,
    };
    const stepped = stepReview(review, { kind: "vote", ...what, overtaken: false, at });
    if (stepped.kind === "refused") {
      if (stepped.because === "closed") break;
      expect(stepped.because).toBe("before_turn");
      continue;
    }
    review = stepped.review;
    const { required, approvals } = review.record.quorum;
    // A delegate and the absent person share one vote.
    if (absence === null) expect(approvals < required).toBe(review.record.status === "pending");
    const met = review.record.panels.every(({ status }) => status === "met");
    expect(met).toBe(review.record.status !== "pending");
  }
  return review;
}

/** True if at most two operators among the voters can override the block. */
function isOverriddenBy(voters: readonly string[], { content }: Decided, input: DecideInput): boolean {
  const terms = overrideTerms(content.reasons, input.policySet, input.membrane.escalation);
  if (terms.kind === "forbidden" || terms.demands.some((demand) => demand.quorum > 2)) return false;
  const able = voters.filter(
    (person) =>
      roleMeets(people.get(person) as Role, ["operator"]) &&
      terms.demands.every((demand) => isAmong(demand.reviewers, person)),
  );
  return able.length >= terms.people;
}

/** True if the voters can approve the held action or override the block. */
function canPass(
  voters: readonly string[],
  decided: Decided,
  input: DecideInput,
  circumstances: Circumstances,
): boolean {
  if (decided.content.verdict === "block") return isOverriddenBy(voters, decided, input);
  if (decided.escalation === null) return true;
  return approvedBy(voters, decided.escalation, circumstances).record.status === "decided";
}

test("a further rule never reduces the number or rank of deciding people, and never shortens the time until an approval", () => {
  const voters = fc.shuffledSubarray([...people.keys()]);
  const person = fc.constantFrom(...people.keys());
  const circumstances = fc.record({
    at: fc.constantFrom(...moments),
    party: fc.option(person),
    absence: fc.option(fc.record({ absent: person, delegate: person }).filter((each) => each.absent !== each.delegate)),
  });
  const rules = fc.array(spec, { maxLength: 3 });
  fc.assert(
    fc.property(
      membrane,
      rules,
      spec,
      voters,
      fc.nat(3),
      circumstances,
      (given, specs, further, approving, place, who) => {
        const policies = [...specs, further].map((each, n): TestPolicy => {
          const name = ruleNames[(n + place) % ruleNames.length] as string;
          const { after, quorum: asked, then, ...rest } = each.escalation ?? {};
          const named = peopleNamed((rest.reviewers ?? []).map(reviewerOf)) ?? Number.POSITIVE_INFINITY;
          const escalation = {
            ...rest,
            ...(after === undefined || after === name ? {} : { after }),
            ...(asked === undefined ? {} : { quorum: Math.min(asked, named) }),
            // A tier after the policy's own timeout is refused when saved.
            ...(then === undefined ||
            (rest.timeout === "30s" && then.after !== "20s") ||
            (rest.timeout === "2m" && then.after === "5m")
              ? {}
              : { then }),
          };
          return { name, spec: { ...each, escalation } };
        });
        const [with_it, without] = [
          inputOf(policies, { membrane: given }),
          inputOf(policies.slice(0, -1), { membrane: given }),
        ];
        const [more, fewer] = [decide(with_it), decide(without)];
        if (canPass(approving, more, with_it, who)) expect(canPass(approving, fewer, without, who)).toBe(true);
        if (more.escalation?.on_timeout !== "approve" || fewer.escalation === null) return;
        expect(fewer.escalation.on_timeout).toBe("approve");
        expect(more.escalation.timeout_seconds).toBeGreaterThanOrEqual(fewer.escalation.timeout_seconds);
      },
    ),
    { numRuns: runs(20_000) },
  );
});
