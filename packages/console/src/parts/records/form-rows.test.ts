import { expect, test } from "vitest";
import { formRows } from "./form-rows.ts";

const told = (value: unknown) =>
  formRows(value).map(({ depth, label, name, text }) => `${"  ".repeat(depth)}${label ?? `‹${name}›`}: ${text}`);

test("a document is shown with words for its names, in its order", () => {
  const document = {
    amount_usd: 1234.5,
    orderId: "A-7",
    express: false,
    lines: [{ sku: "x" }, {}],
    memo: "",
    more: null,
  };
  expect(told(document)).toEqual([
    "Amount, USD: $1,234.50",
    "Order id: A-7",
    "Express: no",
    "Lines: 2 entries",
    "  1: ",
    "    Sku: x",
    "  2: no members",
    "Memo: an empty text",
    "More: no value",
  ]);
});

test("a document cannot imitate another one: names and texts that could be mistaken are shown as they are", () => {
  const document = {
    amount_usd: 1,
    AMOUNT_USD: "1",
    "amount usd": 2,
    "pay\u200bee": "yes",
    flag: "No ",
    of: ["$5", "5 apples"],
  };
  expect(told(document)).toEqual([
    "‹amount_usd›: $1.00",
    '‹AMOUNT_USD›: "1"',
    "‹amount usd›: 2",
    '‹pay\u200bee›: "yes"',
    'Flag: "No "',
    "Of: 2 entries",
    '  1: "$5"',
    "  2: 5 apples",
  ]);
});

test.each([
  [{ fee_usd: 0.005 }, "Fee, USD: $0.005"],
  [{ rows: 1e21 }, "Rows: 1e+21"],
  ["plain", "Value: plain"],
  [[], ""],
])("%j is shown as %j", (value, line) => {
  expect(told(value).join("\n")).toBe(line);
});

test("the path of each value is its JSON Pointer", () => {
  expect(formRows({ "a/b": [{ "~": 1 }] }).map(({ path }) => path)).toEqual(["/a~1b", "/a~1b/0", "/a~1b/0/~0"]);
});
