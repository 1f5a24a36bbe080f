/**
 * Yields the lines of a UTF-8 text that comes in pieces. Rejects if the source rejects or the text is not UTF-8. Node's
 * `readline` also breaks at U+2028 and U+2029, and waits forever for a stream that failed while nobody read.
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
