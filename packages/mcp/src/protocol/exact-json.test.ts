import fc from "fast-check";
import { expect, test } from "vitest";
import { elementsIn, readExactly } from "./exact-json.ts";

test("finds a number that a double would round, at its place, but not a text like it", () => {
  const places = (text: string) => {
    const { value, inexactIn } = readExactly(text);
    return inexactIn(value);
  };
  expect(places('{"a":["9007199254740993",1.0,1e21,{"~/":4503599627370497.75}]}')).toBe("/a/3/~0~1");
  expect(places("9007199254740993.0")).toBe("");
  expect(places("[1e400]")).toBe("/0");
  expect(places('{"9007199254740993":"\\"9007199254740993","b":[-0,100.10,1.5e300,9007199254740992]}')).toBeNull();
});

test("writes each number with its original digits, and all else unchanged", () => {
  const number = fc.constantFrom("1", "-0", "1.0", "1e3", "-12.50E+2", "9007199254740993", "0.1234567890123456789012");
  const text = fc.string({ unit: fc.constantFrom('"', "\\", "1", "7.0", "-", "é", "\n", "[", "9007199254740993") });
  const element = fc.oneof(
    number,
    text.map((each) => JSON.stringify(each)),
    fc.tuple(text, number).map(([name, value]) => `{${JSON.stringify(name)}:[${value}]}`),
  );
  fc.assert(
    fc.property(fc.array(element, { minLength: 1 }), (elements) => {
      const { value, write } = readExactly(`[${elements}]`);
      expect(write(value)).toBe(`[${elements}]`);
      expect(elementsIn(` [${elements}] `)).toEqual(elements);
    }),
  );
});
