import { expect, test } from "vitest";
import { applyPatch, nothing, pointerNames, valueAt } from "./json-patch.ts";

test.each([
  [{ a: 1 }, { op: "add", path: "/b", value: 2 }, { a: 1, b: 2 }],
  [{ a: [1, 3] }, { op: "add", path: "/a/1", value: 2 }, { a: [1, 2, 3] }],
  [{ a: [1] }, { op: "add", path: "/a/-", value: 2 }, { a: [1, 2] }],
  [{ a: [1, 2] }, { op: "remove", path: "/a/0" }, { a: [2] }],
  [{ a: { "b/c~": 1 } }, { op: "replace", path: "/a/b~1c~0", value: 2 }, { a: { "b/c~": 2 } }],
  [{ a: 1 }, { op: "remove", path: "/a" }, {}],
] as const)("%j with %j gives %j", (document, operation, expected) => {
  const before = JSON.stringify(document);
  expect(applyPatch<object>(document, [operation])).toEqual({ ok: true, document: expected });
  expect(JSON.stringify(document)).toBe(before);
});

test.each([
  [{ a: 1 }, { op: "remove", path: "/b" }],
  [{ a: 1 }, { op: "replace", path: "/toString", value: 1 }],
  [{ a: 1 }, { op: "add", path: "/b/c", value: 1 }],
  [{ a: [1] }, { op: "add", path: "/a/3", value: 1 }],
  [{ a: [1] }, { op: "replace", path: "/a/01", value: 1 }],
  [{ a: [1] }, { op: "remove", path: "/a/-" }],
  [{ a: 1 }, { op: "replace", path: "", value: 1 }],
  [{ a: 1 }, { op: "add", path: "a", value: 1 }],
  [{ a: 1 }, { op: "add", path: "/a~2b", value: 1 }],
  [{ a: 1 }, { op: "add", path: "/b~", value: 1 }],
  [{ a: {} }, { op: "add", path: "/a/__proto__", value: { evil: true } }],
] as const)("%j refuses %j", (document, operation) => {
  expect(applyPatch<object>(document, [operation])).toMatchObject({ ok: false, index: 0 });
});

test("a path that does not exist is reported with what to write instead, also the empty path", () => {
  const refusal = (path: string) => applyPatch({ a: 1 }, [{ op: "replace", path, value: 1 }]);
  expect(refusal("")).toMatchObject({ message: "the path must name a member of the content, such as /amount" });
  expect(refusal("a")).toMatchObject({ message: "a is not a place in the content: write a JSON Pointer" });
});

test("unchanged parts are shared, and the document itself does not change", () => {
  const document = { rows: [1, 2], a: { b: [{ c: 1 }, { d: 1 }], e: {} } };
  const before = JSON.stringify(document);
  const patched = applyPatch<typeof document>(document, [
    { op: "replace", path: "/a/b/0/c", value: 2 },
    { op: "add", path: "/a/b/1", value: { c: 3 } },
    { op: "replace", path: "/a/b/1/c", value: 4 },
    { op: "remove", path: "/a/b/2/d" },
  ]);
  if (!patched.ok) throw new Error(patched.message);
  expect(patched.document).toEqual({ rows: [1, 2], a: { b: [{ c: 2 }, { c: 4 }, {}], e: {} } });
  expect(patched.document.rows).toBe(document.rows);
  expect(patched.document.a.e).toBe(document.a.e);
  expect(JSON.stringify(document)).toBe(before);
});

test("inherited names and list properties do not exist", () => {
  expect(valueAt({ a: [1] }, pointerNames("/a/length"))).toBe(nothing);
  expect(valueAt({}, pointerNames("/constructor"))).toBe(nothing);
  expect(valueAt({ a: "text" }, pointerNames("/a/0"))).toBe(nothing);
});
