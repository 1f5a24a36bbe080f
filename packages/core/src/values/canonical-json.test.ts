import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson, eventJson } from "./canonical-json.ts";

/** RFC 8785, appendix B: IEEE 754 bits and text. */
const numberVectors: readonly (readonly [bits: string, text: string])[] = [
  ["0000000000000000", "0"],
  ["8000000000000000", "0"],
  ["0000000000000001", "5e-324"],
  ["8000000000000001", "-5e-324"],
  ["7fefffffffffffff", "1.7976931348623157e+308"],
  ["ffefffffffffffff", "-1.7976931348623157e+308"],
  ["4340000000000000", "9007199254740992"],
  ["c340000000000000", "-9007199254740992"],
  ["4430000000000000", "295147905179352830000"],
  ["44b52d02c7e14af5", "9.999999999999997e+22"],
  ["44b52d02c7e14af6", "1e+23"],
  ["44b52d02c7e14af7", "1.0000000000000001e+23"],
  ["444b1ae4d6e2ef4e", "999999999999999700000"],
  ["444b1ae4d6e2ef4f", "999999999999999900000"],
  ["444b1ae4d6e2ef50", "1e+21"],
  ["3eb0c6f7a0b5ed8c", "9.999999999999997e-7"],
  ["3eb0c6f7a0b5ed8d", "0.000001"],
  ["41b3de4355555553", "333333333.3333332"],
  ["41b3de4355555554", "333333333.33333325"],
  ["41b3de4355555555", "333333333.3333333"],
  ["41b3de4355555556", "333333333.3333334"],
  ["41b3de4355555557", "333333333.33333343"],
  ["becbf647612f3696", "-0.0000033333333333333333"],
  ["43143ff3c1cb0959", "1424953923781206.2"],
];

const jsonObject = fc.dictionary(fc.string({ unit: "grapheme" }), fc.jsonValue());

describe("canonicalJson", () => {
  test.each(numberVectors)("writes the IEEE 754 number %s as %s", (bits, text) => {
    expect(canonicalJson(Buffer.from(bits, "hex").readDoubleBE())).toBe(text);
  });

  test("returns the text of the sample in RFC 8785, sections 3.2.2 to 3.2.4", () => {
    const sample = JSON.parse(`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\"\\/",
      "literals": [null, true, false]
    }`);
    expect(canonicalJson(sample)).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
  });

  test("orders members by UTF-16 code unit, not by code point or as integers (RFC 8785, section 3.2.3)", () => {
    const names = ["\u20ac", "\r", "\ufb33", "1", "\ud83d\ude00", "\u0080", "\u00f6"];
    const value = Object.fromEntries(names.map((name, index) => [name, index]));
    const order = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\ud83d\ude00", "\ufb33"];
    expect(canonicalJson(value)).toBe(`{${order.map((n) => `${JSON.stringify(n)}:${names.indexOf(n)}`).join(",")}}`);
    expect(canonicalJson({ b: 1, 10: 2, 9: 3, a: 4 })).toBe('{"10":2,"9":3,"a":4,"b":1}');
  });

  test("keeps a member named __proto__", () => {
    expect(canonicalJson(JSON.parse('{"b":1,"__proto__":{"x":1}}'))).toBe('{"__proto__":{"x":1},"b":1}');
  });

  test("parses as the same JSON, for any order of members", () => {
    fc.assert(
      fc.property(jsonObject, (value) => {
        const reversed = Object.fromEntries(Object.entries(value).reverse());
        const canonical = canonicalJson(value);
        expect(canonicalJson(reversed)).toBe(canonical);
        expect(JSON.parse(canonical)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test.each([
    ["NaN", Number.NaN],
    ["Infinity", [Number.POSITIVE_INFINITY]],
    ["a lone high surrogate", { a: "x\ud800y" }],
    ["a lone low surrogate", "\udc00"],
    ["a lone surrogate in a name", { "\ud800": 1 }],
    ["undefined", { a: undefined }],
    ["a hole in a list", new Array(1)],
    ["a bigint", 1n],
    ["a function", () => 1],
    ["a Map", new Map()],
    ["a Date", { at: new Date(0) }],
  ])("refuses %s", (_name, value) => {
    expect(() => canonicalJson(value)).toThrow(TypeError);
  });
});

describe("eventJson", () => {
  test("is canonical JSON", () => {
    fc.assert(fc.property(jsonObject, (value) => void expect(eventJson(value)).toBe(canonicalJson(value))));
  });

  test("writes a lone surrogate as its escape, in names and texts, and is valid UTF-8", () => {
    const text = eventJson({ "b\udc00": ["x\ud83d", "\ud83d\ude00"], a: 1 });
    expect(text).toBe(String.raw`{"a":1,"b\udc00":["x\ud83d","😀"]}`);
    expect(Buffer.from(text, "utf8").toString("utf8")).toBe(text);
  });

  test.each([
    ["NaN", Number.NaN],
    ["undefined", { a: undefined }],
    ["a Date", { at: new Date(0) }],
  ])("refuses %s", (_name, value) => {
    expect(() => eventJson(value)).toThrow(TypeError);
  });
});
