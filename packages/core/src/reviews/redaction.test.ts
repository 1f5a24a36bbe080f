import { expect, test } from "vitest";
import type { Ruling } from "./escalation.ts";
import { hiddenPlaces, hiddenTextsInAction, hiddenTextsInChange, redactedRemark } from "./redaction.ts";

const redacting = (path: string) => ({ op: "replace" as const, path, value: "[redacted]", policy_id: "pol_1" });
const own = (path: string, value: unknown) => ({ op: "replace" as const, path, value, policy_id: null });

test("hides what policies hid in the submitted and changed action, and nothing that a reviewer set", () => {
  const decision = { modifications: [redacting("/a"), { ...redacting("/limit"), value: 5 }] };
  const resolution = {
    modifications: [{ op: "remove" as const, path: "/b", policy_id: "pol_1" }, own("/c", "[redacted]")],
  };
  const intent = { submitted: {}, withheld: ["/ssn", "/a"] };
  expect(hiddenPlaces({ intent, decision, resolution })).toEqual(["/ssn", "/a", "/b"]);
});

test("finds texts hidden in 20,000 places of an action, beside as many places that only a reviewer's change has", () => {
  const names = Array.from({ length: 20_000 }, (_, i) => `f${i}`);
  const content = { a: Object.fromEntries(names.map((name, i) => [name, `value ${String(i).padStart(6, "0")}`])) };
  const modifications = names.map((name) => ({ op: "remove" as const, path: `/b/${name}`, policy_id: "pol_1" }));
  const hidden = hiddenTextsInAction({
    intent: { submitted: { payload: { content } }, withheld: names.map((name) => `/a/${name}`) },
    decision: {},
    resolution: { modifications },
  });
  expect(redactedRemark("of value 000007 and value 7", hidden)).toBe("of [redacted] and value 7");
});

test("hides what policies remove from an approved change, and nothing without a change", () => {
  const wanted_content = { to: "Ann Miller", amount: 5, note: "for Ann" };
  const ruling: Ruling = {
    outcome: "approve_modified",
    modifications: [redacting("/note"), own("/to", "[redacted]"), redacting("/to")],
    modified_content: wanted_content,
    wanted_content,
  };
  expect(hiddenTextsInChange(ruling)).toEqual(["Ann Miller"]);
  const { wanted_content: _, ...unchanged } = ruling;
  expect([hiddenTextsInChange(unchanged), hiddenTextsInChange(null)]).toEqual([[], []]);
});

test("a remark that grows by redaction is cut to the limit", () => {
  const remark = "abcd ".repeat(800);
  expect(redactedRemark(remark, ["abcd"]).length).toBe(4_000);
});
