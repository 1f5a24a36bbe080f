/** Boundary cases; `diagnostics.test.ts` covers every finding. */
import { expect, test } from "vitest";
import { checkPolicy } from "./check.ts";

test.each([
  ["a review", "escalation", "timeout", 30],
  ["a fact's age", "facts_max_age", "security", 3_660],
])("%s has a longest time", (_what, member, name, days) => {
  const codes = (time: string) =>
    checkPolicy({
      apiVersion: "countersign/v1",
      kind: "Policy",
      metadata: { name: "edges" },
      spec: { when: "true", effect: "escalate", [member]: { [name]: time } },
    }).diagnostics.map(({ code }) => code);
  expect(codes(`${days * 24 - 1}h`)).toEqual([]);
  expect(codes(`${days}d`)).toEqual([]);
  expect(codes(`${days * 24 + 1}h`)).toEqual(["out_of_range"]);
});
