import type { ApprovalChange } from "@countersign/contract";
import { expect, test } from "vitest";
import { fillIn } from "./fill-in.ts";

const content = { amount_usd: 740, to: { iban: "GB29", notes: ["a"] }, urgent: true, memo: null };
const change = (path: string, op: ApprovalChange["op"], value?: unknown): ApprovalChange => ({
  path,
  op,
  ...(value === undefined ? {} : { value }),
});

test.each<[string, ApprovalChange[], unknown]>([
  ["a bound", [change("params.amount_usd", "at_most", 500)], { ...content, amount_usd: 500 }],
  ["a least value", [change("params.amount_usd", "at_least", 800)], { ...content, amount_usd: 800 }],
  [
    "a bound beside a time",
    [change("params.amount_usd", "at_most", 500), change("now", "at_least", "2026-11-30T14:05:00Z")],
    { ...content, amount_usd: 500 },
  ],
  ["a value", [change("params.urgent", "equals", false)], { ...content, urgent: false }],
  ["null", [change("params.urgent", "equals", null)], { ...content, urgent: null }],
  ["what is left out", [change("params.urgent", "absent")], { amount_usd: 740, to: content.to, memo: null }],
  ["what is not there anyway", [change("params.none", "absent")], content],
  [
    "one within another",
    [change("params.to.iban", "equals", "DE02")],
    { ...content, to: { ...content.to, iban: "DE02" } },
  ],
  ["one in what is not there yet", [change("params.by.name", "equals", "Ann")], { ...content, by: { name: "Ann" } }],
  [
    "several",
    [
      change("params.amount_usd", "at_most", 1),
      change("params.to.iban", "absent"),
      change("params.to.bic", "equals", "X"),
    ],
    { ...content, amount_usd: 1, to: { notes: ["a"], bic: "X" } },
  ],
])("fills in %s", (_, changes, expected) => {
  const before = structuredClone(content);
  expect(fillIn(content, changes)).toEqual(expected);
  expect(content).toEqual(before);
});

test.each<[string, ApprovalChange[]]>([
  ["nothing", []],
  ["a time alone", [change("now", "at_least", "2026-11-30T14:05:00Z")]],
  ["a fact", [change("facts.security.side_effect", "equals", false)]],
  ["a fact beside a parameter", [change("params.amount_usd", "at_most", 1), change("facts.tax.id", "absent")]],
  ["a value that is an example only", [change("params.memo", "present", "text")]],
  ["a place in a list", [change("params.to.notes.first", "equals", 1)]],
  ["a place in a text", [change("params.to.iban.country", "equals", "GB")]],
  ["a place in null", [change("params.memo.text", "equals", "x")]],
])("offers nothing for %s", (_, changes) => {
  expect(fillIn(content, changes)).toBeNull();
});
