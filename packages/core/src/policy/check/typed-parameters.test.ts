import { expect, test } from "vitest";
import { finish } from "../expressions.ts";
import { checkPolicy } from "./check.ts";
import { typedParameterSteps } from "./typed-parameters.ts";

const tools = [
  { verb: "send_money", type: "payment.transfer", parameters: { amount: "number", urgent: "boolean" } as const },
  { verb: "note", type: "record.update", parameters: { amount: "string" } as const },
  { verb: "untyped", type: "payment.transfer" },
];

const warned = (spec: object) => {
  const { document, located } = checkPolicy({
    apiVersion: "countersign/v1",
    kind: "Policy",
    metadata: { name: "p" },
    spec: { match: { actions: ["payment.*"] }, effect: "block", ...spec },
  });
  if (document === null) throw new Error("not a policy");
  return finish(typedParameterSteps(document, located, tools)).map(({ path, message }) => `${path}: ${message}`);
};

test.each(["params.amount == '5'", "'5' != params['amount']", "params.amount in [1, '5']", "params.amount == true"])(
  "%s is warned of",
  (when) => {
    expect(warned({ when })).toEqual([
      '/spec/when: The tool "send_money" gives amount the type number, so this comparison is unknown for it.',
    ]);
  },
);

test("a variable that only renames a parameter counts as that parameter", () => {
  const variables = [
    { name: "given", expr: "params.amount" },
    { name: "again", expr: "vars.given" },
    { name: "twice", expr: "params.amount * 2.0" },
  ];
  expect(warned({ when: "vars.again in ['5'] || 5 in [vars.given] || vars.twice == 5", variables })).toEqual([
    '/spec/when: The tool "send_money" gives amount the type number, so this comparison is unknown for it.',
  ]);
});

test("variables and values of changes are checked", () => {
  const variables = [{ name: "urgent", expr: "intent.payload.content.urgent == 'yes'" }];
  expect(warned({ when: "vars.urgent", variables })).toEqual([
    expect.stringMatching(/^\/spec\/variables\/0\/expr: .*boolean/),
  ]);
});

test.each([
  { when: "params.amount == 5 || params.amount == -5.5 || params.amount == null || params.urgent != false" },
  { when: "params.other == '5' || facts.security.amount == '5'" },
  { when: "params.amount == '5'", match: { verbs: ["note"] } },
  { when: "params.amount == '5'", match: { actions: ["payment.*"], exclude: { verbs: ["send_*"] } } },
])("%j gives no warning", (spec) => {
  expect(warned(spec)).toEqual([]);
});
