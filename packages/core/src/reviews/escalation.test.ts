import type { Escalation } from "@countersign/contract";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Review, type ReviewStep, type Ruling, stepReview } from "./escalation.ts";
import { withNames } from "./with-names.ts";

const at = (second: number) => `2026-11-21T10:00:${String(second).padStart(2, "0")}.000000Z`;
const plain: Ruling = { outcome: "approve", modifications: [], modified_content: null };
const less: Ruling = {
  outcome: "approve_modified",
  modifications: [{ op: "replace", path: "/amount", value: 5, policy_id: null }],
  modified_content: { amount: 5 },
};

const anybody = { policy: "membrane.escalation", reviewers: [], quorum: 1, approved_by: [] };

function review(required = 1, on_timeout: "block" | "approve" = "block"): Review {
  const record: Escalation = {
    escalation_id: "esc_1",
    intent_id: "int_1",
    decision_id: "dec_1",
    membrane_id: "mem_1",
    agent_id: "a",
    pipeline_mode: "live",
    status: "pending",
    reason: "",
    risk_score: 0,
    reviewers: [],
    quorum: { required, approvals: 0, rejections: 0 },
    panels: [],
    votes: [],
    self_reviewed: false,
    resolution: null,
    on_timeout,
    created_at: at(0),
    expires_at: at(30),
    closed_at: null,
    action: { type: "other.x", verb: "x", target: null, summary: null },
  };
  return { record, ruling: null, demands: [{ ...anybody, quorum: required }] };
}

const approve = (person: string, ruling: Ruling = plain, second = 1, meets = [0]): ReviewStep => ({
  kind: "vote",
  person,
  self_reviewed: false,
  meets,
  outcome: ruling.outcome,
  ruling,
  comment: null,
  modifications: null,
  overtaken: false,
  at: at(second),
});
const block = (person: string, second = 1): ReviewStep => ({
  kind: "vote",
  person,
  self_reviewed: false,
  meets: [0],
  outcome: "block",
  ruling: null,
  comment: "no",
  modifications: null,
  overtaken: false,
  at: at(second),
});

function after(start: Review, ...steps: ReviewStep[]): Review {
  return steps.reduce((now, step) => {
    const stepped = stepReview(now, step);
    if (stepped.kind === "refused") throw new Error(stepped.because);
    return stepped.review;
  }, start);
}

