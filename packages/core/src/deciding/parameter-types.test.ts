import type { CatalogueEntry, ParameterType } from "@countersign/contract";
import { expect, test } from "vitest";
import { changedType } from "../reviews/edit-limits.ts";
import { decideCase, inputOf } from "../testing/deciding.ts";
import { isOfType } from "./parameter-types.ts";

const parameters: NonNullable<CatalogueEntry["parameters"]> = {
  amount: "number",
  urgent: "boolean",
  "cost-center": "string",
  items: "array",
};
const membrane = {
  action_catalogue: [{ verb: "Send_Money", type: "payment.transfer", data_classes: [], parameters }],
};
const unknownsOf = (when: string, content: Record<string, unknown>, more: object = membrane) =>
  decideCase([{ name: "rule", spec: { when, effect: "block", on_unknown: "escalate" } }], {
    intent: { content },
    membrane: more,
  }).content.reasons.flatMap(({ unknown_facts }) => unknown_facts);

test.each<[string, Record<string, unknown>, string]>([
  ["params.urgent == true", { urgent: "true" }, "params.urgent"],
  ["params.urgent != true", { urgent: 1 }, "params.urgent"],
  ["params.amount == '5'", { amount: 5 }, "params.amount"],
  ["params.amount in ['5']", { amount: 5 }, "params.amount"],
  ["params['cost-center'] == 7", { "cost-center": "7" }, 'params["cost-center"]'],
  ["params['cost-center'] == 'a'", { "cost-center": 7 }, 'params["cost-center"]'],
  ["intent.payload.content.urgent == true", { urgent: "true" }, "params.urgent"],
  ["intent.payload.content.amount == '5'", { amount: 5 }, "intent.payload.content.amount"],
  ["params.`cost-center` == 7", { "cost-center": "7" }, "params.cost-center"],
  ["'5' in [params.amount]", { amount: 5 }, "params.amount"],
  ["params.?amount.orValue(0) == '5'", { amount: 5 }, "params.amount"],
  ["(has(params.amount) ? params.amount : 0) == '5'", { amount: 5 }, "params.amount"],
  ["size(params.items) > 3", { items: "a, b, c, d" }, "params.items"],
])("%s is unknown for %j", (when, content, path) => {
  expect(unknownsOf(when, content)).toEqual([{ path, reason: "type" }]);
  expect(unknownsOf(when, content, { action_catalogue: [] })).not.toEqual([{ path, reason: "type" }]);
});

test.each<[string, Record<string, unknown>]>([
  ["params.amount == 6", { amount: 5 }],
  ["params.amount == null", { amount: 5 }],
  ["params.urgent == true", { urgent: false }],
  ["params.other == '5'", { other: 5 }],
])("%s is known for %j", (when, content) => {
  expect(unknownsOf(when, content)).toEqual([]);
});

test.each<[ParameterType, readonly unknown[], readonly unknown[]]>([
  ["string", ["", "5"], [5, true, [], {}]],
  ["number", [5, 5.5], ["5", true, [], {}]],
  ["integer", [5, 5e20], [5.5, "5", [5]]],
  ["boolean", [true, false], ["true", 0, 1]],
  ["array", [[], ["a"]], ["a", {}]],
  ["object", [{}], [[], "{}"]],
])("of type %s", (type, right, wrong) => {
  for (const value of [...right, null]) expect(isOfType(value, type)).toBe(true);
  for (const value of wrong) expect(isOfType(value, type)).toBe(false);
});

test("a reviewer may change a value to the recorded type only", () => {
  const change = (after: unknown) => changedType(inputOf([], { membrane }), [{ amount: "5" }], { amount: after });
  expect(change(5)).toBeNull();
  expect(change([5])).toEqual({ path: "/amount", type: "list" });
  expect(changedType(inputOf([], { membrane }), [{ urgent: true }], { urgent: "yes" })).toMatchObject({ type: "text" });
  const odd = {
    action_catalogue: [{ ...membrane.action_catalogue[0], parameters: { "x/y": "number" } }],
  } as typeof membrane;
  expect(changedType(inputOf([], { membrane: odd }), [{ "x/y": "5" }], { "x/y": 5 })).toBeNull();
  expect(changedType(inputOf([], { membrane: odd }), [{ x: { y: "5" } }], { x: { y: 5 } })).not.toBeNull();
});
