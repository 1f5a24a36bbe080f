import { expect, test } from "vitest";
import { statusLineReader } from "./status-line.ts";

/** Returns the statuses reported for pieces of `size` bytes. */
function reported(answer: string, size = answer.length): number[] {
  const statuses: number[] = [];
  const read = statusLineReader((status) => statuses.push(status));
  for (let at = 0; at < answer.length; at += size) read(Buffer.from(answer.slice(at, at + size)));
  return statuses;
}

const hints = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";

test.each([
  ["HTTP/1.1 200 OK\r\n", [200]],
  ["HTTP/1.0 204\n", [204]],
  ["\r\n\r\nHTTP/1.1 503 No\r\n", [503]],
  [`${hints}HTTP/1.1 102 \n\nHTTP/1.1 201 Created\r\n`, [201]],
  ["HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 500 No\r\n\r\n", [200]],
  ["HTTP/1.1 200 OK", []],
  ["HTTP/1.1 2000 OK\r\n", []],
  ["HTTP/1.1 050 No\r\nHTTP/1.1 200 OK\r\n", []],
  ["SSH-2.0-OpenSSH_9.6\r\nHTTP/1.1 200 OK\r\n", []],
  [`${hints.trimEnd()}\r\nHTTP/1.1 200 OK\r\n`, []],
  ["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n", [200]],
  [`HTTP/1.1 100\n\n${hints}HTTP/1.1 100 Continue\r\nX: y\r\n\r\nHTTP/1.1 500 No\r\n`, [500]],
  ["HTTP/1.1 100 Continue\r\nHTTP/1.1 200 OK\r\n\r\n", []],
  ["HTTP/1.1 101 Switching Protocols\r\n\r\nHTTP/1.1 200 OK\r\n", []],
])("%j reports %j, in one piece and byte by byte", (answer, statuses) => {
  expect(reported(answer)).toEqual(statuses);
  expect(reported(answer, 1)).toEqual(statuses);
});

test.each([1, 200])(
  "the client reads a 102 instead of a 100, and all other bytes unchanged, in pieces of %i bytes",
  (size) => {
    const rest = "X: HTTP/1.1 100 y\r\nHTTP/1.1 100\r\n\r\nHTTP/1.1 200 OK\r\n\r\nHTTP/1.1 100 z\r\n";
    const bytes = Buffer.from(`HTTP/1.1 100 Continue\r\n${rest}`);
    const read = statusLineReader(() => undefined);
    for (let at = 0; at < bytes.length; at += size) read(bytes.subarray(at, at + size));
    expect(bytes.toString()).toBe(`HTTP/1.1 102 Continue\r\n${rest}`);
  },
);
