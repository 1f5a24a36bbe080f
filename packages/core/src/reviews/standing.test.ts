import type { Escalation, Reviewer } from "@countersign/contract";
import { describe, expect, test } from "vitest";
import type { Review } from "./escalation.ts";
import { type CountedDemand, isMet, panelsOf } from "./panels.ts";
import { type Credential, isEntitled, type Standing, withoutLapsed } from "./standing.ts";
import { openTiers } from "./tiers.ts";

const expires_at = "2026-11-21T11:00:00.000000Z";

const role = (id: string): Reviewer => ({ type: "role", id });
const user = (id: string): Reviewer => ({ type: "user", id });

const standing = (held: Record<string, readonly Credential[]>, more: Partial<Standing> = {}): Standing => ({
  credentials: new Map(Object.entries(held)),
  lineages: new Map([["key_2", "key_1"]]),
  absences: new Map(),
  gone: new Map(),
  ...more,
});
const account = (person: string, held: Credential["role"] = "reviewer") => ({
  [person]: [{ role: held, self: person }],
});

const demand = (more: Partial<CountedDemand> = {}): CountedDemand => ({
  policy: "p",
  reviewers: [role("reviewer")],
  quorum: 2,
  approved_by: ["ann", "ben"],
  ...more,
});

function reviewOf(...demands: CountedDemand[]): Review {
  const voters = [...new Set(demands.flatMap(({ approved_by }) => approved_by))];
  const votes = voters.map((reviewer) => ({
    reviewer,
    outcome: "approve",
    comment: null,
    modifications: null,
    at: "",
  }));
  const quorum = { required: 2, approvals: voters.length, rejections: 0 };
  return {
    record: { votes, quorum, panels: panelsOf(demands, expires_at) } as unknown as Escalation,
    ruling: null,
    demands,
  };
}

describe("whether a person is among reviewers", () => {
  test.each([
    ["any reviewer", [], true],
    ["a role that the person's includes", [role("reviewer")], true],
    ["a higher role", [role("admin")], false],
    ["the person", [user("ann")], true],
    ["an earlier key of the chain", [user("key_2")], true],
    ["somebody else", [user("ben")], false],
  ])("%s", (_, reviewers, expected) => {
    const held = { ann: [{ role: "operator", self: "key_1" }] } as const;
    expect(isEntitled(reviewers, "ann", standing(held))).toBe(expected);
  });

  test("never without a credential that may vote", () => {
    expect(isEntitled([], "ann", standing({}))).toBe(false);
    expect(isEntitled([user("ann")], "ann", standing({}))).toBe(false);
  });
});

describe("approvals of people who may not vote any more", () => {
  test("are removed from each panel that no longer accepts the person, and the record says why", () => {
    const review = reviewOf(
      demand(),
      demand({ policy: "q", reviewers: [role("admin")], quorum: 1, approved_by: ["ann"] }),
    );
    const { review: left, lapsed } = withoutLapsed(review, standing({ ...account("ann"), ...account("ben") }));
    expect(left.demands.map(({ approved_by }) => approved_by)).toEqual([["ann", "ben"], []]);
    expect(left.record.quorum.approvals).toBe(2);
    expect(lapsed).toMatchObject([{ reviewer: "ann", lapsed: { because: "role_changed", panels: ["q"] } }]);
    expect(left.record.panels.map(({ status }) => status)).toEqual(["met", "open"]);
  });

  test("do not count for the quorum, and the panel asks its reviewers again", () => {
    const gone = new Map([["ann", "removed"]] as const);
    const { review } = withoutLapsed(reviewOf(demand({ told: true })), standing(account("ben"), { gone }));
    expect(review.record.quorum.approvals).toBe(1);
    expect(review.demands[0]).toEqual(demand({ approved_by: ["ben"] }));
    expect(review.record.votes[0]?.lapsed).toEqual({ because: "removed", panels: ["p"] });
  });

  test("no longer need a second person if they were too fast, and can open a second tier", () => {
    const tier = { after_seconds: 60, reviewers: [role("operator")] };
    const fast = demand({ needs_second: ["ann"], tier, tier_left_us: 60_000_000, approved_by: ["ann", "ben", "cas"] });
    const before = reviewOf(fast);
    const pending = { ...before, record: { ...before.record, status: "pending" as const, expires_at, reviewers: [] } };
    expect(isMet(fast)).toBe(true);
    expect(openTiers(pending, expires_at).demands[0]?.tier_open).toBeUndefined();
    const { review } = withoutLapsed(pending, standing(account("ben")));
    expect(review.record.panels[0]).toMatchObject({ required: 2, approvals: 1, approved_by: ["ben"] });
    expect(openTiers(review, expires_at).demands[0]?.tier_open).toBe(true);
  });

  test("change nothing while everybody may vote", () => {
    const review = reviewOf(demand());
    expect(withoutLapsed(review, standing({ ...account("ann"), ...account("ben") })).review).toBe(review);
  });

  test("for an absent person count during the absence if the absent person may vote", () => {
    const named = demand({ reviewers: [user("ann")], approved_by: ["ben"], in_place_of: { ben: "ann" } });
    const absences = new Map([["ben", ["ann"]]]);
    const both = { ...account("ann"), ...account("ben") };
    const because = (now: Standing) => withoutLapsed(reviewOf(named), now).lapsed[0]?.lapsed?.because;
    expect(because(standing(both, { absences }))).toBeUndefined();
    expect(because(standing(both))).toBe("absence_ended");
    const gone = new Map([["ann", "removed"]] as const);
    expect(because(standing(account("ben"), { absences, gone }))).toBe("removed");
  });
});

describe("a demand", () => {
  test("has one vote for a delegate and the absent person", () => {
    const approved_by = ["ben", "ann"];
    expect(isMet(demand({ approved_by, in_place_of: { ben: "ann" } }))).toBe(false);
    expect(isMet(demand({ approved_by }))).toBe(true);
  });

  test("that needs a second person is not met by a delegate and the absent person", () => {
    const fast = { quorum: 1, needs_second: ["ben"] };
    expect(isMet(demand({ ...fast, in_place_of: { ben: "ann" } }))).toBe(false);
    expect(isMet(demand(fast))).toBe(true);
    expect(isMet(demand({ ...fast, approved_by: ["ben"] }))).toBe(false);
  });

  test("is never met by parties alone", () => {
    expect(isMet(demand({ parties: ["ann", "ben"] }))).toBe(false);
    expect(isMet(demand({ parties: ["ann"] }))).toBe(true);
  });
});