describe("a review", () => {
  test("one rejection closes it as block, whatever was approved before", () => {
    const { record } = after(review(3), approve("a"), approve("b"), block("c"));
    expect(record).toMatchObject({ status: "decided", closed_at: at(1), quorum: { approvals: 2, rejections: 1 } });
    expect(record.resolution).toMatchObject({ outcome: "block", by: "c", comment: "no" });
  });

  test("the agent gets the messages of the votes behind the outcome, and no comments", () => {
    const tells = (step: ReviewStep, message_to_agent: string) => ({ ...step, message_to_agent }) as ReviewStep;
    const first = after(review(3), tells(approve("a"), "Use the new account."));
    expect(first.record.resolution).toBe(null);
    const said = ({ record }: Review) => record.resolution?.message_to_agent;
    expect(said(after(first, approve("b"), tells(approve("c"), "Next time ask earlier.")))).toBe(
      "Use the new account.\n\nNext time ask earlier.",
    );
    expect(said(after(first, tells(block("b"), "Too late.")))).toBe("Too late.");
    expect("message_to_agent" in (after(first, block("b")).record.resolution ?? {})).toBe(false);
    const { record } = after(first, { ...approve("b"), hidden: ["new account"] } as ReviewStep);
    expect(record.votes[0]?.message_to_agent).toBe("Use the [redacted].");
  });

  test("approvals close it when enough different people gave them", () => {
    const twice = after(review(2), approve("a"), approve("a"));
    expect(twice.record).toMatchObject({ status: "pending", quorum: { approvals: 1 } });
    expect(after(twice, approve("b")).record).toMatchObject({ status: "decided", resolution: { outcome: "approve" } });
  });

  test("an approval that is too fast and has no reason needs one more person in its panel, until its voter gives a reason", () => {
    const because = ["too_soon" as const];
    const fast = { because, shown_seconds: 2, approvals_in_five_minutes: 1, second_person: true };
    const quick = (person: string) => ({ ...approve(person), fast, needs_second: [0] }) as ReviewStep;
    const first = after(review(1), quick("a"));
    expect(first.record).toMatchObject({
      status: "pending",
      quorum: { required: 2, approvals: 1 },
      panels: [{ required: 2, approvals: 1, status: "open", missing: "1 more approval by any reviewer" }],
      votes: [{ reviewer: "a", fast }],
    });
    for (const next of [approve("b"), approve("a"), quick("b")])
      expect(after(first, next).record).toMatchObject({ status: "decided", resolution: { outcome: "approve" } });
    expect(after(first, block("b")).record.resolution?.outcome).toBe("block");
  });

  test("a reassignment keeps the strictest pace, and the second person that a fast approval needs", () => {
    const paced = (policy: string, min_seconds: number) => ({ ...anybody, policy, pace: { min_seconds } });
    const start = { ...review(1), demands: [paced("a", 5), paced("b", 9)] };
    const fast = {
      because: ["too_soon" as const],
      shown_seconds: 2,
      approvals_in_five_minutes: 1,
      second_person: true,
    };
    const first = after(start, { ...approve("a", plain, 1, [0, 1]), fast, needs_second: [0, 1] } as ReviewStep);
    const handed = after(first, { kind: "reassign", reviewers: [{ type: "user", id: "b" }], at: at(2) });
    expect(handed.record.panels).toMatchObject([{ required: 2, approvals: 1, pace: { min_seconds: 9 } }]);
    expect(after(handed, approve("b")).record.status).toBe("decided");
  });

  test("a vote counts for a panel whose second tier opened before it", () => {
    const tier = { after_seconds: 10, reviewers: [{ type: "role" as const, id: "operator" }] };
    const demand = { ...anybody, reviewers: [{ type: "role" as const, id: "admin" }], tier, tier_left_us: 20_000_000 };
    const first = after({ ...review(2), demands: [{ ...demand, quorum: 2 }] }, approve("a", plain, 9));
    expect(first.record.panels[0]?.reviewers).toHaveLength(1);
    const decided = after(first, approve("b", plain, 10)).record;
    expect(decided).toMatchObject({
      status: "decided",
      panels: [{ reviewers: [{ id: "admin" }, { id: "operator" }] }],
    });
  });

  test("records if the submitter's person voted, also among other voters", () => {
    const own = { ...approve("a"), self_reviewed: true } as ReviewStep;
    const states = [
      review(2),
      after(review(2), approve("b")),
      after(review(2), approve("b"), own),
      after(review(2), own, approve("b")),
    ];
    expect(states.map(({ record }) => record.self_reviewed)).toEqual([false, false, true, true]);
  });

  describe("with an order", () => {
    const first = { ...anybody, policy: "first", quorum: 2 };
    const second = { ...anybody, policy: "second", after: "first" };
    const third = { ...anybody, policy: "third", after: "second" };
    const ordered: Review = { ...review(), demands: [first, second, third] };
    const by = (person: string, ...meets: number[]) => approve(person, plain, 1, meets);
    const statuses = ({ record }: Review) => record.panels.map(({ status }) => status);

    test("an approval waits for the turn of one of the reviewer's demands, and says which demand is missing", () => {
      const early = stepReview(ordered, by("c", 1));
      expect(early).toMatchObject({ kind: "refused", because: "before_turn", after: { policy: "first" } });
      const half = after(ordered, by("a", 0));
      expect(stepReview(half, by("c", 1))).toMatchObject({ kind: "refused", because: "before_turn" });
      expect(statuses(half)).toEqual(["open", "waiting", "waiting"]);
      const whole = after(half, by("b", 0));
      expect(statuses(whole)).toEqual(["met", "open", "waiting"]);
      expect(stepReview(whole, by("d", 2))).toMatchObject({ because: "before_turn", after: { policy: "second" } });
      expect(after(whole, by("c", 1), by("d", 2)).record.resolution).toMatchObject({ outcome: "approve" });
    });

    test("an approval counts for all demands of the reviewer, also for those whose turn comes later", () => {
      const half = after(ordered, by("a", 0, 1));
      expect(half.record.panels[1]).toMatchObject({ status: "waiting", approvals: 1, missing: null });
      expect(statuses(after(half, by("b", 0)))).toEqual(["met", "met", "open"]);
    });

    test("a block never waits", () => {
      const blocked = after(ordered, { ...block("d"), meets: [2] } as ReviewStep);
      expect(blocked.record.resolution).toMatchObject({ outcome: "block", by: "d" });
    });
  });

  test("approvals close it when each demand is met; one person's approval counts for every demand that it meets", () => {
    const two = review();
    const apart = { ...two, demands: [anybody, { ...anybody, policy: "b", quorum: 2 }] };
    const by = (person: string, ...meets: number[]) => approve(person, plain, 1, meets);
    const first = after(apart, by("a", 0), by("b", 0));
    expect(first.record).toMatchObject({ status: "pending", quorum: { required: 4, approvals: 2 } });
    expect(first.demands.map(({ approved_by }) => approved_by)).toEqual([["a", "b"], []]);
    expect(after(first, by("c", 1)).record.status).toBe("pending");
    expect(after(first, by("c", 1), by("d", 1)).record).toMatchObject({ status: "decided", quorum: { approvals: 4 } });
    expect(after(apart, by("a", 1), by("c", 0, 1)).record).toMatchObject({
      status: "decided",
      quorum: { required: 2, approvals: 2 },
      resolution: { outcome: "approve" },
    });
    expect(after(first, block("a")).record.resolution?.outcome).toBe("block");
  });

  test("a replaced or overtaken approval counts for no demand", () => {
    const apart = { ...review(), demands: [anybody, { ...anybody, policy: "b" }] };
    const first = after(apart, approve("a", less, 1, [0]));
    expect(after(first, approve("a", less, 1, [1])).demands.map(({ approved_by }) => approved_by)).toEqual([[], ["a"]]);
    const again = after(first, { ...approve("b", plain, 1, [1]), overtaken: true } as ReviewStep);
    expect(again.demands.map(({ approved_by }) => approved_by)).toEqual([[], ["b"]]);
    expect(again.record.status).toBe("pending");
  });

  test("approvals of different rulings are not added up; a single approver may change the vote", () => {
    const first = after(review(2), approve("a", less));
    expect(stepReview(first, approve("b"))).toEqual({ kind: "refused", because: "disagrees" });
    const { record } = after(first, approve("a"), approve("b"));
    expect(record).toMatchObject({ status: "decided", resolution: { outcome: "approve", modifications: [] } });
  });

  test("overtaken approvals end with the first approval of another ruling, and count for the same ruling", () => {
    const two = after(review(3), approve("a", less), approve("b", less));
    const again = after(two, { ...approve("c"), overtaken: true } as ReviewStep);
    expect(again.record).toMatchObject({ status: "pending", quorum: { approvals: 1 }, votes: [{ reviewer: "c" }] });
    expect(after(again, approve("a"), approve("b")).record.resolution).toMatchObject({ outcome: "approve" });
    expect(after(two, { ...approve("c", less), overtaken: true } as ReviewStep).record.status).toBe("decided");
    expect(after(two, { ...block("c"), overtaken: true } as ReviewStep).record.votes).toHaveLength(3);
  });

  test("texts that policies hide now are redacted everywhere in the record", () => {
    const held = review(2);
    const action = { ...held.record.action, target: { identifier: "to Ann Ox" }, summary: "Ann Ox asks" };
    const told = { ...held, record: { ...held.record, reason: "For Ann Ox", action } };
    const first = after(told, { ...approve("a"), comment: "Ann Ox is known" } as ReviewStep);
    expect(first.record.action).toEqual(action);
    const { record } = after(first, { ...approve("b"), hidden: ["Ann Ox"] } as ReviewStep);
    expect(record).toMatchObject({
      status: "decided",
      reason: "For [redacted]",
      votes: [{ comment: "[redacted] is known" }, {}],
    });
    expect(record.action).toMatchObject({ target: { identifier: "to [redacted]" }, summary: "[redacted] asks" });
    expect(record.action.verb).toBe(action.verb);
  });

  test.each(["block", "approve"] as const)("the timeout ends it as on_timeout says: %s", (on_timeout) => {
    const step: ReviewStep = { kind: "time_over", ruling: plain, at: at(30) };
    const { record } = after(review(1, on_timeout), step);
    expect(record).toMatchObject({ status: "timed_out", resolution: { outcome: on_timeout, by: null } });
  });

  test("the timeout blocks if approval is no longer allowed, and the record says so", () => {
    const { record, ruling } = after(review(1, "approve"), { kind: "time_over", ruling: null, at: at(30) });
    expect([record.on_timeout, record.resolution?.outcome, ruling]).toEqual(["block", "block", null]);
  });

  test("at expires_at the timeout wins over votes; a microsecond before, votes win", () => {
    const early = "2026-11-21T10:00:29.999999Z";
    expect(stepReview(review(), approve("a", plain, 30))).toEqual({ kind: "refused", because: "closed" });
    expect(stepReview(review(), { ...approve("a"), at: early }).kind).toBe("moved");
    const step: ReviewStep = { kind: "time_over", ruling: plain, at: early };
    expect(stepReview(review(), step)).toEqual({ kind: "refused", because: "early" });
  });

  test("a reassignment changes neither votes nor timeout", () => {
    const before = after(review(2), approve("a"));
    const reviewers = [{ type: "user" as const, id: "usr_1" }];
    const { record } = after(before, { kind: "reassign", reviewers, at: at(2) });
    const panels = [
      { policy: "escalation.reassigned", source: "reassignment", reviewers, required: 2, approved_by: ["a"] },
    ];
    expect(record).toMatchObject({ panels });
    expect({ ...record, panels: before.record.panels }).toEqual({ ...before.record, reviewers });
  });

  test("a reassignment makes one demand with the same number of approvals", () => {
    const held = review(2);
    const apart = { ...held, demands: [anybody, { ...anybody, policy: "b" }] };
    const reviewers = [{ type: "user" as const, id: "usr_1" }];
    const handed = after(apart, approve("a"), { kind: "reassign", reviewers, at: at(2) });
    const replaces = apart.demands.map(({ policy }) => policy);
    expect(handed.demands).toEqual([
      {
        ...{ policy: "escalation.reassigned", reviewers, quorum: 2, approved_by: ["a"], replaces },
        carried: [{ person: "a", demand: { reviewers: [] } }],
      },
    ]);
    expect(after(handed, approve("usr_1")).record.status).toBe("decided");
  });

  test("for any order of steps, a closed review never changes and its outcome has a reason", () => {
    const person = fc.constantFrom("a", "b", "c");
    const second = fc.integer({ min: 0, max: 40 });
    const steps: fc.Arbitrary<ReviewStep> = fc.oneof(
      fc
        .tuple(person, fc.constantFrom(plain, less), second, fc.boolean())
        .map(([p, r, s, overtaken]): ReviewStep => ({ ...approve(p, r, s), overtaken }) as ReviewStep),
      fc.tuple(person, second).map(([p, s]) => block(p, s)),
      second.map((s): ReviewStep => ({ kind: "cancel", by: "o", comment: null, at: at(s) })),
      second.map((s): ReviewStep => ({ kind: "reassign", reviewers: [], at: at(s) })),
      second.map((s): ReviewStep => ({ kind: "time_over", ruling: plain, at: at(s) })),
    );
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 12 }), fc.integer({ min: 1, max: 3 }), (happening, required) => {
        let now = review(required);
        for (const step of happening) {
          const before = structuredClone(now);
          const stepped = stepReview(now, step);
          expect(now).toEqual(before);
          if (before.record.status !== "pending") expect(stepped.kind).toBe("refused");
          if (stepped.kind === "moved") now = stepped.review;
        }
        const { record } = now;
        expect(record.closed_at === null).toBe(record.status === "pending");
        expect(record.resolution === null).toBe(record.status === "pending");
        expect(new Set(record.votes.map((each) => each.reviewer)).size).toBe(record.votes.length);
        if (record.status === "decided" && record.resolution?.outcome !== "block")
          expect(record.quorum).toMatchObject({ approvals: required, rejections: 0 });
      }),
    );
  });
});

