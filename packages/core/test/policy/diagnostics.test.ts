import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { checkPolicy } from "../../src/policy/check/check.ts";

const base = { when: "params.amount > 500", effect: "block" };
const when = (text: string): object => ({ spec: { ...base, when: text } });
const spec = (more: object): object => ({ spec: { ...base, ...more } });
const metadata = (more: object): object => ({ metadata: { name: "p", ...more } });
const second = (after: string, more: object = {}): object => ({
  ...more,
  // biome-ignore lint/suspicious/noThenProperty: the word of the policy language.
  then: { after, reviewers: ["role:admin"] },
});
const modify = (step: object): object => spec({ effect: "approve_modified", modify: [step] });
const test_case = (more: object): object => ({
  tests: [{ name: "t", intent: { agent: { id: "a" }, action: { verb: "v" } }, expect: {}, ...more }],
});

/** Title, code, text at the reported place, document. */
const wrong: readonly [string, string, string, object][] = [
  // Form.
  ["an unknown field", "unknown_field", "efect", spec({ efect: "block" })],
  ["a field that is missing", "required", "when", { spec: { when: "true" } }],
  ["a value of another type", "wrong_type", "5", metadata({ title: 5 })],
  ["none of the allowed values", "not_allowed", "reviewr", spec({ override: "reviewr" })],
  ["another kind of document", "not_allowed", "Polic", { kind: "Polic" }],
  ["a name of the wrong form", "bad_format", "A b", metadata({ name: "A b" })],
  ["an empty text", "too_short", "", metadata({ title: "" })],
  ["a text that is too long", "too_long", "xxx", metadata({ title: "x".repeat(300) })],
  [
    "too many variables",
    "too_long",
    "",
    spec({ variables: Array.from({ length: 65 }, (_, n) => ({ name: `v${n}`, expr: "1" })) }),
  ],
  ["a number out of range", "out_of_range", "2", spec({ risk: { add: 2 } })],
  // Problems that the schema cannot express.
  ["an invalid time", "bad_format", "2026-13-01T00:00:00Z", metadata({ effective_from: "2026-13-01T00:00:00Z" })],
  [
    "an end before the beginning",
    "out_of_range",
    "2026-01-01T00:00:00Z",
    metadata({ effective_from: "2027-01-01T00:00:00Z", effective_until: "2026-01-01T00:00:00Z" }),
  ],
  ["a duration that is none", "bad_format", "0s", spec({ escalation: { timeout: "0s" } })],
  ["a second tier at the end of the time", "out_of_range", "2h", spec({ escalation: second("2h", { timeout: "2h" }) })],
  ["a second tier after the longest time", "out_of_range", "30d", spec({ escalation: second("30d") })],
  ["a second tier at once", "bad_format", "0s", spec({ escalation: second("0s") })],
  [
    "a quorum that the people named cannot reach",
    "out_of_range",
    "2",
    spec({ escalation: { reviewers: ["user:usr_1", "user:usr_1"], quorum: 2 } }),
  ],
  ["a pattern that never matches", "not_allowed", "Payment.*", spec({ match: { actions: ["Payment.*"] } })],
  ["a verb that no tool has", "not_allowed", "send_money ", spec({ match: { verbs: ["send_money "] } })],
  ["an agent that there is not", "not_allowed", "", spec({ match: { exclude: { agents: ["\u00adbot-*"] } } })],
  [
    "a case with a verb that is no name",
    "bad_format",
    "",
    test_case({ intent: { agent: { id: "a" }, action: { verb: "v\u2060" } } }),
  ],
  ["no condition", "required", "effect", { spec: { effect: "block" } }],
  ["neither effect nor risk", "required", "none", spec({ effect: "none" })],
  [
    "a variable twice",
    "not_allowed",
    "v",
    spec({
      variables: [
        { name: "v", expr: "1" },
        { name: "v", expr: "2" },
      ],
    }),
  ],
  ["a rule that suppresses itself", "not_allowed", "p", spec({ suppresses: ["p"] })],
  ["a modification without changes", "required", "approve_modified", spec({ effect: "approve_modified" })],
  ["changes without a modification", "not_allowed", "op", spec({ modify: [{ op: "remove", path: "/x" }] })],
  ["a change without its value", "required", "op", modify({ op: "cap", path: "/x" })],
  ["a value that is not used", "not_allowed", "1", modify({ op: "remove", path: "/x", value: "1" })],
  ["modify_when without changes", "required", "true", spec({ modify_when: "true" })],
  ["a category that there is not", "unknown_field", "a", test_case({ facts: { weather: { a: 1 } } })],
  ["a case without an agent", "required", "action", test_case({ intent: { action: { verb: "v" } } })],
  // Expressions.
  ["half a condition", "syntax", "", when("params.amount >")],
  ["an unclosed message", "syntax", "params", spec({ message: "is {{params.amount" })],
  ["an expression that is too deep", "limit", "(", when(`${"(".repeat(80)}true${")".repeat(80)}`)],
  ["a number that is none", "literal", "99999999999999999999", when("99999999999999999999 > 1")],
  ["a name that there is not", "undeclared_name", "parms", when("parms.amount > 1")],
  ["a name in the middle", "undeclared_name", "parms", when("params.amount > 1 &&\n  parms.x")],
  ["a field of what has no such field", "undeclared_field", "verbs", when("action.verbs == 'x'")],
  ["a function that there is not", "undeclared_function", "docmented", when("docmented(params.x)")],
  ["an argument of the wrong type", "wrong_argument", "5", when("framework(facts, 5) == 'yes'")],
  ["operands that do not go together", "wrong_operand", ">", when("action.verb > 5")],
  ["a text for a fact that is a number", "wrong_operand", "==", when("facts.entity_state.account_balance_usd == '5'")],
  ["a value of no type of a fact", "wrong_operand", "!=", when("facts.environmental.tls_version != true")],
  ["a text that names no number", "literal", "NaN", when("double('NaN') > params.x")],
  ["a result that is no condition", "wrong_result", "action.verb", when("action.verb")],
  ["a macro without its parts", "macro", "", when("params.list.exists(1, true)")],
  ["a pattern that does not compile", "pattern", "", when("action.verb.matches('(')")],
  ["an error in a variable", "undeclared_name", "nowhere", spec({ variables: [{ name: "v", expr: "1 +\n nowhere" }] })],
  ["an error in a message", "undeclared_name", "nowhere", spec({ message: "so {{ nowhere }}" })],
  ["an error in a change", "undeclared_name", "nowhere", modify({ op: "set", path: "/x", value: "nowhere" })],
  ["loops in loops", "cost", "params.a", when("params.a.all(x, params.b.all(y, y.c == x.c))")],
];

