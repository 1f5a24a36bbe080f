import { describe, expect, test } from "vitest";
import { whatDiffers } from "./what-differs.ts";

describe("what several differ in", () => {
  const apart = (...contents: readonly unknown[]) => [
    ...whatDiffers(new Map(contents.map((content, at) => [String(at), content]))).values(),
  ];
  const texts = (...contents: readonly unknown[]) =>
    apart(...contents).map(({ places }) => places.map(({ path, text }) => `${path} ${text}`));

  test("is empty for equal actions, whatever the order of keys", () => {
    expect(texts({ a: [1, { b: 2 }], c: {} }, { c: {}, a: [1, { b: 2 }] })).toEqual([[], []]);
  });

  test("is a list where another has an object with numeric names, or a single value", () => {
    expect(texts({ to: ["eve"] }, { to: { 0: "eve" } })).toEqual([["/to [ … ]"], ["/to { … }"]]);
    expect(texts({ to: ["eve"] }, { to: "eve" })).toEqual([
      ["/to [ … ]", '/to/0 "eve"'],
      ['/to "eve"', "/to/0 null"],
    ]);
    expect(texts({ a: 1, to: ["eve"] }, { a: 1 })).toEqual([['/to/0 "eve"'], ["/to/0 null"]]);
  });

  test("is a value under a name that objects inherit", () => {
    const named = (value: number) => JSON.parse(`{"__proto__":${value},"constructor":1}`);
    expect(texts(named(1), named(2))).toEqual([["/__proto__ 1"], ["/__proto__ 2"]]);
  });

  test("begins with an action's own values, and names few of thousands of other places", () => {
    const contents = Array.from({ length: 100 }, (_, n) =>
      Object.fromEntries(Array.from({ length: 100 }, (_each, at) => [`n${n}_${at}`, at])),
    );
    for (const [n, { places, elsewhere }] of apart(...contents).entries()) {
      expect(places.slice(0, 100).map(({ path }) => path)).toEqual(
        Object.keys(contents[n] ?? {}).map((key) => `/${key}`),
      );
      expect(places.slice(100).every(({ text }) => text === null)).toBe(true);
      expect(places.length + elsewhere).toBe(10_000);
      expect(places.length).toBe(200);
    }
  });
});
