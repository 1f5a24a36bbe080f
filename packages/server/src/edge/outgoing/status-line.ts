const line_feed = 0x0a;
const carriage_return = 0x0d;
/** The rest does not contain the status. */
const line_chars_max = "HTTP/1.1 200 ".length;
const interim100 = /^HTTP\/\d\.\d 100$/;

/**
 * Returns a function for the bytes of an answer. It calls `onStatus` once, when the first final status line ends. A
 * receiver that answered 2xx has the event, even if no parser accepts the rest of its answer.
 *
 * Interim answers (100, 102–199) are skipped. The client ends the exchange at an unrequested 100, so it is changed to
 * 102 in `bytes`. Nothing is reported after a 101 or a wrong status line.
 */
export function statusLineReader(onStatus: (status: number) => void): (bytes: Buffer) => void {
  let state: "before" | "interim" | "done" = "before";
  let line = "";

  function endLine(ended: string): void {
    if (ended === "") state = "before";
    if (ended === "" || state === "interim") return;
    const status = Number(/^HTTP\/\d\.\d ([1-9]\d\d)(?: |$)/.exec(ended)?.[1]);
    state = status < 200 && status !== 101 ? "interim" : "done";
    if (status >= 200) onStatus(status);
  }

  return (bytes) => {
    for (const [at, byte] of bytes.entries()) {
      if (state === "done") return;
      if (byte === line_feed) {
        endLine(line);
        line = "";
      } else if (byte !== carriage_return && line.length < line_chars_max) {
        line += String.fromCharCode(byte);
        if (state === "before" && interim100.test(line)) bytes[at] = "2".charCodeAt(0);
      }
    }
  };
}
