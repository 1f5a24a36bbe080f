import { expect, test } from "vitest";
import { type CountedDemand, panelsOf } from "./panels.ts";

const end = "2026-11-21T11:00:00.000000Z";
const user = (id: string) => ({ type: "user" as const, id });
const role = (id: string) => ({ type: "role" as const, id });
const demand = (policy: string, rest: Partial<CountedDemand> = {}): CountedDemand => ({
  ...{ policy, reviewers: [], quorum: 1, approved_by: [] },
  ...rest,
});

test("a panel shows its rule, its terms and its approvals", () => {
  const wires = demand("wires", { policy_id: "pol_1", reviewers: [role("admin")], quorum: 2, approved_by: ["usr_1"] });
  expect(panelsOf([wires, demand("membrane.escalation"), demand("escalation.reassigned")], end)).toMatchObject([
    {
      ...{
        source: "policy",
        policy_id: "pol_1",
        policy: "wires",
        reviewers: [role("admin")],
        required: 2,
        approvals: 1,
      },
      ...{ approved_by: ["usr_1"], missing: "1 more approval by any admin", after: null, status: "open" },
    },
    { source: "membrane", policy_id: null, policy: "membrane.escalation" },
    { source: "reassignment", policy_id: null, policy: "escalation.reassigned" },
  ]);
  expect(panelsOf([demand("membrane.escalation", { policy_id: "pol_2" })], end)[0]?.source).toBe("policy");
});

test.each<[text: string | null, rest: Partial<CountedDemand>]>([
  ["1 more approval by any reviewer", {}],
  [
    "2 more approvals by usr_2 or any operator",
    { reviewers: [user("usr_1"), user("usr_2"), role("operator")], quorum: 3, approved_by: ["usr_1"] },
  ],
  ["1 more approval by usr_1, usr_2 or usr_3", { reviewers: ["usr_1", "usr_2", "usr_3"].map(user) }],
  ["1 more approval by reviewers of wires", { met_with: "wires" }],
  [null, { approved_by: ["usr_1"] }],
])("says who is missing: %s", (text, rest) => {
  expect(panelsOf([demand("a", rest)], end)[0]?.missing).toBe(text);
});

test("names ten reviewers at most", () => {
  const many = Array.from({ length: 12 }, (_, n) => user(`usr_${n}`));
  expect(panelsOf([demand("a", { reviewers: many })], end)[0]?.missing).toMatch(/usr_9 or 2 others$/);
});
