import { describe, expect, test } from "vitest";
import { actionFingerprint } from "./fingerprint.ts";

const action = {
  org_id: "org_1",
  membrane_id: "mem_1",
  agent_id: "a",
  type: "payment.transfer",
  verb: "send_money",
  target: { type: "account", identifier: "x" },
  content: { amount_usd: 10, memo: "m" },
};

describe("the fingerprint of an action", () => {
  test("does not depend on the order of keys or the spelling of numbers", () => {
    const content = JSON.parse('{"memo":"\\u006d","amount_usd":1.0e1}');
    const target = { identifier: "x", type: "account" };
    expect(actionFingerprint({ ...action, target, content })).toBe(actionFingerprint(action));
  });

  test.each([
    ["org_id", "org_2"],
    ["membrane_id", "mem_2"],
    ["agent_id", "b"],
    ["type", "payment.refund"],
    ["verb", "send"],
    ["target", null],
    ["target", { type: "account", identifier: "y" }],
    ["content", null],
    ["content", {}],
    ["content", { amount_usd: 10.01, memo: "m" }],
  ])("another %s is another action", (field, value) => {
    expect(actionFingerprint({ ...action, [field]: value })).not.toBe(actionFingerprint(action));
  });

  test("never changes, because stored overrides depend on it", () => {
    expect(actionFingerprint(action)).toMatchInlineSnapshot(
      `"accac4af6f1fc7c071db437ab72b847e47fe518d241d7151fec049d7225cf640"`,
    );
  });
});
