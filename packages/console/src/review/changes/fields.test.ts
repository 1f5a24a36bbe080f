import { expect, test } from "vitest";
import { fieldsOf, withoutValue, withValue } from "./fields.ts";

const kinds = (content: Record<string, unknown>, schema = {}) =>
  Object.fromEntries(fieldsOf(content, content, schema).map(({ name, kind }) => [name, kind]));

test("a field has the kind of its value; texts with hidden characters, null, lists and objects are JSON", () => {
  const content = {
    a: "x",
    b: "x\ny",
    c: 1.5,
    d: true,
    e: null,
    f: [1],
    g: { h: 1 },
    i: "pay\u200bpal",
    j: "x".repeat(200),
  };
  expect(kinds(content)).toEqual({
    ...{ a: "text", b: "lines", c: "number", d: "boolean", e: "json", f: "json", g: "json", i: "json", j: "lines" },
  });
});

test("the tool's schema adds the parameters that the action leaves out, and says which numbers are whole", () => {
  const schema = { count: "integer", note: "string", urgent: "boolean", tags: "array" } as const;
  expect(fieldsOf({ count: 3 }, { count: 3 }, schema)).toEqual([
    { name: "count", kind: "integer", absent: false },
    { name: "note", kind: "text", absent: true },
    { name: "urgent", kind: "boolean", absent: true },
    { name: "tags", kind: "json", absent: true },
  ]);
  expect(kinds({ count: "three" }, schema)["count"]).toBe("text");
});

test("a parameter that the reviewer left out stays in the form, with its kind", () => {
  expect(fieldsOf({ a: 1, b: "x" }, { b: "x" })[0]).toEqual({ name: "a", kind: "number", absent: true });
});

test("a change keeps the order of the parameters, also under a name that objects inherit", () => {
  const document = JSON.parse('{"a": 1, "__proto__": 2, "b": 3}');
  expect(JSON.stringify(withValue(document, "__proto__", 5))).toBe('{"a":1,"__proto__":5,"b":3}');
  expect(JSON.stringify(withValue(document, "c", 4))).toBe('{"a":1,"__proto__":2,"b":3,"c":4}');
  expect(JSON.stringify(withoutValue(document, "__proto__"))).toBe('{"a":1,"b":3}');
});
