/**
 * Yields the lines of a UTF-8 text that comes in pieces, without their ends, `\n` or `\r\n`. Rejects if its source
 * rejects or if the text is not UTF-8. No other character ends a line. Node's `readline` from version 24 on also breaks
 * at U+2028 and U+2029, which JSON texts may contain. It also waits forever for a stream that failed while nobody read
 * from it (both measured).
 */
export async function* linesOf(pieces: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  const whole = (line: string) => (line.endsWith("\r") ? line.slice(0, -1) : line);
  for await (const piece of pieces) {
    const [first = "", ...more] = (typeof piece === "string" ? piece : decoder.decode(piece, { stream: true })).split(
      "\n",
    );
    rest += first;
    for (const next of more) {
      yield whole(rest);
      rest = next;
    }
  }
  rest += decoder.decode();
  if (rest !== "") yield whole(rest);
}
