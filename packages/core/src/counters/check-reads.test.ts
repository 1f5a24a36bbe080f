import { expect, test } from "vitest";
import { checkPolicy } from "../policy/check/check.ts";

const checked = (spec: Record<string, unknown>) => {
  const { diagnostics, warnings } = checkPolicy({
    apiVersion: "countersign/v1",
    kind: "Policy",
    metadata: { name: "limit" },
    spec: { effect: "block", ...spec },
  });
  const shown = (all: typeof warnings) => all.map(({ path, message, help }) => `${path} ${message} ${help}`);
  return { errors: shown(diagnostics), warnings: shown(warnings) };
};
const spent = [{ name: "spent", key: ["agent.id"], window: "24h" }];
const secret = [{ name: "secret", match: { verbs: ["read_secret"] }, key: ["agent.id"], within: "10m" }];

test("warns once for each expression that reads a counter which the document does not define", () => {
  expect(
    checked({ counters: spent, when: "count.spend.n > 5 && count.spend.sum > 1.0", message: "{{count.other.n}}" }),
  ).toEqual({
    errors: [],
    warnings: [
      "/spec/when This policy defines no counter spend. If no other policy in force does, count.spend is unknown. Did you mean spent?",
      expect.stringMatching(
        /^\/spec\/message This policy defines no counter other\..* ignore this if another policy defines it\.$/,
      ),
    ],
  });
});

test("refuses to read an earlier action that the document does not define, because policies do not share them", () => {
  const { errors } = checked({ after: secret, when: "has(after.secrets)" });
  expect(errors).toEqual(["/spec/when This policy defines no earlier action secrets. Did you mean secret?"]);
  expect(checked({ variables: [{ name: "at", expr: "after.login.at" }], when: "vars.at < now" }).errors).toEqual([
    expect.stringMatching(/^\/spec\/variables\/0\/expr This policy defines no earlier action login\. Define/),
  ]);
});

test("says nothing about what the document defines, and about other names", () => {
  const when = "has(after.secret) && count.spent.n > 1 && [1].exists(count, count == 1) && params.count.spend > 1";
  expect(checked({ counters: spent, after: secret, when })).toEqual({ errors: [], warnings: [] });
});
