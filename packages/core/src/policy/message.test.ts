import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { clipMessage, parseTemplate, shownValue } from "./message.ts";

describe("message templates", () => {
  test("are cut at {{ and }} with the offset of each expression", () => {
    expect(parseTemplate("a {{ x }} b {{y}}")).toEqual({
      ok: true,
      parts: [
        { kind: "text", text: "a " },
        { kind: "expression", source: "x", offset: 5 },
        { kind: "text", text: " b " },
        { kind: "expression", source: "y", offset: 14 },
      ],
    });
  });

  test("may hold maps and texts with braces", () => {
    expect(parseTemplate(`{{ {"a": {"b": 1}}}}`)).toMatchObject({ parts: [{ source: `{"a": {"b": 1}}` }] });
    expect(parseTemplate(`{{ "}}" + '\\'}}' }}!`)).toMatchObject({
      parts: [{ source: `"}}" + '\\'}}'` }, { text: "!" }],
    });
  });

  test.each(["{{", "a {{x}", "{{ }}", "{{'}}"])("%j is refused with its place", (template) => {
    expect(parseTemplate(template)).toMatchObject({ ok: false, offset: template.indexOf("{{") });
  });

  test("show texts without quotes and other values as JSON", () => {
    expect([shownValue("a"), shownValue(1.5), shownValue(null), shownValue(["a"]), shownValue(undefined)]).toEqual([
      "a",
      "1.5",
      "null",
      '["a"]',
      "unknown",
    ]);
  });

  test("are never longer than 2 KiB and never cut inside a character", () => {
    fc.assert(
      fc.property(fc.constantFrom("a", "é", "€", "😀"), fc.nat(3000), (char, count) => {
        const clipped = clipMessage(char.repeat(count));
        expect(Buffer.byteLength(clipped)).toBeLessThanOrEqual(2048);
        expect(clipped).not.toContain("\ufffd");
        if (Buffer.byteLength(char) * count <= 2048) expect(clipped).toBe(char.repeat(count));
      }),
    );
  });
});
