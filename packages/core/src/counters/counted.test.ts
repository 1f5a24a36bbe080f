import { expect, test } from "vitest";
import { compilePolicySet } from "../deciding/policy-set.ts";
import { checkPolicy, decide, mergeFacts, plainMembrane } from "../index.ts";

const now_us = 1_800_000_000_000_000;

function countedFor(spec: Record<string, unknown>, verb: string, agent = "bot"): string[] {
  const metadata = { name: "limit", title: "limit" };
  const { document } = checkPolicy({
    apiVersion: "countersign/v1",
    kind: "Policy",
    metadata,
    spec: { effect: "escalate", when: "true", ...spec },
  });
  if (document === null) throw new Error("invalid");
  const policies = [{ policy_id: "pol_1", version: 1, document, mode: "live" as const }];
  const { counted } = decide({
    intent: { agent: { id: agent }, action: { type: "payment.transfer", verb }, payload: { content: { amount: 5 } } },
    facts: mergeFacts([]),
    policySet: compilePolicySet({ policies, version: 1 }),
    membrane: plainMembrane,
    mode: "live",
    now_us,
  });
  return counted.map(({ name, key, micros }) => `${name} ${key} ${micros}`).sort();
}

const key = ["agent.id"];
const secret = { after: [{ name: "secret", match: { verbs: ["read_secret", "get_*"] }, key, within: "10m" }] };
const spent = { counters: [{ name: "spent", key, value: "params.amount", window: "1h" }] };

test.each(["read_secret", "Read_Secret", "read_s\u0435cret", "read-secret", "gеt_password"])(
  "the verb %j counts as the earlier action read_secret or get_*",
  (verb) => expect(countedFor(secret, verb)).toEqual(['after.secret ["bot"] 1000000']),
);

test("another verb counts as no earlier action", () => expect(countedFor(secret, "write_secret")).toEqual([]));

test("a verb that looks like one in match counts in the counter", () => {
  const match = { verbs: ["send_money"] };
  expect(countedFor({ ...spent, match }, "send_m\u043eney")).toEqual(['count.spent ["bot"] 5000000']);
  expect(countedFor({ ...spent, match }, "send_mail")).toEqual([]);
});

test("an agent whose id looks like a named one counts for both, because rules are evaluated on both", () => {
  const match = { actions: ["payment.*"], exclude: { agents: ["invoice-bot"] } };
  expect(countedFor({ ...spent, match: { agents: ["invoice-bot"] } }, "pay", "inv\u043eice-bot")).toEqual([
    'count.spent ["invoice-bot"] 5000000',
  ]);
  expect(countedFor({ ...spent, match }, "pay", "inv\u043eice-bot")).toEqual([
    'count.spent ["inv\u043eice-bot"] 5000000',
  ]);
});
