import fc from "fast-check";
import { expect, test } from "vitest";
import { linesOf } from "./lines-of.ts";

async function linesIn(pieces: readonly Uint8Array[]): Promise<string[]> {
  async function* all() {
    yield* pieces;
  }
  const lines: string[] = [];
  for await (const line of linesOf(all())) lines.push(line);
  return lines;
}

test("lines end at line feeds only, for any split into pieces", async () => {
  const line = fc.string({ unit: fc.constantFrom("a", "é", "🐱", "\u2028", "\u2029", "\u0085", "\r", "\t", "{") });
  await fc.assert(
    fc.asyncProperty(fc.array(line), fc.boolean(), fc.array(fc.nat(60)), async (written, ended, cuts) => {
      const bytes = new TextEncoder().encode(written.join("\n") + (ended ? "\n" : ""));
      const at = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length].sort((a, b) => a - b);
      const pieces = at.slice(1).map((end, index) => bytes.subarray(at[index], end));
      const expected = written.map((text) => text.replace(/\r$/, ""));
      if (!ended && written.at(-1) === "") expected.pop();
      if (ended && written.length === 0) expected.push("");
      expect(await linesIn(pieces)).toEqual(expected);
    }),
  );
});

test.each([
  ["in its middle", [0x61, 0xe9, 0x62, 0x0a]],
  ["at its end", [0x61, 0x0a, 0xc3]],
])("a text that is not UTF-8 %s is rejected", async (_place, bytes) => {
  await expect(linesIn([Uint8Array.from(bytes)])).rejects.toThrow(TypeError);
});

test("a source's failure is reported, also while nobody reads from it", async () => {
  async function* failing() {
    yield new TextEncoder().encode("a\nb\n");
    throw new Error("cut off");
  }
  const lines = linesOf(failing());
  expect(await lines.next()).toMatchObject({ value: "a" });
  expect(await lines.next()).toMatchObject({ value: "b" });
  await expect(lines.next()).rejects.toThrow("cut off");
});
