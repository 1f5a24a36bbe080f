import { expect, test } from "vitest";
import { inputOf } from "../testing/deciding.ts";
import { explainPolicies } from "./explain.ts";

test("an explanation shows how far each matching policy got, and on which facts", () => {
  const policies = [
    { name: "a", spec: { when: "params.x > 1", require: "facts.identity.clearance_verified", effect: "block" } },
    { name: "b", spec: { when: "params.x > 9", require: "facts.security.siem_ref != ''", effect: "block" } },
    { name: "c", spec: { match: { actions: ["data.*"] }, when: "true", effect: "block" } },
    { name: "d", mode: "shadow" as const, spec: { when: "facts.security.siem_ref == 's'", effect: "block" } },
  ];
  const input = inputOf(policies, {
    intent: { content: { x: 2 } },
    facts: { security: { siem_ref: "s" } },
    as_of: { security: "2026-11-18T11:00:00Z" },
  });
  const siem = { path: "security.siem_ref", source: "org", as_of: "2026-11-18T11:00:00.000000Z", fresh: false };
  expect(explainPolicies(input)).toEqual([
    {
      policy_id: "pol_a",
      policy: "a",
      mode: "live",
      in_force: true,
      state: "unknown",
      when: { source: "params.x > 1", value: true, unknowns: [] },
      require: {
        source: "facts.identity.clearance_verified",
        unknowns: [{ path: "facts.identity.clearance_verified", reason: "missing" }],
      },
      facts: [{ path: "identity.clearance_verified", source: null, as_of: null, fresh: false }],
    },
    {
      policy_id: "pol_b",
      policy: "b",
      mode: "live",
      in_force: true,
      state: "not_applicable",
      when: { source: "params.x > 9", value: false, unknowns: [] },
      require: {
        source: "facts.security.siem_ref != ''",
        unknowns: [{ path: "facts.security.siem_ref", reason: "stale" }],
      },
      facts: [siem],
    },
    {
      policy_id: "pol_d",
      policy: "d",
      mode: "shadow",
      in_force: true,
      state: "fired",
      when: {
        source: "facts.security.siem_ref == 's'",
        unknowns: [{ path: "facts.security.siem_ref", reason: "stale" }],
      },
      require: null,
      facts: [siem],
    },
  ]);
});
