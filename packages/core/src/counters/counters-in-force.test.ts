import { expect, test } from "vitest";
import { compilePolicySet } from "../deciding/policy-set.ts";
import { policySource } from "../testing/deciding.ts";
import { countersInForce } from "./counters-in-force.ts";

const spent = [{ name: "spent", key: ["agent.id"], value: "params.amount", window: "24h" }];
const now_us = Date.parse("2026-03-02T12:00:00Z") * 1_000;

function inForce(...policies: Parameters<typeof policySource>[0][]) {
  return Object.fromEntries(
    countersInForce(compilePolicySet({ policies: policies.map(policySource), version: 1 }), now_us),
  );
}

test("a counter has its window, its value and the numbers that policies compare it with, also in variables", () => {
  const found = inForce(
    {
      name: "a",
      spec: {
        counters: [{ name: "paid", key: ["agent.id"], window: { calendar: "month", zone: "Europe/Berlin" } }, ...spent],
        when: "count.spent.sum > vars.most || count.paid.n >= 3 || 2.0 < count.paid.sum",
        variables: [{ name: "most", expr: "2.0 * 2500.0" }],
        effect: "block",
      },
    },
    { name: "b", mode: "shadow", spec: { when: "count.spent.sum > 4000.0", effect: "escalate" } },
  );
  expect(found).toEqual({
    paid: {
      window: { calendar: "month", zone: "Europe/Berlin" },
      value: null,
      limits: [
        { policy: "a", policy_mode: "live", field: "n", limit: 3 },
        { policy: "a", policy_mode: "live", field: "sum", limit: 2 },
      ],
    },
    spent: {
      window: "24h",
      value: "params.amount",
      limits: [
        { policy: "b", policy_mode: "shadow", field: "sum", limit: 4000 },
        { policy: "a", policy_mode: "live", field: "sum", limit: 5000 },
      ],
    },
  });
});

test("a limit that depends on the action or the time is left out, and one that is named twice is shown once", () => {
  const { spent: found } = inForce({
    name: "a",
    spec: {
      counters: spent,
      when: [
        ...["params.most", "params.?most.orValue(7.0)", "(has(params.most) ? 8.0 : 9.0)"],
        ...["double(now.getHours())", "vars.most", "5.0", "5.0"],
      ]
        .map((limit) => `count.spent.sum > ${limit}`)
        .join(" || "),
      variables: [{ name: "most", expr: "agent.id == 'a' ? 1.0 : 2.0" }],
      effect: "block",
    },
  });
  expect(found?.limits).toEqual([{ policy: "a", policy_mode: "live", field: "sum", limit: 5 }]);
});

test("a policy that is not yet or no longer in effect has no limits", () => {
  const spec = { counters: spent, when: "count.spent.sum > 5.0", effect: "block" } as const;
  const { spent: found } = inForce(
    { name: "later", spec, metadata: { effective_from: "2026-03-03T00:00:00Z" } },
    { name: "earlier", spec, metadata: { effective_until: "2026-03-02T00:00:00Z" } },
  );
  expect(found).toEqual({ window: "24h", value: "params.amount", limits: [] });
});
