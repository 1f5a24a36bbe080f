import { createReadStream } from "node:fs";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";

/** Returns the contents of a file or pipe, and unpacks gzip whatever the name. */
export async function openText(path: string): Promise<Readable> {
  const chunks: AsyncIterator<Buffer> = createReadStream(path)[Symbol.asyncIterator]();
  const first = await chunks.next();
  const file = Readable.from(allOf(first, chunks), { objectMode: false }).on("error", leftToTheReader);
  if (first.done === true || first.value[0] !== 0x1f || first.value[1] !== 0x8b) return file;
  const text = createGunzip().on("error", leftToTheReader);
  pipeline(file, text, () => {}); // destroys `text` with either error, for its reader
  return text;
}

/**
 * The reader may attach later, after a database has started. Without a listener an earlier error would end the program.
 */
const leftToTheReader = (): void => undefined;

async function* allOf(first: IteratorResult<Buffer>, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    for (let next = first; next.done !== true; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}
