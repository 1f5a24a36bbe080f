import { createReadStream } from "node:fs";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";

/** The contents of a file or pipe, unpacked when it is gzip (whatever its name). Rejects when it cannot be read. */
export async function openText(path: string): Promise<Readable> {
  const chunks: AsyncIterator<Buffer> = createReadStream(path)[Symbol.asyncIterator]();
  const first = await chunks.next();
  const file = Readable.from(allOf(first, chunks), { objectMode: false }).on("error", leftToTheReader);
  if (first.done === true || first.value[0] !== 0x1f || first.value[1] !== 0x8b) return file;
  const text = createGunzip().on("error", leftToTheReader);
  pipeline(file, text, () => {}); // destroys `text` with the error of either, and its reader sees that
  return text;
}

/** Whoever reads it later, when a database has started, sees the error then. Unheard until then, it ended the program. */
const leftToTheReader = (): void => undefined;

async function* allOf(first: IteratorResult<Buffer>, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    for (let next = first; next.done !== true; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}
