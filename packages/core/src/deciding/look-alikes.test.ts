import { look_alike_reason } from "@countersign/contract";
import { describe, expect, test } from "vitest";
import { agentNames } from "../names/known-names.ts";
import { decideCase, inputOf, type TestCase, type TestPolicy } from "../testing/deciding.ts";
import { decide } from "./decide.ts";

/** Decides an action with these names. Defaults: agent `agent-1`, verb `read_page`, type `data.read`. */
function asked(
  policies: readonly TestPolicy[],
  names: { verb?: string; agent?: string; target?: object },
  more: TestCase = {},
) {
  const { verb = "read_page", agent = "agent-1", target } = names;
  const action = { type: "data.read", verb, ...(target !== undefined && { target }) };
  const { content } = decideCase(policies, { intent: { agent: { id: agent }, action }, ...more });
  const reported = content.reasons.filter(({ policy }) => policy === look_alike_reason);
  return { ...content, reported: reported.map(({ message }) => message) };
}

const blocks = (spec: object): TestPolicy[] => [
  { name: "no", spec: { effect: "block", on_unknown: "escalate", ...spec } },
];
const wires = blocks({ match: { verbs: ["send_money"] }, when: "true" });
const catalogue = { action_catalogue: [{ verb: "send_money", type: "payment.transfer", data_classes: ["chd"] }] };

describe("a name that only looks like a known one is unknown to rules that name the known one", () => {
  test.each(["send-money", "sendMoney", "send_m\u043eney", "send_rnoney", "send money", "sendmoney"])(
    "a verb in match: %j",
    (verb) => {
      const { verdict, reasons } = asked(wires, { verb });
      expect(verdict).toBe("escalate");
      expect(reasons).toMatchObject([
        { policy: "no", unknown_facts: [{ path: "action.verb", reason: "looks like send_money" }] },
        { policy: look_alike_reason, policy_id: null, effect: "none" },
      ]);
      expect(reasons[0]?.message).toContain("not established, because action.verb looks like send_money");
    },
  );

  test("the type and the data classes that the catalogue gives the known verb count", () => {
    const verb = "send_m\u043eney";
    const membrane = catalogue;
    const byType = blocks({ match: { actions: ["payment.transfer"] }, when: "true" });
    expect(asked(byType, { verb }, { membrane }).verdict).toBe("escalate");
    expect(asked(blocks({ when: "'chd' in data_classes" }), { verb }, { membrane }).verdict).toBe("escalate");
    expect(asked(byType, { verb: "read_page" }, { membrane }).verdict).toBe("approve");
  });

  test("a prefix in match", () => {
    const prefix = blocks({ match: { verbs: ["send_*"] }, when: "true" });
    expect(asked(prefix, { verb: "send-mail" }).verdict).toBe("escalate");
    expect(asked(prefix, { verb: "s\u0435nd_mail" }).verdict).toBe("escalate");
    expect(asked(prefix, { verb: "sender" }).verdict).toBe("approve");
  });

  test("an agent", () => {
    const own = blocks({ match: { agents: ["invoice-bot"] }, when: "true" });
    expect(asked(own, { agent: "invoice_b\u043et" })).toMatchObject({
      verdict: "escalate",
      reported: [
        expect.stringMatching(
          /^The agent id "invoice_b\u043et" looks like the known "invoice-bot", but is another name: "_"/,
        ),
      ],
    });
    expect(asked(own, { agent: "invoice-bot-2" }).verdict).toBe("approve");
  });

  test.each([
    ['action.verb == "send_money"', { verb: "send-money" }],
    ['intent.action["verb"] in ["pay", "send_money"]', { verb: "send_m\u043eney" }],
    ['action.verb.startsWith("send_")', { verb: "send-money" }],
    ['action.verb.endsWith("_money")', { verb: "send_m\u043eney" }],
    ['action.verb.contains("mone")', { verb: "send_m\u043eney" }],
    ['action.verb == "send_money"', { verb: "Send_Money" }],
    ['agent.id == "invoice-bot"', { agent: "invoice\u2010bot" }],
    ['target.identifier == "prod-db"', { target: { type: "db", identifier: "pr\u043ed-db" } }],
    ['target.identifier == "prod-db"', { target: { type: "db", identifier: "PROD_DB" } }],
    ['has(action.target) && intent.action.target.type == "ledger"', { target: { type: "l\u0435dger" } }],
  ])("a text in an expression: %s, asked with %j", (when, names) => {
    const { verdict, reported } = asked(blocks({ when }), names);
    expect([verdict, reported.length]).toEqual(["escalate", 1]);
  });

  test("through a variable", () => {
    const variables = [{ name: "tool", expr: "action.verb" }];
    expect(asked(blocks({ variables, when: 'vars.tool == "send_money"' }), { verb: "send-money" }).verdict).toBe(
      "escalate",
    );
  });

  test("several names at once", () => {
    const both = blocks({
      match: { verbs: ["send_money"], agents: ["invoice-bot"] },
      when: 'target.identifier == "prod-db"',
    });
    const target = { identifier: "prod_db" };
    expect(asked(both, { verb: "send-money", agent: "invoice_bot", target }).verdict).toBe("escalate");
    const other = { identifier: "test_db" };
    expect(asked(both, { verb: "send-money", agent: "invoice_bot", target: other }).verdict).toBe("approve");
  });
});

