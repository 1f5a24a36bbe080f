import { expect, test } from "vitest";
import { excerpt } from "./excerpt.ts";

test.each([
  ["a  ==\n\t1", 80, "a == 1"],
  ["abcd", 4, "abcd"],
  ["abcde", 4, "abc…"],
  ["ab😀cd", 4, "ab…"],
  ["ab😀cd", 5, "ab😀…"],
])("%j in %i units is %j", (source, units_max, expected) => {
  expect(excerpt(source, units_max)).toBe(expected);
});
