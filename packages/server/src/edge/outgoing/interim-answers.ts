/**
 * Lets a receiver say 100 before its answer, as some do though nobody asked them to. HTTP wants clients to pass over every
 * interim answer, also one that they do not expect (RFC 9110, section 15.2). undici does so with all but 100, for which it
 * ends the connection, so it is given each 100 as a 102.
 */
import type { Socket } from "node:net";

const interim = /^HTTP\/1\.1 1(?!01)\d\d[ \r]/;
/** As long as what tells one. */
const start_bytes = "HTTP/1.1 100 ".length;
/** A longer one is given to undici as it is, which has its own opinion of long heads. */
const head_bytes_max = 16_384;
const could_be = "HTTP/1.1 1";
const status_at = could_be.length - 1;

/** Changes what is read of the socket. Call it before anybody reads. */
export function passOver100(socket: Socket): void {
  const read = socket.read.bind(socket);
  const write = socket.write.bind(socket) as (...given: unknown[]) => boolean;
  // What follows a request up to the head of its answer: in a body the same bytes mean nothing.
  let awaited = false;
  let held: Buffer | null = null;
  socket.write = (...given: unknown[]) => {
    awaited = true;
    return write(...given);
  };
  socket.read = (size?: number) => {
    const chunk: Buffer | null = read(size);
    if (chunk === null || !awaited) return chunk;
    const bytes = held === null ? chunk : Buffer.concat([held, chunk]);
    held = null;
    let at = 0;
    while (at < bytes.length) {
      const start = bytes.toString("latin1", at, at + start_bytes);
      const whole = interim.test(start);
      const end = whole ? bytes.indexOf("\r\n\r\n", at) : -1;
      if (end !== -1) {
        if (start.slice(status_at, status_at + 3) === "100") bytes.write("102", at + status_at, "latin1");
        at = end + 4;
        continue;
      }
      // An interim head that has not come as a whole waits for its rest; so does what may become one.
      const waits =
        whole || (start.length < start_bytes && (start + could_be.slice(start.length)).startsWith(could_be));
      if (waits && bytes.length - at <= head_bytes_max) held = Buffer.from(bytes.subarray(at));
      else awaited = false;
      break;
    }
    const ready = held === null ? bytes : bytes.subarray(0, at);
    return ready.length === 0 ? null : ready;
  };
}
