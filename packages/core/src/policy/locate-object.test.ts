import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { pointerToken } from "../values/json-patch.ts";
import { locateObject } from "./locate-object.ts";
import { locateText } from "./locate-text.ts";

/** Every path of a value, and a missing one beside it. */
function pathsOf(value: unknown, path = ""): string[] {
  const inner =
    typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([name, item]) => pathsOf(item, `${path}/${pointerToken(name)}`))
      : [];
  return [path, `${path}/nowhere`, ...inner];
}

const text = fc.oneof(
  fc.string({ maxLength: 8, unit: "grapheme" }),
  fc
    .array(fc.constantFrom(" ", "\n", "\t", '"', "\\", "a", "/", "~", "\u0001", "é", "😀"), { maxLength: 8 })
    .map((all) => all.join("")),
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    text,
    fc.constantFrom(null, true, 0, -1.5, 1e21),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(text, tie("value"), { maxKeys: 4, noNullPrototype: true }),
  ),
}));
test("every part of an object has its place in the text with two spaces of indentation", () => {
  fc.assert(
    fc.property(fc.dictionary(text, value, { maxKeys: 5, noNullPrototype: true }), fc.nat(6), (document, offset) => {
      fc.pre(!JSON.stringify(document).includes('"__proto__"'));
      const counted = locateObject(document);
      const read = locateText(JSON.stringify(document, null, 2));
      expect(read.value).toEqual(document);
      for (const path of pathsOf(document))
        for (const where of [undefined, "key", offset] as const)
          expect(counted.placeOf(path, where), `${path} ${where}`).toEqual(read.placeOf(path, where));
    }),
    { numRuns: runs(500) },
  );
});

test("values outside JSON are refused with their place", () => {
  for (const wrong of [{ a: "\0" }, { a: "\ud800" }, JSON.parse('{"a":{"__proto__":1}}') as object]) {
    const { value: read, diagnostics } = locateObject(wrong as Record<string, unknown>);
    expect(diagnostics, JSON.stringify(read)).toMatchObject([{ code: "syntax", line: 2, help: expect.any(String) }]);
  }
});
