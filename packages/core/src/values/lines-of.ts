/**
 * The lines of a UTF-8 text that comes in pieces, without their ends, `\n` or `\r\n`; rejects as its source does, and where it is
 * no UTF-8: what else would stand there is not what was written. Nothing else ends a line: Node's `readline` also breaks at
 * U+2028 and U+2029 from version 24 on, which stand in JSON texts as they are, and waits for ever for a stream that failed
 * while nobody read from it (both measured).
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