describe("a policy with an unknown name", () => {
  const verb = "send-money";
  const rule = (spec: object) => {
    const given = { effect: "block", on_unknown: "escalate", match: { verbs: ["send_money"] }, when: "true", ...spec };
    return [{ name: "no", spec: Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) }];
  };

  test.each([
    [{ on_unknown: undefined }, "block"],
    [{ on_unknown: undefined, override: "never" }, "block"],
    [{ on_unknown: undefined, effect: "escalate" }, "escalate"],
    [{ on_unknown: "block" }, "block"],
    [{ on_unknown: "fire" }, "block"],
    [{ on_unknown: "escalate" }, "escalate"],
    [{ on_unknown: "skip" }, "escalate"],
    [{ effect: "escalate", on_unknown: "skip" }, "escalate"],
    [{ effect: "approve_modified", modify: [{ op: "remove", path: "/a" }] }, "escalate"],
  ])("%j: %s", (spec, verdict) => expect(asked(rule(spec), { verb }).verdict).toBe(verdict));

  test.each([{ effect: "none", on_unknown: "skip" }, {}])("adds its full risk: %j", (spec) => {
    const membrane = { thresholds: { escalate_at: null, block_at: 0.6 } };
    const { verdict, risk_score } = asked(rule({ risk: { add: 0.6 }, ...spec }), { verb }, { membrane });
    expect([verdict, risk_score]).toEqual(["block", 0.6]);
  });

  test("a rule that fires only on the written name suppresses no others", () => {
    const others = { match: { exclude: { verbs: ["send_money"] } }, when: "true", effect: "none", risk: { add: 0.1 } };
    const policies = [...rule({}), { name: "grant", spec: { ...others, suppresses: ["no"] } }];
    expect(asked(policies, { verb }).verdict).toBe("escalate");
  });

  test("neither does it on the modified action", () => {
    const change = (path: string) => ({
      when: "true",
      effect: "approve_modified",
      modify: [{ op: "set", path, value: "5.0" }],
    });
    const policies: TestPolicy[] = [
      ...blocks({ when: "params.y == 5.0" }),
      { name: "set", spec: { match: { verbs: ["send_money"] }, on_unknown: "fire", ...change("/y") } },
      { name: "grant", spec: { match: { exclude: { verbs: ["send_money"] } }, suppresses: ["no"], ...change("/z") } },
    ];
    const verdictOf = (each: string) =>
      decideCase(policies, { intent: { action: { verb: each }, content: { y: 1 } } }).content.verdict;
    expect([verdictOf("send_money"), verdictOf("send-money")]).toEqual(["block", "escalate"]);
  });

  test("a change that depends on the name is not made", () => {
    const value = 'action.verb == "send_money" ? 1.0 : 1000.0';
    const caps = [
      { name: "cap", spec: { when: "true", effect: "approve_modified", modify: [{ op: "cap", path: "/n", value }] } },
    ];
    expect(
      asked(caps, { verb }, { intent: { agent: { id: "a" }, action: { verb }, content: { n: 5 } } }),
    ).toMatchObject({
      verdict: "escalate",
      reasons: [{ policy: "cap", message: expect.stringContaining("action.verb looks like send_money") }, {}],
    });
  });

  test("a rule that modifies instead for other names still stops the action", () => {
    const modify_when = 'action.verb != "send_money"';
    const softens = rule({ match: {}, modify_when, modify: [{ op: "remove", path: "/a" }] });
    expect(asked(softens, { verb }).verdict).toBe("block");
  });

  test("an override of the rule releases the action", () => {
    expect(asked(rule({}), { verb }, { overrides: ["pol_no"] }).verdict).toBe("approve");
  });

  test("a shadow rule reports its effect", () => {
    const action = { type: "data.read", verb };
    const { content, shadow_reasons } = decideCase([{ ...(rule({})[0] as TestPolicy), mode: "shadow" }], {
      intent: { action },
    });
    expect([content.verdict, content.reasons]).toEqual(["approve", []]);
    expect(shadow_reasons).toMatchObject([{ policy: "no", effect: "escalate" }]);
  });
});

