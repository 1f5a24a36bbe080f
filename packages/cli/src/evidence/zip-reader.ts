/** Reads a zip archive that somebody else may have made. */
import { crc32 } from "node:zlib";
import { type Entry, open, type ZipFile } from "yauzl";
import { CommandFailed } from "../command-failed.ts";
import { unreadable } from "../file-fault.ts";

export interface ZipReader {
  readonly names: readonly string[];
  /** Yields the bytes of a file. Throws `Damaged`. */
  pieces(name: string): AsyncGenerator<Buffer>;
  /** Returns the bytes of a file. Throws `Damaged`, also if there are more than `bytes_max`. */
  bytes(name: string, bytes_max: number): Promise<Buffer>;
  close(): void;
}

/** A file in the archive cannot be read, or is not as the archive says. */
export class Damaged extends Error {}

/** Throws CommandFailed for a file that is not a complete zip archive. */
export async function openZip(path: string): Promise<ZipReader> {
  const zip = await opened(path);
  const entries = await entriesOf(zip).catch((error: unknown) => {
    zip.close();
    throw notWhole(path, error);
  });
  const entryOf = (name: string): Entry => {
    const entry = entries.get(name);
    if (entry === undefined) throw new Damaged(`${name} is missing`);
    return entry;
  };
  async function* pieces(name: string): AsyncGenerator<Buffer> {
    const entry = entryOf(name);
    let sum = 0;
    for await (const piece of piecesOf(zip, entry)) {
      sum = crc32(piece, sum);
      yield piece;
    }
    if (sum !== entry.crc32) throw new Damaged(`${name} was changed: its checksum in the archive is another`);
  }
  return {
    names: [...entries.keys()],
    pieces,
    async bytes(name, bytes_max) {
      if (entryOf(name).uncompressedSize > bytes_max) throw new Damaged(`${name} has more than ${bytes_max} bytes`);
      const parts: Buffer[] = [];
      for await (const piece of pieces(name)) parts.push(piece);
      return Buffer.concat(parts);
    },
    close: () => zip.close(),
  };
}

function opened(path: string): Promise<ZipFile> {
  return new Promise((resolve, reject) => {
    open(path, { lazyEntries: true, autoClose: false }, (error, zip) => {
      if (error === null) return resolve(zip);
      reject("syscall" in error ? unreadable(path, error) : notWhole(path, error));
    });
  });
}

function notWhole(path: string, error: unknown): CommandFailed {
  const said = error instanceof Error ? error.message : String(error);
  return new CommandFailed(`${path} is not a complete zip archive: ${said}`);
}

/** Rejects for names that appear twice, and for those that yauzl refuses, such as absolute paths. */
function entriesOf(zip: ZipFile): Promise<Map<string, Entry>> {
  return new Promise((resolve, reject) => {
    const entries = new Map<string, Entry>();
    zip.on("error", reject);
    zip.on("end", () => resolve(entries));
    zip.on("entry", (entry: Entry) => {
      const { fileName } = entry;
      if (entries.has(fileName)) return reject(new Error(`${fileName} is in it twice`));
      entries.set(fileName, entry);
      zip.readEntry();
    });
    zip.readEntry();
  });
}

/** yauzl checks that there are as many bytes as the archive says. */
async function* piecesOf(zip: ZipFile, entry: Entry): AsyncGenerator<Buffer> {
  const damaged = (error: unknown) => {
    const said = error instanceof Error ? error.message : String(error);
    return new Damaged(`${entry.fileName} cannot be read: ${said}`);
  };
  const stream = await new Promise<AsyncIterable<Buffer>>((resolve, reject) => {
    zip.openReadStream(entry, (error, opened) => (error === null ? resolve(opened) : reject(damaged(error))));
  });
  try {
    yield* stream;
  } catch (error) {
    throw damaged(error);
  }
}
