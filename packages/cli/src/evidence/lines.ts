/** Cuts pieces of a text into lines. */
export interface Lines {
  /** Returns the lines that end in this piece, without their ends. */
  push(piece: Uint8Array): Buffer[];
  /** Returns the bytes after the last line end. */
  rest(): Buffer;
}

const line_end = 10;

export function startLines(): Lines {
  let parts: Buffer[] = [];
  return {
    push(piece) {
      const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
      const lines: Buffer[] = [];
      let from = 0;
      for (let at = bytes.indexOf(line_end); at !== -1; at = bytes.indexOf(line_end, from)) {
        lines.push(Buffer.concat([...parts, bytes.subarray(from, at)]));
        parts = [];
        from = at + 1;
      }
      // A copy, because the piece may be used again.
      if (from < bytes.length) parts.push(Buffer.from(bytes.subarray(from)));
      return lines;
    },
    rest: () => Buffer.concat(parts),
  };
}
