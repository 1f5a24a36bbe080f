import { expect, test } from "vitest";
import { decide } from "../deciding/decide.ts";
import { inputOf, type TestCase, type TestPolicy } from "../testing/deciding.ts";
import { alwaysBlocks } from "./always-blocks.ts";

const tool = (verb: string, id = "agent-7"): TestCase => ({ intent: { agent: { id }, action: { verb } } });
const blocks = (policies: readonly TestPolicy[], asked: TestCase) => {
  const { policySet, membrane, intent, now_us } = inputOf(policies, asked);
  return alwaysBlocks(policySet, membrane, { agent_id: intent.agent.id, verb: intent.action.verb }, now_us);
};
const no_deleting = { name: "no-deleting", spec: { match: { verbs: ["delete_*"] }, when: "true", effect: "block" } };

test("a rule without a condition blocks a tool always: by verb, by agent, and by the catalogue's type", () => {
  expect(blocks([no_deleting], tool("Delete_File"))).toBe("no-deleting");
  expect(decide(inputOf([no_deleting], tool("Delete_File"))).content.verdict).toBe("block");
  expect(blocks([no_deleting], tool("read_file"))).toBeNull();
  const not_he = { name: "not-he", spec: { match: { agents: ["bot"] }, when: "true", effect: "block" } };
  expect(blocks([not_he], tool("read_file", "Bot"))).toBe("not-he");
  expect(blocks([not_he], tool("read_file", "other"))).toBeNull();
  const no_money = { name: "no-money", spec: { match: { actions: ["payment.*"] }, when: "true", effect: "block" } };
  const entry = { verb: "pay", type: "payment.transfer", data_classes: [] };
  expect(blocks([no_money], { ...tool("pay"), membrane: { action_catalogue: [entry] } })).toBe("no-money");
  expect(blocks([no_money], tool("pay"))).toBeNull();
});

test("a membrane whose default verdict is block blocks every tool always", () => {
  expect(blocks([], { ...tool("pay"), membrane: { default_verdict: "block" } })).toBe("membrane.default_verdict");
  expect(blocks([], { ...tool("pay"), membrane: { default_verdict: "escalate" } })).toBeNull();
});

const verbs = ["delete_file"];
const [from, until] = ["2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"];
const yes = {
  name: "yes",
  spec: { effect: "none", risk: { add: 0.1 }, suppresses: ["no-deleting"], when: "params.ok == true" },
};
test.each<[string, TestPolicy[]]>([
  ["a condition", [{ name: "a", spec: { match: { verbs }, when: "params.n > 1.0", effect: "block" } }]],
  ["a requirement", [{ name: "a", spec: { match: { verbs }, require: "params.n > 1.0", effect: "block" } }]],
  ["a review", [{ name: "a", spec: { match: { verbs }, when: "true", effect: "escalate" } }]],
  ["an end", [{ ...no_deleting, metadata: { effective_from: from, effective_until: until } }]],
  ["a later start", [{ ...no_deleting, metadata: { effective_from: until } }]],
  ["shadow mode", [{ ...no_deleting, mode: "shadow" }]],
  ["a rule that may suppress it", [no_deleting, yes]],
])("a rule with %s does not count", (_, policies) => {
  expect(blocks(policies, tool("delete_file"))).toBeNull();
});

test("a rule about named agents does not count for an unnamed caller, for whom it is unknown", () => {
  const named = { name: "named", spec: { match: { agents: ["bot"] }, when: "true", effect: "block" } };
  expect(blocks([named], tool("read_file", "unnamed"))).toBeNull();
});
