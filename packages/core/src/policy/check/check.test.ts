import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCharacter, runs } from "../../../../../scripts/property-runs.ts";
import { checkPolicy } from "./check.ts";

const head = "apiVersion: countersign/v1\nkind: Policy\nmetadata: {name: p}\n";
const check = (spec: string) => checkPolicy(`${head}spec:\n${spec}\n`);
const places = (text: string) =>
  checkPolicy(text).diagnostics.map(({ path, line, column, code }) => [path, line, column, code]);

/** Returns the text without `#`, and the position of `#`. */
function marked(text: string): { text: string; line: number; column: number } {
  const lines = text.slice(0, text.indexOf("#")).split("\n");
  return { text: text.replace("#", ""), line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}

describe("checking a policy", () => {
  test("a valid document has no diagnostics, in YAML, JSON and as an object", () => {
    const document = {
      apiVersion: "countersign/v1",
      kind: "Policy",
      metadata: { name: "p" },
      spec: { when: "params.a > 1", effect: "block" },
    };
    for (const form of [document, JSON.stringify(document), `${head}spec: {when: params.a > 1, effect: block}`]) {
      expect(checkPolicy(form)).toMatchObject({ document, diagnostics: [], warnings: [] });
    }
  });

  test.each([
    ["a plain scalar", "  when: params.a #&&& 1\n  effect: block"],
    ["a single-quoted scalar", "  when: 'action.verb == ''x'' #&&& true'\n  effect: block"],
    ["a double-quoted scalar", '  when: "action.verb == \\"x\\" #&&& true"\n  effect: block'],
    ["a literal block", "  when: |\n    params.a > 1 &&\n      params.b #&&& 1\n  effect: block"],
    ["a folded block", "  when: >-\n    params.a > 1 &&\n    params.b #&&& 1\n  effect: block"],
    ["a plain scalar over two lines", "  when: params.a > 1 &&\n    params.b #&&& 1\n  effect: block"],
    ["a flow map", "  {when: params.a #&&& 1, effect: block}"],
    ["a variable", "  variables: [{name: v, expr: params.a #&&& 1}]\n  when: vars.v\n  effect: block"],
    ["a message", "  when: 'true'\n  message: 'the {{params.a}} and {{ params.b #&&& 1 }}'\n  effect: block"],
  ])("an error in an expression is placed in the document: %s", (_, spec) => {
    const { text, line, column } = marked(`${head}spec:\n${spec}\n`);
    const [first] = checkPolicy(text).diagnostics;
    // The lexer reads `&&` before it meets the third `&`.
    expect([first?.code, first?.line]).toEqual(["syntax", line]);
    expect(Math.abs((first?.column ?? 0) - column)).toBeLessThanOrEqual(2);
  });

  test.each([
    "!params.flag",
    "'pii' in data_classes",
    "[1, 2].exists(x, x == params.a)",
    "params.a == {'b': 1}",
    "`a`",
  ])("an expression that YAML misreads is refused with help: %s", (when) => {
    const [first, second] = check(`  when: ${when}\n  effect: block`).diagnostics;
    expect([first?.line, second]).toEqual([5, undefined]);
    expect(first?.help).toContain("in single quotes, or on its own line below |-.");
    if (when !== "`a`") expect(check(`  when: |-\n    ${when}\n  effect: block`).diagnostics).toEqual([]);
  });

  test("the place of an expression is exact for any white space", () => {
    const gap = fc.constantFrom(" ", "  ", "\n      ");
    fc.assert(
      fc.property(fc.array(gap, { minLength: 3, maxLength: 3 }), fc.constantFrom("", '"', "'"), ([a, b, c], quote) => {
        const { text, line, column } = marked(
          `${head}spec:\n  when: ${quote}params.a${a}>${b}1 &&${c}#wrong_name${quote}\n  effect: block\n`,
        );
        expect(places(text)).toEqual([["/spec/when", line, column, "undeclared_name"]]);
      }),
    );
  });

  test("all problems are reported at once, in document order", () => {
    const found = check("  when: parms.a > 1\n  require: fact.x\n  risk: {add: \"'a'\"}\n  effect: block");
    expect(found.diagnostics.map(({ path }) => path)).toEqual(["/spec/when", "/spec/require", "/spec/risk/add"]);
    expect(found.document).toBeNull();
    expect(found.diagnostics[0]?.help).toMatch(/params/);
  });

  test.each([
    ["{effect: block}", "/spec", "required", /when/],
    ["{when: 'true'}", "/spec", "required", /effect/],
    ["{when: 'true', effect: bloc}", "/spec/effect", "not_allowed", /Did you mean block/],
    ["{when: 'true', effect: block, overide: never}", "/spec/overide", "unknown_field", /Did you mean override/],
    ["{when: 5, effect: block}", "/spec/when", "wrong_type", /CEL condition/],
    ["{when: 'true', effect: block, risk: {add: 1.5}}", "/spec/risk/add", "out_of_range", /0 to 1/],
    ["{when: 'true', effect: block, risk: {}}", "/spec/risk", "required", /add/],
    ["{when: 'true', effect: none}", "/spec/effect", "required", /risk/],
    ["{when: 'true', effect: approve_modified}", "/spec/effect", "required", /modify/],
    ["{when: 'true', effect: block, modify: [{op: remove, path: /a}]}", "/spec/modify", "not_allowed", /modify_when/],
    ["{when: 'true', effect: block, modify_when: 'true'}", "/spec/modify_when", "required", /modify/],
    ["{when: 'true', effect: approve_modified, modify: [{op: set, path: /a}]}", "/spec/modify/0", "required", /value/],
    [
      "{when: 'true', effect: approve_modified, modify: [{op: remove, path: /a, value: '1'}]}",
      "/spec/modify/0/value",
      "not_allowed",
      /Leave/,
    ],
    [
      "{when: 'true', effect: approve_modified, modify: [{op: remove, path: a}]}",
      "/spec/modify/0/path",
      "bad_format",
      /JSON Pointer/,
    ],
    [
      "{when: 'true', effect: approve_modified, modify: [{op: remove, path: /__proto__/a}]}",
      "/spec/modify/0/path",
      "not_allowed",
      /another/,
    ],
    [
      "{when: 'true', effect: block, facts_max_age: {organisational: 4h}}",
      "/spec/facts_max_age/organisational",
      "bad_format",
      /category/,
    ],
    [
      "{when: 'true', effect: block, facts_max_age: {security: 4 h}}",
      "/spec/facts_max_age/security",
      "bad_format",
      /duration/,
    ],
    [
      "{when: 'true', effect: block, facts_max_age: {security: 0s}}",
      "/spec/facts_max_age/security",
      "bad_format",
      /7d/,
    ],
    [
      "{when: 'true', effect: block, escalation: {reviewers: [everyone]}}",
      "/spec/escalation/reviewers/0",
      "bad_format",
      /./,
    ],
    ["{when: 'true', effect: block, escalation: {quorum: 0}}", "/spec/escalation/quorum", "out_of_range", /people/],
    ["{when: 'true', effect: block, suppresses: [p]}", "/spec/suppresses", "not_allowed", /own name/],
    ["{when: 'true', effect: block, match: {actions: [Payment.*]}}", "/spec/match/actions/0", "not_allowed", /payment/],
    ["{when: 'true', effect: block, match: {actions: ['pay*ment']}}", "/spec/match/actions/0", "bad_format", /./],
    [
      "{when: 'true', effect: block, match: {actions: ['payment:transfer']}}",
      "/spec/match/actions/0",
      "not_allowed",
      /parted/,
    ],
    [
      "{when: 'true', effect: block, match: {actions: ['payment..*']}}",
      "/spec/match/actions/0",
      "not_allowed",
      /parted/,
    ],
    [
      "{when: 'true', effect: block, match: {exclude: {actions: ['send email']}}}",
      "/spec/match/exclude/actions/0",
      "not_allowed",
      /parted/,
    ],
    ["{when: 'true', effect: block, message: 'a {{b'}", "/spec/message", "syntax", /between/],
    [
      "{when: 'true', effect: block, variables: [{name: v, expr: '1'}, {name: v, expr: '2'}]}",
      "/spec/variables/1/name",
      "not_allowed",
      /Rename/,
    ],
    [
      "{when: vars.lmit > 1.0, effect: block, variables: [{name: limit, expr: '1'}]}",
      "/spec/when",
      "undeclared_field",
      /limit/,
    ],
    [
      "{when: 'vars.b', effect: block, variables: [{name: a, expr: vars.b}, {name: b, expr: 'true'}]}",
      "/spec/variables/0/expr",
      "undeclared_field",
      /./,
    ],
    ["{when: params.a + 1, effect: block}", "/spec/when", null, /./],
    ["{when: action.verb, effect: block}", "/spec/when", "wrong_result", /compare/],
    [
      "{when: 'true', effect: approve_modified, modify: [{op: cap, path: /a, value: action.verb}]}",
      "/spec/modify/0/value",
      "wrong_result",
      /double/,
    ],
    ["{when: 'now - timestamp(params.at) > duration(\"7d\")', effect: block}", "/spec/when", "literal", /168h/],
    ["{when: 'now > timestamp(\"2026-01-01\")', effect: block}", "/spec/when", "literal", /T00:00:00Z/],
    ["{when: 'now.getHours(\"Europe/Berlinn\") < 8', effect: block}", "/spec/when", "literal", /Berlin/],
    ["{when: params.a < -1e309, effect: block}", "/spec/when", "literal", /1\.8e308/],
    ["{when: params.a > 1.7976931348623157e308, effect: block}", "/spec/when", null, /./],
    [
      "{when: 'true', effect: none, risk: {add: 0.1}, message: 'since {{now - duration(\"1d\")}}'}",
      "/spec/message",
      "literal",
      /168h/,
    ],
    [
      '{when: \'now.getHours("America/New_York") < 8 && now > timestamp("2026-01-01T00:00:00Z") - duration("1h30m")\', effect: approve_modified, modify: [{op: floor, path: /a, value: \'5\'}]}',
      "/spec/when",
      null,
      /./,
    ],
    ["{when: 'action.verb.matches(\"(\")', effect: block}", "/spec/when", "pattern", /./],
    [`{when: 'action.verb.matches("${"(a?){1000}".repeat(300)}")', effect: block}`, "/spec/when", "pattern", /RE2/],
  ])("%s is refused at %s", (spec, path, code, help) => {
    const found = checkPolicy(`${head}spec: ${spec}\n`).diagnostics;
    const at = found.find((one) => one.path === path);
    if (code === null) return expect(found).toEqual([]);
    expect(found, JSON.stringify(found)).toContainEqual(expect.objectContaining({ path, code }));
    expect(at?.help ?? at?.message).toMatch(help);
    expect(at?.line).toBe(4);
  });

  test.each([
    ["{}", "/tests/0/intent", "required"],
    ["{agent: {id: a}, action: {verb: v, type: 5}}", "/tests/0/intent/action/type", "wrong_type"],
    ["{agent: {id: a}, action: {verb: v, target: x}}", "/tests/0/intent/action/target", "wrong_type"],
    ["{agent: [], action: {verb: v}}", "/tests/0/intent/agent", "wrong_type"],
    ["{agent: {id: a}, action: {verb: v}, payload: 5}", "/tests/0/intent/payload", "wrong_type"],
    ["{agent: {id: a}, action: {verb: v}, payload: {content: []}}", "/tests/0/intent/payload/content", "wrong_type"],
    ["{agent: {id: a}, action: {verb: v}, data_classes: {a: 1}}", "/tests/0/intent/data_classes", "wrong_type"],
    ["{agent: {id: a}, action: {verb: v}, data_classes: [1]}", "/tests/0/intent/data_classes/0", "wrong_type"],
    ["{agent: {id: a}, acton: {verb: v}}", "/tests/0/intent/acton", "unknown_field"],
    [
      "{agent: {id: a}, action: {verb: v}, payload: {contents: {}}}",
      "/tests/0/intent/payload/contents",
      "unknown_field",
    ],
    ["{agent: {id: ''}, action: {verb: v}}", "/tests/0/intent/agent/id", "too_short"],
    ["{agent: {id: a}, action: {verb: v, type: a b}}", "/tests/0/intent/action/type", "bad_format"],
    [
      "{agent: {id: a}, action: {verb: v, target: {sensitivity: publik}}}",
      "/tests/0/intent/action/target/sensitivity",
      "not_allowed",
    ],
    [
      "{agent: {id: a}, action: {verb: v}, estimated_impact: {financial_exposure_usd: -1}}",
      "/tests/0/intent/estimated_impact/financial_exposure_usd",
      "out_of_range",
    ],
    ["{agent: {id: a}, action: {verb: v}, estimated_impact: []}", "/tests/0/intent/estimated_impact", "wrong_type"],
  ])("a case whose intent is %s is refused before it is run", (intent, path, code) => {
    const spec = "spec: {when: 'true', effect: block}";
    const { document, diagnostics } = checkPolicy(
      `${head}${spec}\ntests: [{name: t, intent: ${intent}, expect: {}}]\n`,
    );
    expect(document).toBeNull();
    expect(diagnostics).toContainEqual(expect.objectContaining({ path, code }));
  });

  test.each([
    ["", "", "wrong_type"],
    ["[]", "", "wrong_type"],
    ["a: b: c", "", "syntax"],
    ["a: 1\na: 2", "/a", "syntax"],
    ["a: &x 1\nb: *x", "/a", "syntax"],
    ["a: !!binary aGk=", "/a", "syntax"],
    ["a: .inf", "/a", "syntax"],
    ["__proto__: {polluted: true}", "", "syntax"],
    ["a: 1\n---\nb: 2", "", "syntax"],
    [`a: ${"[".repeat(60)}${"]".repeat(60)}`, null, "syntax"],
    ["[".repeat(50_000), "", "syntax"],
    [`{"a": "${"x".repeat(70_000)}"}`, "", "too_long"],
    ['{"a": "\\ud800"}', "/a", "syntax"],
    ['{"a": "\\u0000"}', "/a", "syntax"],
  ])("hostile or broken text %# is refused with a place, never thrown", (text, path, code) => {
    const [first] = checkPolicy(text).diagnostics;
    expect(first).toMatchObject({ code, ...(path === null ? {} : { path }) });
    expect(first?.help).toBeTruthy();
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  test.each([
    ["x", 2_048],
    ["é", 1_024],
    ["😀", 512],
  ])("a message of %s takes 2 KiB in UTF-8: %d of them", (char, most) => {
    const checked = (count: number) =>
      checkPolicy(`${head}spec: {when: 'true', effect: block, message: ${char.repeat(count)}}\n`);
    expect(checked(most).diagnostics).toEqual([]);
    const { document, diagnostics } = checked(most + 1);
    expect(document).toBeNull();
    expect(diagnostics).toMatchObject([{ path: "/spec/message", code: "too_long" }]);
  });

  test("any text gives diagnostics or a document, and never throws", () => {
    const word = fc.constantFrom(
      "spec",
      ":",
      " ",
      "\n",
      "  ",
      "- ",
      "{",
      "}",
      "[",
      "]",
      "'",
      '"',
      "|",
      ">",
      "&a",
      "*a",
      "!!str",
      "#",
      "when",
      "?",
      ",",
      "kind: Policy\n",
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: anyCharacter, maxLength: 200 }),
          fc.array(word, { maxLength: 40 }).map((words) => words.join("")),
        ),
        (text) => {
          const { document, diagnostics } = checkPolicy(text);
          expect(document === null).toBe(diagnostics.length > 0);
        },
      ),
      { numRuns: runs(1_000) },
    );
  });

  test("every diagnostic of a broken document has a place and a help line", () => {
    const right = `${head}spec:\n  match:\n    actions:\n      - payment.transfer\n  variables:\n    - {name: v, expr: params.a}\n  when: |-\n    vars.v > 1 &&\n    action.verb == "x"\n  effect: block\n  message: "is {{vars.v}}"\ntests:\n  - {name: t, intent: {agent: {id: a}, action: {verb: v}}, expect: {verdict: approve}}\n`;
    expect(checkPolicy(right).diagnostics).toEqual([]);
    const junk = fc.constantFrom(
      "\t",
      "  ",
      "'",
      '"',
      "{",
      "}",
      "[",
      "]",
      ":",
      "- ",
      "#",
      "|",
      "&a ",
      "? ",
      "%",
      "\n",
      "\r\n",
      "---\n",
    );
    const place = fc.nat(right.length);
    const change = fc.oneof(
      fc.record({ at: place, put: junk, drop: fc.constant(0) }),
      fc.record({ at: place, put: fc.constant(""), drop: fc.integer({ min: 1, max: 12 }) }),
    );
    let broken = 0;
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        const text = changes.reduce((all, { at, put, drop }) => all.slice(0, at) + put + all.slice(at + drop), right);
        const lines = text.split("\n");
        for (const { line, column, help } of checkPolicy(text).diagnostics) {
          broken += 1;
          expect(column, `${line}:${column} of ${JSON.stringify(text)}`).toBeLessThanOrEqual(
            (lines[(line ?? 0) - 1]?.length ?? -1) + 1,
          );
          expect(help).toMatch(/\w/);
        }
      }),
      { numRuns: runs(1_000) },
    );
    expect(broken).toBeGreaterThan(runs(500));
  });

  test("wrong tests beside a policy are refused", () => {
    const found = check(
      "  when: 'true'\n  effect: block\ntests:\n- {name: a, now: yesterday-at-noonish-or-so, intent: {}, facts: {weather: {}}, expect: {}}",
    );
    expect(found.diagnostics.map(({ path }) => path)).toEqual([
      "/tests/0/now",
      "/tests/0/intent",
      "/tests/0/intent",
      "/tests/0/facts/weather",
    ]);
  });

  test("an own fact with a name close to a listed one gives a warning", () => {
    const warnings = (when: string) =>
      checkPolicy(`${head}spec: {when: '${when}', effect: block, on_unknown: skip}`).warnings;
    expect(warnings("facts.security.prompt_injection_detcted == true")).toMatchObject([
      {
        path: "/spec/when",
        line: 4,
        code: "undeclared_field",
        help: expect.stringContaining("prompt_injection_detected"),
      },
    ]);
    expect(warnings("facts.security.prompt_injection_detected == true && facts.security.our_own > 1.0")).toEqual([]);
  });

  test("times must be in order", () => {
    const text = `${head.replace("{name: p}", "{name: p, effective_from: 2026-02-01T00:00:00Z, effective_until: 2026-01-01T00:00:00Z}")}spec: {when: 'true', effect: block}`;
    expect(places(text)).toEqual([["/metadata/effective_until", 3, expect.any(Number), "out_of_range"]]);
  });
});
