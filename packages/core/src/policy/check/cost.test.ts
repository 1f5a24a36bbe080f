import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { limits } from "@countersign/contract";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../../../scripts/property-runs.ts";
import { decide } from "../../deciding/decide.ts";
import { decideCase, inputOf } from "../../testing/deciding.ts";
import type { PolicyDocument } from "../document.ts";
import { checkPolicy } from "./check.ts";
import { policyCost } from "./cost.ts";

const document = (spec: object): PolicyDocument =>
  ({ apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "p" }, spec }) as PolicyDocument;
const nested = "params.orders.all(o,\n  params.items.exists(i, i.price > o.price))";

describe("a policy that could use up the budget on values of the declared sizes", () => {
  test("is refused at the most expensive expression, in YAML and in JSON", () => {
    const yaml = `apiVersion: countersign/v1\nkind: Policy\nmetadata: {name: p}\nspec:\n  require: 'true'\n  when: "${nested.replace("\n", "")}"\n  effect: block\n`;
    const found = checkPolicy(yaml);
    expect(found.document).toBeNull();
    expect(found.diagnostics).toMatchObject([{ path: "/spec/when", line: 6, column: 10, code: "cost" }]);
    expect(found.diagnostics[0]?.message).toMatch(/may take [\d,]{7,} units/);
    expect(found.diagnostics[0]?.help).toContain("200 entries");
    const json = JSON.stringify(document({ when: nested, effect: "block" }), null, 2);
    const line = json.split("\n").findIndex((text) => text.includes('"when"')) + 1;
    expect(checkPolicy(json).diagnostics).toMatchObject([{ path: "/spec/when", line, column: 14, code: "cost" }]);
  });

  test("is refused for loops in variables, modifications and messages, and for patterns from facts", () => {
    const base = { when: "params.x > 1", effect: "block" };
    const wrong: [string, object][] = [
      ["/spec/variables/0/expr", { ...base, variables: [{ name: "v", expr: nested }], when: "vars.v" }],
      ["/spec/message", { ...base, message: `so: {{${nested}}}` }],
      [
        "/spec/modify/0/value",
        { ...base, effect: "approve_modified", modify: [{ op: "set", path: "/y", value: nested }] },
      ],
      ["/spec/when", { ...base, when: "params.text.matches(params.pattern)" }],
    ];
    for (const [path, spec] of wrong)
      expect(checkPolicy(document(spec) as never).diagnostics, path).toMatchObject([{ path, code: "cost" }]);
  });

  test("is not one with loops over one value, literal patterns or many comparisons", () => {
    for (const when of [
      "params.items.exists(i, i.price > 5 && i.name == 'x')",
      "params.items.all(i, i.price + i.tax < 100)",
      "params.orders.all(o, o.items.exists(i, i.price > 5))",
      "params.to.all(r, r.matches('^[a-z]+@[a-z]+[.]example$'))",
      "params.to.split(',').all(r, r.trim().lowerAscii().endsWith('@example.com'))",
      "params.to.all(r, r in facts.organizational.partners)",
      "params.to.all(r, r.split('@')[1] == 'example.com')",
      "params.to.exists(r, !(r.split('@')[1] in facts.organizational.partners))",
      "params.to.map(r, r.split('@')[1]).all(d, d in facts.organizational.partners)",
      "params.items.all(i, i.sku in facts.organizational.skus)",
      "params.to.all(r, r.split('@').size() == 2 && r.split('@')[1] != 'example.com')",
      "params.text.matches('^[a-z]+@[a-z]+$')",
      "params.items.all(i, documented(i.evidence) && consentState(i.consent) == 'granted')",
      "params.orders.all(o, subset(o.tags, facts.organizational.tags))",
      "subset(params.to, facts.organizational.partners) && size(intersect(params.to, facts.organizational.blocked)) == 0",
      Array.from("abcdefgh", (x) => `documented(facts.organizational.${x})`).join(" && "),
      Array.from("abcdefgh", (x) => `framework(facts, '${x}') != 'no'`).join(" && "),
      Array.from({ length: 60 }, (_, n) => `params.a${n} == ${n}`).join(" && "),
    ])
      expect(checkPolicy(document({ when, effect: "block" }) as never).diagnostics, when).toEqual([]);
  });
});

test("every rule of a pack costs less than the budget", () => {
  const root = fileURLToPath(new URL("../../../../../packs/", import.meta.url));
  for (const { name: pack } of readdirSync(root, { withFileTypes: true }).filter((each) => each.isDirectory()))
    for (const file of readdirSync(join(root, pack, "policies"))) {
      const checked = checkPolicy(readFileSync(join(root, pack, "policies", file), "utf8"));
      expect(checked.diagnostics, file).toEqual([]);
      expect(policyCost(checked.document as PolicyDocument).units, file).toBeLessThan(limits.policy_cost_budget);
    }
});

