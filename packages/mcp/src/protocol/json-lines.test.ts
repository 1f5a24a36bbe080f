import fc from "fast-check";
import { expect, test } from "vitest";
import { readLines } from "./json-lines.ts";

async function linesOf(chunks: readonly Buffer[], chars_max = 1_000): Promise<string[]> {
  const lines: string[] = [];
  async function* stream() {
    yield* chunks;
  }
  for await (const line of readLines(stream(), chars_max)) lines.push(line);
  return lines;
}

test("reads the same lines wherever the stream is cut, even inside a character", async () => {
  const text = fc.string({ unit: fc.constantFrom("a", "é", "😀", "\n", "\r") });
  await fc.assert(
    fc.asyncProperty(text, fc.array(fc.nat(5), { minLength: 1 }), async (whole, sizes) => {
      const bytes = Buffer.from(whole);
      const chunks: Buffer[] = [];
      for (let at = 0, n = 0; at < bytes.length; n++) {
        const size = Math.max(1, sizes[n % sizes.length] ?? 1);
        chunks.push(bytes.subarray(at, at + size));
        at += size;
      }
      expect(await linesOf(chunks)).toEqual(whole.split("\n").filter((line) => line.trim() !== ""));
    }),
  );
});

test("accepts a line up to the message limit, and not one character more, ended or not", async () => {
  expect(await linesOf([Buffer.from(`${"x".repeat(10)}\n`)], 10)).toEqual(["x".repeat(10)]);
  for (const end of ["\n", ""])
    for (const before of ["", "a\n"])
      await expect(linesOf([Buffer.from(`${before}${"x".repeat(11)}${end}`)], 10)).rejects.toThrow("longer than 10");
  await expect(
    linesOf(
      Array.from({ length: 11 }, () => Buffer.from("x")),
      10,
    ),
  ).rejects.toThrow("longer than 10");
});