test("two votes of one person count once, in the record and in each panel", () => {
  const names = new Map([
    ["key_1", "ann"],
    ["key_2", "ann"],
  ]);
  const voted = after(review(4), approve("key_1"), approve("bob"), approve("key_2", plain, 2));
  const { record, demands } = withNames(voted, names);
  expect(record).toMatchObject({
    quorum: { required: 4, approvals: 2, rejections: 0 },
    votes: [{ reviewer: "bob" }, { reviewer: "ann", at: at(2) }],
    panels: [{ approved_by: ["ann", "bob"], approvals: 2 }],
  });
  const again = after({ ...voted, record, demands }, approve("ann"), approve("eve"));
  expect(again.record).toMatchObject({ status: "pending", quorum: { approvals: 3 } });
  expect(after(again, approve("zoe")).record.status).toBe("decided");
});

test("a renamed approval keeps its details in the panel", () => {
  const carried = (person: string) => [{ person, demand: { reviewers: [], in_place_of: { [person]: "cas" } } }];
  const known = (person: string) => ({
    ...{ approved_by: [person], parties: [person], needs_second: [person] },
    ...{ in_place_of: { [person]: "cas" }, carried: carried(person) },
  });
  const { record, demands } = review(1);
  const before = { record, ruling: null, demands: demands.map((each) => ({ ...each, ...known("key_1") })) };
  expect(withNames(before, new Map([["key_1", "ann"]])).demands).toMatchObject([known("ann")]);
});