test("deciding on values within the declared sizes never takes more than was counted", () => {
  const condition: fc.Arbitrary<string> = fc.letrec<{ node: string }>((tie) => ({
    node: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom(
        "params.list.exists(x, x == vars.v)",
        "params.list.all(x, x.contains('aa'))",
        "params.list.exists(x, x in params.list)",
        "params.list.map(x, x + 'c').all(x, x in vars.v)",
        "params.list.all(x, x.split('a').exists(y, y.trim() == 'b'))",
        "params.text.contains('b')",
        "params.text.matches('(a|b)+c')",
        "params.map == params.map",
        "'q' in params.list",
        "facts.security.tags.exists(t, t.startsWith('k'))",
        "size(params.text.split('a')) > 3",
        "vars.v == 7",
        "documented(params.map)",
        "params.list.all(x, documented(x) && consentState(params.map) == 'unknown')",
        "subset(params.list, vars.v) || size(intersect(params.text, params.list)) > 1",
        "transferOk(params.text, params.text) || tls(params.text) > 1.0",
        "params.list.exists(x, framework(facts, x) == 'yes')",
        "framework({'regulatory': {'applicable_frameworks': vars.v}}, params.text) == 'no'",
        "inCallingWindow(params.list, 9) || size(recipientStates(facts)) > 2 || aiDisclosed(facts)",
        "params.nowhere > 1",
      ),
      fc.tuple(tie("node"), tie("node")).map(([a, b]) => `(${a} && ${b})`),
      fc.tuple(tie("node"), tie("node")).map(([a, b]) => `(${a} || !${b})`),
    ),
  })).node;
  const content = fc.record({
    list: fc.array(fc.constantFrom("a".repeat(1_000), "aaab", "q"), { maxLength: 16 }),
    text: fc.constantFrom("a".repeat(1_024), "ab".repeat(512), ""),
    map: fc.dictionary(fc.constantFrom("a", "b", "c"), fc.constantFrom("x", 1, [1, 2, 3])),
  });
  fc.assert(
    fc.property(condition, fc.option(condition, { nil: undefined }), content, (when, require, params) => {
      const spec = {
        variables: [{ name: "v", expr: "params.list.map(x, x + 'b')" }],
        when,
        ...(require === undefined ? {} : { require }),
        effect: "block",
        message: "{{params.text}} {{vars.v}}",
      };
      const { document: checked } = checkPolicy(document(spec) as never);
      fc.pre(checked !== null);
      const facts = {
        security: { tags: ["k", "l"] },
        regulatory: {
          applicable_frameworks: Object.fromEntries(Array.from({ length: 99 }, (_, n) => [`aa${n}`, "no"])),
        },
        environmental: { recipient_state: "FL".repeat(200), ai_voice_disclosure: ["draft", "a".repeat(500)] },
      };
      const at = "2026-01-01T00:00:00Z";
      const as_of = { security: at, regulatory: at, environmental: at };
      const budget = { left: 1e9 };
      decide({ ...inputOf([{ name: "p", spec }], { intent: { content: params }, facts, as_of }), budget });
      expect(1e9 - budget.left).toBeLessThanOrEqual(policyCost(checked as PolicyDocument).units);
    }),
    { numRuns: runs(200) },
  );
});

test("the patterns of a policy have one common limit", () => {
  const large = (n: number) => `params.a.matches("(?:${"a?".repeat(30)}${n}){900}")`;
  const variables = [{ name: "first", expr: large(1) }];
  const found = (when: string) =>
    checkPolicy(JSON.stringify(document({ variables, when, effect: "block" }))).diagnostics;
  expect(found("vars.first")).toEqual([]);
  expect(found(`vars.first && ${large(2)}`)).toMatchObject([{ path: "/spec/when", code: "pattern" }]);
});

test("a rule does not approve if the budget ran out", () => {
  const require = `[params.currency, params.country] in [["USD", "US"], ["EUR", "DE"]]`;
  const intent = { payload: { content: { currency: "RUB", country: "RU" } } };
  for (let cost_budget = 0; cost_budget < 40; cost_budget += 1) {
    const { content } = decideCase([{ name: "pairs", spec: { effect: "block", require } }], { intent, cost_budget });
    expect(content.verdict, `with a budget of ${cost_budget}`).not.toBe("approve");
  }
});
