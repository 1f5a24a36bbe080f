import { expect, test } from "vitest";
import { readEdited } from "./edit-parameters.tsx";

test("reports a name that occurs twice in one object, in any spelling, because only the last would be sent", () => {
  const problem = (text: string) => {
    const edited = readEdited({ n: 1 }, text);
    return "problem" in edited ? edited.problem : null;
  };
  const twice = (name: string) => `${name} occurs twice in one object: remove one of them.`;
  expect(problem('{"n": 1, "n": 2}')).toBe(twice('"n"'));
  expect(problem('{"n" : 1, "a": [{"b": {"c": 1}, "\\u0062": 2}]}')).toBe(twice('"b"'));
  expect(problem('{"a\\"b\\\\": 1, "c": {"d": 1}, "a\\"b\\\\": 1}')).toBe(twice('"a\\"b\\\\"'));
});

test("does not report a name that occurs once in each of several objects, or in a text", () => {
  const text = '{"n": {"n": {"n": 1}}, "m": [{"n": 1}, {"n": "{\\"n\\": 1, \\"n\\": 2}"}], "o": "n", "p": ["n", "n"]}';
  const edited = readEdited({ n: 1 }, text);
  expect("document" in edited && edited.document).toEqual(JSON.parse(text));
});

test("reports parameters nested deeper than the service accepts, and ignores brackets in texts", () => {
  const nested = (levels: number) => `${'{"x":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`;
  const told = { problem: "At most 32 levels of nesting are allowed." };
  for (const levels of [33, 20_000]) expect(readEdited({}, nested(levels))).toEqual(told);
  for (const text of [nested(32), JSON.stringify({ x: "[{".repeat(100) })])
    expect(readEdited({}, text)).not.toEqual(told);
});
