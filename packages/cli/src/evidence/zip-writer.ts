/** Writes a zip archive file by file. Memory holds some pieces of the present file, and the name and hash of each file. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createWriteStream, openSync, rmSync } from "node:fs";
import { PassThrough, Transform, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ZipFile } from "yazl";
import { unwritable } from "../file-fault.ts";

export interface ZipWriter {
  /** SHA-256 in hex of each file that has ended. */
  readonly sums: ReadonlyMap<string, string>;
  /** Begins a file. The previous one must have ended. */
  begin(name: string): ZippedFile;
  add(name: string, content: string | Uint8Array): Promise<void>;
  finish(): Promise<{ readonly bytes: number; readonly sha256: string }>;
  /** Removes the archive. */
  drop(): void;
}

interface ZippedFile {
  /** Resolves when the archive can take the next piece. */
  write(bytes: Uint8Array): Promise<void>;
  /** Resolves when the archive has the whole file. */
  end(): Promise<void>;
}

/** Writes to an open file. */
type WritableTo = (path: string, options: { readonly fd: number }) => Writable;

/**
 * Creates the archive, readable by this user only. Throws CommandFailed if the path cannot be written or exists. Until
 * `finish`, the file has no directory, so no program opens it.
 */
export function createZip(path: string, writableTo: WritableTo = createWriteStream): ZipWriter {
  const zip = new ZipFile();
  const mtime = new Date();
  const sums = new Map<string, string>();
  const { written, total } = writtenTo(path, zip.outputStream, writableTo);
  let failure: { readonly error: unknown } | null = null;
  let current: PassThrough | null = null;
  const fail = (error: unknown) => {
    failure ??= { error: unwritable(path, error) };
    current?.destroy(error instanceof Error ? error : new Error(String(error)));
  };
  written.catch(fail);
  zip.on("error", fail);

  /** Rejects with the archive's own error, not with that of the file in it. */
  async function unlessFailed(event: Promise<unknown>): Promise<void> {
    await event.catch((error: unknown) => {
      throw failure === null ? error : failure.error;
    });
  }
  function begin(name: string): ZippedFile {
    if (failure !== null) throw failure.error;
    if (current !== null) throw new Error(`${name} begins inside another file of the archive`);
    const stream = new PassThrough();
    current = stream;
    stream.on("error", fail);
    zip.addReadStreamLazy(name, { mtime }, (take) => take(null, stream));
    const sum = createHash("sha256");
    return {
      async write(piece) {
        if (failure !== null) throw failure.error;
        sum.update(piece);
        if (!stream.write(piece)) await unlessFailed(once(stream, "drain"));
      },
      async end() {
        if (failure !== null) throw failure.error;
        const ended = once(stream, "end");
        stream.end();
        await unlessFailed(ended);
        current = null;
        sums.set(name, sum.digest("hex"));
      },
    };
  }
  return {
    sums,
    begin,
    async add(name, content) {
      const file = begin(name);
      await file.write(typeof content === "string" ? Buffer.from(content, "utf8") : content);
      await file.end();
    },
    async finish() {
      zip.end();
      await unlessFailed(written);
      return total();
    },
    drop() {
      (zip.outputStream as PassThrough).destroy();
      rmSync(path, { force: true });
    },
  };
}

/** Writes a stream to a new file. `total` is known after `written`. */
function writtenTo(path: string, zipped: NodeJS.ReadableStream, writableTo: WritableTo) {
  const sum = createHash("sha256");
  let bytes = 0;
  const measured = new Transform({
    transform(piece: Buffer, _, done) {
      sum.update(piece);
      bytes += piece.length;
      done(null, piece);
    },
  });
  const written = pipeline(zipped, measured, writableTo(path, { fd: openNew(path) }));
  return { written, total: () => ({ bytes, sha256: sum.digest("hex") }) };
}

function openNew(path: string): number {
  try {
    return openSync(path, "wx", 0o600);
  } catch (error) {
    throw unwritable(path, error);
  }
}
