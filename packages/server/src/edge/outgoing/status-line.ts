const line_feed = 0x0a;
const carriage_return = 0x0d;
/** How many characters of a line are kept. The rest does not contain the status. */
const line_chars_max = "HTTP/1.1 200 ".length;
/** A status line up to the last digit of its status. */
const unasked = /^HTTP\/\d\.\d 100$/;

/**
 * Returns a function for the bytes of an answer. It calls `onStatus` once, as soon as the first final status line ends.
 * A receiver that answered 2xx has the event, even if no HTTP parser accepts the rest of its answer.
 *
 * It skips interim answers, which are 100 and 102 to 199. The HTTP client ends the exchange at an unrequested 100. So
 * the function changes it to a 102 in `bytes`, before the client reads them. It reports nothing after a 101, where the
 * client ends the exchange, or after a line that is not a status line.
 */
export function statusLineReader(onStatus: (status: number) => void): (bytes: Buffer) => void {
  let state: "before" | "interim" | "over" = "before";
  let line = "";

  function endLine(ended: string): void {
    if (ended === "") state = "before";
    if (ended === "" || state === "interim") return;
    const status = Number(/^HTTP\/\d\.\d ([1-9]\d\d)(?: |$)/.exec(ended)?.[1]);
    state = status < 200 && status !== 101 ? "interim" : "over";
    if (status >= 200) onStatus(status);
  }

  return (bytes) => {
    for (const [at, byte] of bytes.entries()) {
      if (state === "over") return;
      if (byte === line_feed) {
        endLine(line);
        line = "";
      } else if (byte !== carriage_return && line.length < line_chars_max) {
        line += String.fromCharCode(byte);
        if (state === "before" && unasked.test(line)) bytes[at] = "2".charCodeAt(0);
      }
    }
  };
}
