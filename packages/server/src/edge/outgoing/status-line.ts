const line_feed = 0x0a;
const carriage_return = 0x0d;
/** How much of a line is kept; the rest of it says nothing about the status. */
const line_chars_max = "HTTP/1.1 200 ".length;

/**
 * Returns a function for the bytes of an answer. It calls `onStatus` once, as soon as the first final status line ends. A
 * receiver that answered 2xx has the event, even if no HTTP parser accepts the rest of its answer.
 *
 * It skips the interim answers 102 to 199, as the HTTP client does. It reports nothing after a line that is no status line, and
 * nothing after 100 and 101, because the HTTP client ends the exchange there.
 */
export function statusLineReader(onStatus: (status: number) => void): (bytes: Buffer) => void {
  let state: "before" | "interim" | "over" = "before";
  let line = "";

  function endLine(ended: string): void {
    if (ended === "") state = "before";
    if (ended === "" || state === "interim") return;
    const status = Number(/^HTTP\/\d\.\d ([1-9]\d\d)(?: |$)/.exec(ended)?.[1]);
    state = status > 101 && status < 200 ? "interim" : "over";
    if (status >= 200) onStatus(status);
  }

  return (bytes) => {
    for (const byte of bytes) {
      if (state === "over") return;
      if (byte === line_feed) {
        endLine(line);
        line = "";
      } else if (byte !== carriage_return && line.length < line_chars_max) {
        line += String.fromCharCode(byte);
      }
    }
  };
}
