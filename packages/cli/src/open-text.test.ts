import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { afterAll, expect, test } from "vitest";
import { openText } from "./open-text.ts";

const folder = mkdtempSync(join(tmpdir(), "open-text-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const mkfifo = "mkfifo";
const long = "line\n".repeat(100_000);

test.each([
  ["a long text", long, long],
  ["gzip, whatever its name", gzipSync(long), long],
  ["nothing", "", ""],
  ["the first byte of gzip alone", Buffer.from([0x1f]), "\x1f"],
])("reads %s", async (_name, content, read) => {
  const path = join(folder, "file.txt");
  writeFileSync(path, content);
  expect(await text(await openText(path))).toBe(read);
});

test.each([
  ["text", long],
  ["gzip", gzipSync(long)],
])("reads %s from a pipe", async (name, content) => {
  const path = join(folder, `pipe-${name}`);
  execFileSync(mkfifo, [path]);
  const [opened] = await Promise.all([openText(path).then(text), writeFile(path, content)]);
  expect(opened).toBe(long);
});

test.each([
  ["is cut off", gzipSync("line\n").subarray(0, -1)],
  ["is damaged", Buffer.concat([gzipSync("").subarray(0, 10), Buffer.alloc(10, 0xff)])],
])("gzip that %s is an error for its reader, however late", async (_name, content) => {
  const path = join(folder, "broken.gz");
  writeFileSync(path, content);
  const broken = await openText(path);
  await expect.poll(() => broken.errored, { timeout: 5_000 }).toBeInstanceOf(Error);
  await expect(text(broken)).rejects.toThrow(broken.errored?.message);
});

test("an early destroy is an error for the reader", async () => {
  const path = join(folder, "plain.txt");
  writeFileSync(path, long);
  const plain = await openText(path);
  plain.destroy(new Error("interrupted"));
  await expect.poll(() => plain.closed, { timeout: 5_000 }).toBe(true);
  await expect(text(plain)).rejects.toThrow("interrupted");
});

test("rejects unreadable files", async () => {
  await expect(openText(join(folder, "none"))).rejects.toThrow(/ENOENT/);
  await expect(openText(folder)).rejects.toThrow(/EISDIR/);
});
