import { expect, test } from "vitest";
import { checkPolicy } from "./check.ts";

const warned = (spec: object): readonly string[] => {
  const text = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "p" } };
  const { document, warnings } = checkPolicy({ ...text, spec: { when: "params.amount > 100.0", ...spec } });
  expect(document).not.toBeNull();
  return warnings.map(({ path, message, help }) => `${path}: ${message} ${help}`);
};

test.each([
  [undefined, "two people may approve the action"],
  ["escalate", "reviewers may approve the action"],
  ["skip", "the action passes"],
])("a block that nobody may override gives a warning with on_unknown %s", (on_unknown, then) => {
  expect(warned({ effect: "block", override: "never", on_unknown })).toEqual([
    `/spec/override: Nobody may override this block, but if a value is missing or has another type, ${then}. Write on_unknown: block.`,
  ]);
});

test.each([
  { effect: "block", override: "never", on_unknown: "block" },
  { effect: "block", override: "never", on_unknown: "fire" },
  { effect: "block", override: "never", when: "true" },
  { effect: "block", override: "two_person" },
  { effect: "escalate" },
])("%j gives no warning", (spec) => {
  expect(warned(spec)).toEqual([]);
});
