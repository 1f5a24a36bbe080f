import fc from "fast-check";
import { expect, test } from "vitest";
import { applyPatch, type PatchOperation } from "../values/json-patch.ts";
import { mask_text, maskedContent, maskingOf } from "./mask.ts";
import { unmasked } from "./unmask.ts";

const content = {
  amount: 5,
  password: "hunter2",
  login: { user: "ann", password: "other-one" },
  items: [
    { id: 1, secret: "SEC-1" },
    { id: 2, secret: "SEC-2" },
  ],
  command: "run postgres://app:hunter3@db",
};
const shown = maskedContent(content, maskingOf(content));
const after = (...operations: PatchOperation[]) => {
  const found = unmasked({ content, shown }, operations);
  if (found.kind === "mask_changed") return found.index;
  const patched = applyPatch<object>(content, found.operations);
  return patched.ok ? patched.document : patched.message;
};
const replace = (path: string, value: unknown): PatchOperation => ({ op: "replace", path, value });
const m = mask_text;

test.each<[string, PatchOperation[], object]>([
  ["a member", [replace("/login", { user: "bob", password: m })], { login: { user: "bob", password: "other-one" } }],
  ["a masked part of a text", [replace("/command", shown.command)], {}],
  ["a whole list", [replace("/items", shown.items)], {}],
  [
    "a list with another entry changed",
    [replace("/login", { ...shown.login, more: [1] })],
    { login: { ...content.login, more: [1] } },
  ],
  [
    "an entry at its place",
    [replace("/items/1", { id: 3, secret: m })],
    { items: [content.items[0], { id: 3, secret: "SEC-2" }] },
  ],
  [
    "an entry after another was removed",
    [{ op: "remove", path: "/items/0" }, replace("/items/0/secret", m)],
    { items: [content.items[1]] },
  ],
  ["a value that replaces it", [replace("/password", "new")], { password: "new" }],
])("an unchanged mask keeps its value: %s", (_, operations, change) => {
  expect(after(...operations)).toEqual({ ...content, ...change });
});

test.each<[string, PatchOperation]>([
  ["at another place", { op: "add", path: "/note", value: m }],
  ["within another text", replace("/password", `x${m}`)],
  ["in a changed text", replace("/command", `rm; ${shown.command}`)],
  ["in a text of another place", replace("/password", shown.command)],
  ["in a list of another length", replace("/items", [shown.items[1]])],
  ["in a list in another order", replace("/items", [shown.items[1], shown.items[0]])],
  ["in an entry that is inserted", { op: "add", path: "/items/0", value: { id: 1, secret: m } }],
  ["in a name", replace("/login", { [m]: 1 })],
  ["in a path", { op: "add", path: `/${m}`, value: 1 }],
  ["in another member", replace("/login", { user: m, password: m })],
  ["where there was nothing", { op: "add", path: "/login/token", value: m }],
])("a mask is refused %s", (_, operation) => {
  expect(after({ op: "add", path: "/amount", value: 6 }, operation)).toBe(1);
});

test("sending back the shown content changes nothing", () => {
  const name = fc.constantFrom("password", "secret", "a", "b/c", "note");
  const value = fc.letrec((tie) => ({
    json: fc.oneof(
      { depthSize: "small" },
      fc.string(),
      fc.integer(),
      fc.array(tie("json")),
      fc.dictionary(name, tie("json")),
    ),
  })).json;
  fc.assert(
    fc.property(fc.dictionary(name, value), (given) => {
      const masked = maskedContent(given, maskingOf(given));
      const operations = Object.entries(masked).map(([key, each]) => replace(`/${key.replace("/", "~1")}`, each));
      const found = unmasked({ content: given, shown: masked }, operations);
      expect(found.kind).toBe("unmasked");
      if (found.kind === "unmasked") expect(applyPatch(given, found.operations)).toEqual({ ok: true, document: given });
    }),
  );
});
