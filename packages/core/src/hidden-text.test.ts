import { expect, test } from "vitest";
import { hiddenTexts, withoutTexts } from "./hidden-text.ts";

test("what policies hide stands nowhere in a text, and what is still shown stays", () => {
  const content = { ssn: "123-45-6789", account: 99887766, note: "pay rent", list: ["abcd", "shown twice"], pin: "12" };
  const shown = { ssn: "[redacted]", note: "pay rent", list: ["shown twice"] };
  const hidden = hiddenTexts(content, shown);
  expect(hidden).toEqual(["123-45-6789", "99887766", "abcd"]);
  expect(
    withoutTexts({ summary: "pay rent for 123-45-6789, 99887766 (12)", target: [99887766, 12, null] }, hidden),
  ).toEqual({
    summary: "pay rent for [redacted], [redacted] (12)",
    target: ["[redacted]", 12, null],
  });
  expect(hiddenTexts(content, content)).toEqual([]);
});

test("of two hidden texts the longer one goes first", () => {
  const hidden = hiddenTexts({ a: "12345", b: "123456" }, {});
  expect(withoutTexts("123456 12345", hidden)).toBe("[redacted] [redacted]");
});
