import { expect, test } from "vitest";
import { mergeTerms } from "./escalation-terms.ts";

const membrane = {
  timeout_seconds: 14_400,
  on_timeout: "approve" as const,
  reviewers: [{ type: "role" as const, id: "reviewer" }],
  quorum: 1,
};

test("without policies the membrane's terms hold", () => {
  expect(mergeTerms(membrane, [])).toEqual(membrane);
});

test("the strictest of all policies holds, each filled up from the membrane", () => {
  const terms = mergeTerms(membrane, [
    { quorum: 2, timeout: "8h" },
    { reviewers: ["role:operator"], timeout: "30m" },
    { reviewers: ["role:admin", "role:reviewer"], on_timeout: "block" },
  ]);
  expect(terms).toEqual({
    quorum: 2,
    timeout_seconds: 1800,
    on_timeout: "block",
    reviewers: [
      { type: "role", id: "admin" },
      { type: "role", id: "operator" },
    ],
  });
});

test("a policy cannot approve on time-out where the membrane does not", () => {
  expect(mergeTerms({ ...membrane, on_timeout: "block" }, [{ on_timeout: "approve" }]).on_timeout).toBe("block");
});

test("when nobody would do for all policies, everybody named is asked", () => {
  expect(mergeTerms(membrane, [{ reviewers: ["user:a"] }, { reviewers: ["user:b"] }]).reviewers).toEqual([
    { type: "user", id: "a" },
    { type: "user", id: "b" },
  ]);
});
