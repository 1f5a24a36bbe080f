import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { pipeline, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";

/** The contents of a file, unpacked when it is gzip (whatever its name). Rejects when it cannot be read. */
export async function openText(path: string): Promise<Readable> {
  const gzip = await isGzip(path);
  const file = createReadStream(path);
  if (!gzip) return file;
  const text = createGunzip();
  pipeline(file, text, () => {}); // destroys `text` with the error of either, and its reader sees that
  return text;
}

async function isGzip(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await file.close();
  }
}
