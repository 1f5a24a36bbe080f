import { expect, test } from "vitest";
import { decide } from "../../src/deciding/decide.ts";
import { inputOf } from "../../src/testing/deciding.ts";

test.each([
  ["null is not there", { siem_ref: null }, "approve"],
  ["missing is not there", {}, "approve"],
  ["another value", { siem_ref: "other" }, "approve"],
  ["the value", { siem_ref: "here" }, "block"],
])("`has(x) && x == …`: %s", (_, security, verdict) => {
  for (const when of [
    "has(facts.security.siem_ref) && facts.security.siem_ref == 'here'",
    "has(facts.security.siem_ref) && facts.security.siem_ref.startsWith('here')",
    "has(facts.security.siem_ref) && facts.security.siem_ref in ['here', 'there']",
  ]) {
    const spec = { when, effect: "block", on_unknown: "block" };
    const input = inputOf([{ name: "p", spec }], { intent: { content: {} }, facts: { security } });
    expect(decide(input).content.verdict, when).toBe(verdict);
  }
});