const written = [
  ["YAML", (document: object) => stringify(document, { lineWidth: 0 })],
  ["YAML, folded", (document: object) => stringify(document, { lineWidth: 20 })],
  ["JSON", (document: object) => JSON.stringify(document, null, 2)],
  ["JSON on one line", (document: object) => JSON.stringify(document)],
] as const;

describe.each(wrong)("%s", (_, code, snippet, more) => {
  const document = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "p" }, spec: base, ...more };

  test.each(written)("has its code, place and help line in %s", (form, write) => {
    const text = write(document);
    const found = checkPolicy(text);
    expect(found.document).toBeNull();
    const one = found.diagnostics.find((each) => each.code === code);
    expect(one, JSON.stringify(found.diagnostics)).toBeDefined();
    for (const each of found.diagnostics) {
      expect(each.help, each.message).toMatch(/\w.*\S/);
      expect(each.message).toMatch(/^\S.*[.!?]$/s);
    }
    // A folded text may break anywhere. Its lines are checked here, its columns elsewhere.
    if (form === "YAML, folded") return;
    const lines = text.split("\n").slice((one?.line ?? 0) - 1);
    const there = [lines[0]?.slice((one?.column ?? 0) - 1), ...lines.slice(1)].join("\n").replace(/^[\s"'[{-]+/, "");
    expect(there.startsWith(snippet), `${JSON.stringify(there)} at ${one?.line}:${one?.column} of\n${text}`).toBe(true);
  });
});

test("a text that is no document also has a place and a help line", () => {
  for (const text of [
    "",
    "a: [",
    "a: 1\na: 2",
    "x: &a 1",
    "x: !!binary aGk=",
    "--- 1\n--- 2",
    `k: ${"[".repeat(60)}`,
    "5",
    "x".repeat(70_000),
  ]) {
    const found = checkPolicy(text);
    expect(found.document, text.slice(0, 20)).toBeNull();
    expect(found.diagnostics.length).toBeGreaterThan(0);
    for (const each of found.diagnostics) expect(each.help, `${text.slice(0, 20)}: ${each.message}`).toMatch(/\w/);
  }
});

test("every listed code was seen", () => {
  const seen = new Set(wrong.map(([, code]) => code));
  // Warnings, and findings that only a service adds.
  const others = ["unguarded", "constant", "test_failed", "too_many_keys"];
  expect([...seen].sort()).toEqual(
    [
      "bad_format",
      "cost",
      "limit",
      "literal",
      "macro",
      "not_allowed",
      "out_of_range",
      "pattern",
      "required",
      "syntax",
      "too_long",
      "too_short",
      "undeclared_field",
      "undeclared_function",
      "undeclared_name",
      "unknown_field",
      "wrong_argument",
      "wrong_operand",
      "wrong_result",
      "wrong_type",
    ].sort(),
  );
  for (const other of others) expect(seen.has(other)).toBe(false);
});
