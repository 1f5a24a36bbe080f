import { expect, test } from "vitest";
import type { PolicyDocument } from "../document.ts";
import { finish } from "../expressions.ts";
import { namingRules, type WordedAction } from "./naming-rules.ts";

const rule = (name: string, spec: Omit<PolicyDocument["spec"], "effect">): PolicyDocument => ({
  apiVersion: "countersign/v1",
  kind: "Policy",
  metadata: { name },
  spec: { ...spec, effect: "block" },
});

const transfer: WordedAction = { type: "payment.transfer", verb: "send_money", data_classes: ["phi"] };
const naming = (spec: Omit<PolicyDocument["spec"], "effect">, action = transfer) =>
  finish(namingRules([rule("r", spec)], [action])).naming[0]?.length === 1;

test.each([
  ["its type in match", { match: { actions: ["payment.transfer"] } }],
  ["what its type begins with in match", { match: { actions: ["pay*"] } }],
  ["its verb in match", { match: { verbs: ["send_*"] } }],
  ["its type in a condition", { when: 'action.type in ["payment.refund", "payment.transfer"]' }],
  ["what its type begins with in a condition", { when: 'action.type.startsWith("payment.")' }],
  ["its verb in a requirement", { require: 'action.verb != "send_money"' }],
  ["its data class in a variable", { variables: [{ name: "v", expr: '"phi" in data_classes' }], when: "v" }],
  ["its data class in a list", { when: '["phi", "chd"].exists(c, c in data_classes)' }],
  ["its type beside agents", { match: { actions: ["payment.transfer"], agents: ["other"] } }],
  ["its type, except for some agents", { match: { actions: ["payment.transfer"], exclude: { agents: ["*"] } } }],
])("a rule names an action by %s", (_, spec) => expect(naming(spec)).toBe(true));

test("a rule names a verb in any spelling in match, and as written in an expression", () => {
  const shouted = { ...transfer, verb: "SEND_MONEY" };
  for (const verbs of [["send_money"], ["Send_*"]]) expect(naming({ match: { verbs } }, shouted)).toBe(true);
  expect(naming({ when: 'action.verb == "send_money"' }, shouted)).toBe(false);
  expect(naming({ match: { verbs: ["send_*"], exclude: { verbs: ["Send_money"] } } }, shouted)).toBe(false);
});

test.each([
  ["another type", { match: { actions: ["payment.refund"] } }],
  ["everything", { match: { actions: ["*"] } }],
  ["nothing", { when: "params.amount_usd > 5.0" }],
  ["what it only begins like", { when: 'action.type.startsWith("paym.")' }],
  ["a longer type", { match: { actions: ["payment.transfer.wire"] } }],
  ["its type for another verb", { match: { actions: ["payment.transfer"], verbs: ["other"] } }],
  ["its class, but is not evaluated for it", { match: { actions: ["data.read"] }, when: '"phi" in data_classes' }],
  ["its type, which it leaves out", { match: { exclude: { actions: ["payment.*"] } }, when: '"phi" in data_classes' }],
  ["its type in nothing but the message", { message: "No payment.transfer here." }],
])("a rule does not name it by %s", (_, spec) => expect(naming(spec)).toBe(false));

test("a rule without type, verb or data class applies to every action; an empty text names none", () => {
  const rules = [
    rule("by-fact", { when: 'facts.security.siem_ref == ""' }),
    rule("all", { match: { actions: ["*"] }, when: "true" }),
    rule("by-type", { when: 'action.type == "a.b"' }),
    rule("by-class", { when: 'data_classes.exists(c, c == "phi")' }),
    rule("by-verb", { match: { verbs: ["v"] } }),
  ];
  const nameless = { type: "other.unclassified", verb: "", data_classes: [] };
  expect(finish(namingRules(rules, [nameless, { ...nameless, type: "a.b" }]))).toEqual({
    every_action: ["all", "by-fact"],
    naming: [[], ["by-type"]],
  });
});

test("thousands of rules and actions are processed in steps", () => {
  const rules = Array.from({ length: 300 }, (_, n) => rule(`r${n}`, { match: { actions: [`type.${n}`] } }));
  const actions = Array.from({ length: 5_000 }, (_, n) => ({ type: `type.${n}`, verb: `v${n}`, data_classes: [] }));
  const steps = namingRules(rules, actions);
  let count = 0;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) count += 1;
  expect(count).toBe(300 + 50);
  expect(step.value.naming.filter((names) => names.length === 1)).toHaveLength(300);
});
