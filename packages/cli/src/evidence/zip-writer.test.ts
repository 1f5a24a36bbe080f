import { close, existsSync, mkdtempSync, rmSync, write } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { afterAll, expect, test } from "vitest";
import { openZip } from "./zip-reader.ts";
import { createZip } from "./zip-writer.ts";

/** A disk with room for this many bytes. */
function diskWith(room_bytes: number) {
  let room = room_bytes;
  return (_path: string, { fd }: { readonly fd: number }) =>
    new Writable({
      write(piece: Buffer, _, done) {
        room -= piece.length;
        if (room < 0) return done(Object.assign(new Error("no space"), { code: "ENOSPC" }));
        write(fd, piece, done);
      },
      final: (done) => close(fd, done),
    });
}

const folder = mkdtempSync(join(tmpdir(), "zip-writer-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Does not become smaller. */
const noise = (bytes: number) =>
  Buffer.from(Array.from({ length: bytes }, (_, n) => (n * n * 31 + (n >> 3) * 17) & 255));

test("files come back as they were written, in pieces, and empty ones too", async () => {
  const path = join(folder, "whole.zip");
  const zip = createZip(path);
  const large = noise(300_000);
  const file = zip.begin("a/large.bin");
  for (let at = 0; at < large.length; at += 70_000) await file.write(large.subarray(at, at + 70_000));
  expect(() => zip.begin("inside")).toThrow("begins inside another file");
  await file.end();
  await zip.add("empty.txt", "");
  const { bytes, sha256 } = await zip.finish();
  expect([bytes > 0, sha256]).toEqual([true, expect.stringMatching(/^[0-9a-f]{64}$/)]);
  const read = await openZip(path);
  expect(read.names).toEqual(["a/large.bin", "empty.txt"]);
  expect(await read.bytes("a/large.bin", 300_000)).toEqual(large);
  expect(await read.bytes("empty.txt", 0)).toEqual(Buffer.alloc(0));
  await expect(read.bytes("a/large.bin", 299_999)).rejects.toThrow("has more than 299999 bytes");
  read.close();
});

test("a full disk ends the archive with what to do, and nothing waits for ever", async () => {
  const path = join(folder, "full.zip");
  const zip = createZip(path, diskWith(100_000));
  const fill = async () => {
    for (let n = 0; n < 50; n += 1) await zip.add(`${n}.bin`, noise(40_000));
    await zip.finish();
  };
  await expect(fill()).rejects.toThrow(`${path} cannot be written: the disk is full; make room or give another place`);
  await expect(zip.add("later.txt", "x")).rejects.toThrow("the disk is full");
  zip.drop();
  expect(existsSync(path)).toBe(false);
});

test("a dropped archive leaves no file", async () => {
  const path = join(folder, "dropped.zip");
  const zip = createZip(path);
  await zip.begin("half.bin").write(noise(1_000));
  zip.drop();
  expect(existsSync(path)).toBe(false);
});
