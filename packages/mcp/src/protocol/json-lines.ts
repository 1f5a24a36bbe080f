import { StringDecoder } from "node:string_decoder";

export class LineTooLong extends Error {
  constructor(chars_max: number) {
    super(`a message is longer than ${chars_max} characters`);
    this.name = "LineTooLong";
  }
}

/** Yields the non-empty lines of a UTF-8 stream. Throws `LineTooLong`. */
export async function* readLines(stream: AsyncIterable<Buffer>, chars_max: number): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8");
  // Parts of an incomplete line, joined once, because a long line comes in thousands of parts.
  let parts: string[] = [];
  let chars = 0;
  for await (const chunk of stream) {
    const [first = "", ...others] = decoder.write(chunk).split("\n");
    parts.push(first);
    chars += first.length;
    if (chars > chars_max) throw new LineTooLong(chars_max);
    for (const other of others) {
      yield* filled(parts.join(""));
      parts = [other];
      chars = other.length;
      if (chars > chars_max) throw new LineTooLong(chars_max);
    }
  }
  yield* filled(parts.join("") + decoder.end());
}

function filled(line: string): string[] {
  return line.trim() === "" ? [] : [line];
}
