import { expect, test } from "vitest";
import type { StoredIntent } from "../../store/intents/intents.ts";
import { shownRemark } from "./shown-remark.ts";

test("what is hidden in many places of an action is found at once, beside as many that only people's changes made", () => {
  const names = Array.from({ length: 20_000 }, (_, i) => `f${i}`);
  const content = { a: Object.fromEntries(names.map((name, i) => [name, `value ${String(i).padStart(6, "0")}`])) };
  const modifications = names.map((name) => ({ op: "remove", path: `/b/${name}`, policy_id: "pol_1" }));
  const intent = {
    intent: { submitted: { payload: { content } }, withheld: names.map((name) => `/a/${name}`) },
    decision: {},
    resolution: { modifications },
  };
  const remark = "of value 000007 and value 7";
  expect(shownRemark(intent as unknown as StoredIntent, remark)).toBe("of [redacted] and value 7");
});
