import { expect, it } from "vitest";
import { bodyText } from "./body-text.ts";

it("writes valid values as JSON.stringify does", () => {
  const body = {
    a: [1, -0.5, null, "é", true, 2 ** 53 - 1, 1e21, 1.5e300, -1.23456789012345e21],
    left_out: undefined,
    at: new Date(0),
    nested: { list: [[]] },
  };
  expect(bodyText(body)).toBe(JSON.stringify(body));
});

it.each([
  ...[2 ** 53, -(2 ** 53), 1.234567890123456e21, -1.2345678901234568e21],
  ...["12345678901234567891", "1234567890123456789012", "-123456789012345678901234567890"].map((text) =>
    JSON.parse(text),
  ),
])("refuses a possibly rounded number: %d", (account) => {
  const told = new TypeError(
    `nothing was sent: "account" is ${account}, a whole number whose last digits JavaScript may have lost. Send it as a text`,
  );
  expect(() => bodyText({ intent: { account } })).toThrow(told);
});

it.each([
  [{ intent: { amount_usd: Number.NaN } }, '"amount_usd" is NaN'],
  [{ list: [1, Number.POSITIVE_INFINITY] }, '"1" is Infinity'],
  [{ content: new Map([["a", 1]]) }, '"content" is a Map'],
  [{ content: new Set([1]) }, '"content" is a Set'],
  [{ run: () => 1 }, '"run" is a function'],
  [{ name: Symbol("x") }, '"name" is a symbol'],
  [{ id: 10n }, '"id" is a bigint'],
  [{ list: [undefined] }, '"0" is undefined'],
])("refuses a value that JSON would change: %o", (body, told) => {
  expect(() => bodyText(body)).toThrow(new TypeError(`nothing was sent: ${told}, which JSON cannot write`));
});
