import { expect, test } from "vitest";
import { checkPolicy } from "./check.ts";

const head = "apiVersion: countersign/v1\nkind: Policy\nmetadata: {name: p}\n";

test.each([
  ['intent.acton.verb == "send"', "acton", "Did you mean action?"],
  ['intent.action.vreb == "send"', "vreb", "It has type, verb, target."],
  ['intent["agent"].framwork == "x"', "framwork", "Did you mean framework?"],
  ['intent.agent["nmae"] == "x"', '"nmae"', "It has id, framework, session_id, on_behalf_of, parent."],
  ["has(intent.payload.contents)", "contents", "Did you mean content?"],
  ["intent.estimated_impact.audience_sze > 5", "audience_sze", "Did you mean audience_size?"],
  ['action.target.identifer == "x"', "identifer", "Did you mean identifier?"],
])("a member that no intent can have gives a warning: %s", (when, name, help) => {
  const { document, warnings } = checkPolicy(
    `${head}spec:\n  when: >-\n    ${when}\n  effect: block\n  on_unknown: skip`,
  );
  expect(document).not.toBeNull();
  const place = { path: "/spec/when", line: 6, column: 5 + when.indexOf(name), code: "undeclared_field" };
  expect(warnings).toMatchObject([{ ...place, help }]);
});

test("members that an intent can have give no warning, including the caller's own", () => {
  const when = [
    'intent.agent.id == "a" && has(intent.action.target.sensitivity) && intent.payload.content.any.thing == 1',
    'intent.payload.summary == "s" && intent.data_classes.exists(intent, intent.x == 1)',
    "intent.estimated_impact.financial_exposure_usd > 5.0 && size(intent) > 1 && intent[params.name] == 1",
  ];
  for (const each of when)
    expect(checkPolicy(`${head}spec: {when: ${JSON.stringify(each)}, effect: block, on_unknown: skip}`)).toMatchObject({
      diagnostics: [],
      warnings: [],
    });
});
