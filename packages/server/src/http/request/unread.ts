/** Limits how long answers wait for clients that do not read. */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * Longest time without reading. A steady client with 5 KB/s makes progress every four minutes, because the operating
 * system buffers 4 MB.
 */
const calm_ms_max = 300_000;
/** The limit while more than `calm_bytes_max` of answers wait. */
const pressed_ms_max = 30_000;
/** The same for an answer behind others on its connection. */
const pressed_behind_others_ms_max = 120_000;
const calm_bytes_max = 64 * 1_048_576;

interface Backlog {
  answers: number;
  bytes: number;
}

const backlogs = new WeakMap<Socket, Backlog>();
let bytes_waiting = 0;

/** Closes the connection of a client that does not read an answer of this many bytes. */
export function limitUnread(response: ServerResponse, bytes: number): void {
  if (response.socket !== null && response.req.socket.writableLength === 0) return;
  // Before Node sets the limit of an idle connection. A pending answer has no limit.
  response.prependOnceListener("finish", startLimit(response, bytes));
}

/** The returned function ends the limit when the bytes are read. */
export function startLimit(response: ServerResponse, bytes: number): () => void {
  const { socket } = response.req;
  if (socket.destroyed) return () => undefined;
  const backlog = backlogOf(socket);
  backlog.answers += 1;
  grow(backlog, bytes);
  socket.setTimeout(patienceOf(response));
  readNoMore(socket, backlog);
  return () => {
    if (socket.destroyed) return;
    backlog.answers -= 1;
    grow(backlog, -bytes);
    socket.setTimeout(backlog.answers === 0 ? 0 : patienceOf(response));
    if (backlog.answers === 0) socket.resume();
    else readNoMore(socket, backlog);
  };
}

/**
 * Stops reading, because any read restarts the socket's timer. Delayed, because Node resumes reading at the end of a
 * request.
 */
function readNoMore(socket: Socket, backlog: Backlog): void {
  setImmediate(() => {
    if (backlog.answers > 0) socket.pause();
  });
}

function patienceOf(response: ServerResponse): number {
  if (bytes_waiting <= calm_bytes_max) return calm_ms_max;
  return response.socket === null ? pressed_behind_others_ms_max : pressed_ms_max;
}

function backlogOf(socket: Socket): Backlog {
  const known = backlogs.get(socket);
  if (known !== undefined) return known;
  const backlog = { answers: 0, bytes: 0 };
  backlogs.set(socket, backlog);
  socket.once("close", () => grow(backlog, -backlog.bytes));
  return backlog;
}

function grow(backlog: Backlog, bytes: number): void {
  backlog.bytes += bytes;
  bytes_waiting += bytes;
}
