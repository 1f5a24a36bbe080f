import { expect, test } from "vitest";
import { checkPolicy } from "./check.ts";

const head = "apiVersion: countersign/v1\nkind: Policy\nmetadata: {name: p}\n";
const check = (when: string) =>
  checkPolicy(`${head}spec:\n  when: >-\n    ${when}\n  effect: block\n  on_unknown: skip`);

test.each([
  ["params.account == 1234567890123456789012.0", "1234567890123456789012.0"],
  ["params.amount > 4503599627370497.75 || true", "4503599627370497.75"],
  ["params.account in [1, 9007199254740993]", "9007199254740993"],
  ["params.account == -9007199254740993", "-9007199254740993"],
  ["params.account == 0x20000000000001", "0x20000000000001"],
  ["params.amount < - 0.10000000000000000555", "- 0.10000000000000000555"],
])("a number that a double cannot hold gives a warning: %s", (when, number) => {
  const { document, warnings } = check(when);
  expect(document).not.toBeNull();
  const place = { path: "/spec/when", line: 6, column: 5 + when.indexOf(number), code: "literal" };
  expect(warnings.filter(({ code }) => code === "literal")).toMatchObject([place]);
});

test("exact numbers and texts give no warning", () => {
  const when =
    "params.a in [0, -1, 0xff, 9007199254740992, 1234567890123456800] || params.b in [.5, -0.10, 1e21, 2.50e-3, 5e-324] " +
    '|| params.c == "9007199254740993"';
  expect(check(when)).toMatchObject({ diagnostics: [], warnings: [] });
});
