import { type FactCategory, factCategories } from "@countersign/contract";
import { expect, test } from "vitest";
import { checkPolicy } from "./check.ts";

const head = "apiVersion: countersign/v1\nkind: Policy\nmetadata: {name: p}\n";
const check = (when: string) =>
  checkPolicy(`${head}spec:\n  when: >-\n    ${when}\n  effect: block\n  on_unknown: skip`);

test.each([
  ['action.type == "Payment.Transfer"', "No action.type is", 'It is compared in lower case: write "payment.transfer".'],
  ['action["type"] in ["data.export", "Data.Delete"]', "No action.type is", 'write "data.delete".'],
  ['action.type.startsWith("Payment.")', "No action.type is", 'write "payment.".'],
  ['"PHI" in data_classes', "No data class is", 'It is compared in lower case: write "phi".'],
  ['data_classes.exists(c, c == "phi" || c == "PII")', "No data class is", 'write "pii".'],
  ['data_classes.all(index, c, c != "PII")', "No data class is", 'write "pii".'],
  ['cel.bind(type, action.type, type.endsWith("Export"))', "No action.type is", 'write "export".'],
  ['target.sensitivity == "Restricted"', "No target.sensitivity is", 'Write "restricted".'],
  ['"secret" == action.target.sensitivity', "", "It is public, internal, confidential or restricted."],
  ['intent.action.target.sensitivity in ["confidental"]', "", "Did you mean confidential?"],
  ['mode != "production"', "No mode is", "It is live, shadow or test."],
  ['facts.environmental.recipient_state == "ca"', "No facts.environmental.recipient_state is", 'Write "CA".'],
  ['facts.regulatory.recipient_state == "California"', "", "It is the two letters of a state, such as CA."],
])("a text that no action can equal gives a warning: %s", (when, message, help) => {
  const { document, warnings } = check(when);
  expect(document).not.toBeNull();
  expect(warnings).toMatchObject([{ path: "/spec/when", line: 6, code: "not_allowed" }]);
  expect(warnings[0]?.message).toContain(message);
  expect(warnings[0]?.help).toContain(help);
});

test.each([
  ['action.type == "payments.transfer"', "payment.transfer"],
  ['action.type in ["data.read", "data-export"]', "data.export"],
  ['"special-category" in data_classes', "special_category"],
  ['data_classes.exists(c, c == "phi" || c == "childs")', "child"],
])("a misspelled known word gives a warning: %s", (when, meant) => {
  const { document, warnings } = check(when);
  expect(document).not.toBeNull();
  expect(warnings).toMatchObject([
    { path: "/spec/when", line: 6, help: expect.stringContaining(`Did you mean ${meant}?`) },
  ]);
});

test("a misspelled action type in match gives a warning, and the policy's own type does not", () => {
  const { document, warnings } = checkPolicy(
    `${head}spec:
  match:
    actions: [payments.transfer, payment.*, shipping.book]
    exclude: {actions: [system.deploys]}
  when: "true"
  effect: block`,
  );
  expect(document).not.toBeNull();
  expect(warnings).toMatchObject([
    { path: "/spec/match/actions/0", line: 6, column: 15, help: expect.stringContaining("payment.transfer?") },
    { path: "/spec/match/exclude/actions/0", line: 7, help: expect.stringContaining("system.deploy?") },
  ]);
});

test("each text has one warning at its place, in order", () => {
  const when = 'target.sensitivity in ["public", "top", "high"] || "PHI" in data_classes';
  const at = (text: string) => ({ line: 6, column: 5 + when.indexOf(text) });
  expect(check(when).warnings).toMatchObject([at('"top"'), at('"high"'), at('"PHI"')]);
});

test("exactly the possible values of enumerated facts give no warning", () => {
  const few = Object.values<FactCategory>(factCategories).flatMap(({ name, fields }) =>
    fields.flatMap((field) =>
      field.constraint?.kind === "one_of"
        ? [{ path: `facts.${name}.${field.name}`, texts: field.constraint.values }]
        : [],
    ),
  );
  expect(few.length).toBeGreaterThan(0);
  for (const { path, texts } of few)
    for (const text of texts) {
      expect(check(`${path} == "${text}"`)).toMatchObject({ diagnostics: [], warnings: [] });
      expect(check(`${path} == "${text}!"`).warnings).toMatchObject([{ code: "not_allowed" }]);
    }
});

test("possible texts give no warning", () => {
  for (const when of [
    'action.type == "payment.transfer" && action.type.contains("ment") && !("phi" in data_classes)',
    'intent.action.type == "Payment.Transfer" || "PHI" in intent.data_classes || action.verb == "Send"',
    'target.sensitivity.startsWith("re") || mode in ["live", "test"] || target.type == "Account"',
    'facts.environmental.recipient_state in ["CA", "DC"] || facts.regulatory.jurisdiction == "eu"',
    'params.list.exists(data_classes, "PHI" in data_classes) && params.modes.exists(mode, mode == "OFF")',
    'cel.bind(mode, params.x, mode == "OFF") || params.?mode.optMap(mode, mode == "OFF").orValue(false)',
    'action.type.upperAscii() == "PAYMENT" || params.mode == "OFF" || mode == params.mode',
  ])
    expect(check(when)).toMatchObject({ diagnostics: [], warnings: [] });
});