describe("reported look-alikes", () => {
  test("an approved look-alike of a known name is reported, with the characters that differ", () => {
    const { verdict, reported } = asked([], { verb: "send_m\u043eney" }, { membrane: catalogue });
    expect(verdict).toBe("approve");
    expect(reported).toEqual([
      'The verb "send_m\u043eney" looks like the known "send_money", but is another name: "\u043e" (U+043E) for "o" (U+006F). Rules about "send_money" are not established.',
    ]);
  });

  test("an irrelevant text in an expression is not a known name", () => {
    const texts = blocks({ when: 'agent.id == "x" && params.to == "petty cash"' });
    expect(asked(texts, { agent: "petty-cash" })).toMatchObject({ verdict: "approve", reasons: [] });
  });

  test("a known name looks like no other name", () => {
    const membrane = {
      action_catalogue: [...catalogue.action_catalogue, { verb: "send-money", type: "data.read", data_classes: [] }],
    };
    expect(asked(wires, { verb: "Send-Money" }, { membrane })).toMatchObject({ verdict: "approve", reasons: [] });
    const named = [
      ...wires,
      { name: "other", spec: { match: { verbs: ["send-money"] }, when: "false", effect: "block" } },
    ];
    expect(asked(named, { verb: "send-money" })).toMatchObject({ verdict: "approve", reasons: [] });
  });

  test("an agent id that looks like one with stored facts is reported, once", () => {
    const agents_with_facts = agentNames(["invoice-bot"]);
    const messages = (id: string, rules: TestPolicy[] = []) =>
      decide({ ...inputOf(rules, { intent: { agent: { id } } }), agents_with_facts }).content.reasons.flatMap(
        ({ policy, message }) => (policy === look_alike_reason ? [message] : []),
      );
    expect(messages("invoice_bot")).toEqual([
      'The agent id "invoice_bot" looks like the known "invoice-bot", but is another name: "_" (U+005F) for "-" (U+002D). The stored facts of "invoice-bot" do not count for it.',
    ]);
    expect(messages("invoice-bot")).toEqual([]);
    const named = blocks({ match: { agents: ["invoice-bot"] }, when: "true" });
    expect(messages("invoice_bot", named)).toEqual([expect.stringContaining("Rules about")]);
  });

  test("no reason quotes a redacted text", () => {
    const policies = [
      ...blocks({ when: 'target.identifier == "4111-1111"' }),
      { name: "hide", spec: { when: "true", effect: "approve_modified", modify: [{ op: "redact", path: "/card" }] } },
    ];
    const action = { verb: "x", target: { identifier: "4111_1111" } };
    const { content } = decideCase(policies, { intent: { action, content: { card: "4111-1111" } } });
    expect(content.verdict).toBe("escalate");
    expect(JSON.stringify(content.reasons)).not.toContain("1111");
  });
});

test("names with too many readings are held, and an override releases them", () => {
  const names = ["a-b-c", "a_b_c", "a.b.c", "ab.c", "ab_c", "ab-c"];
  const match = { verbs: names, agents: names };
  const many = { verb: "abc", agent: "abc" };
  const policies = [{ name: "n", spec: { match, when: "false", effect: "block" } }];
  const { verdict, reasons } = asked(policies, many);
  expect(verdict).toBe("escalate");
  expect(reasons[0]).toMatchObject({
    policy: look_alike_reason,
    effect: "escalate",
    message: expect.stringContaining("too many"),
  });
  expect(asked(policies, many, { overrides: [look_alike_reason] }).verdict).toBe("approve");
});
