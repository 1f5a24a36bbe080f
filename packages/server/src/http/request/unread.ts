/** Clients that take little or nothing of what they asked for: how long their answers stay in memory. */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * So long may a client be seen to take nothing. The system takes up to 4 MB ahead of a client and comes for more once a third
 * of that is gone, so one that reads steadily at 5 KB/s is seen to take something every four minutes. The socket's timer
 * compares with when it looked last, so a client may have up to twice as long.
 */
const calm_ms_max = 300_000;
/** The same once more than `calm_bytes_max` of the process's answers wait to be taken. */
const pressed_ms_max = 30_000;
/** The same for an answer that comes after others on its connection: they may still be waited for. */
const pressed_behind_others_ms_max = 120_000;
const calm_bytes_max = 64 * 1_048_576;

/** What waits on one connection. */
interface Backlog {
  answers: number;
  bytes: number;
}

const backlogs = new WeakMap<Socket, Backlog>();
let bytes_waiting = 0;

/**
 * Ends the connection of a client that takes nothing of an answer of so many bytes: it would stay in memory for good. Costs
 * nothing where the system took the whole answer at once.
 */
export function limitUnread(response: ServerResponse, bytes: number): void {
  if (response.socket !== null && response.req.socket.writableLength === 0) return;
  // Before Node sets the limit of an idle connection; an answer that is waited for has none.
  response.prependOnceListener("finish", startLimit(response, bytes));
}

/** Starts the limit for what was written; to be ended with the function given once that is taken. */
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
    // The next one on the connection begins to be sent now.
    socket.setTimeout(backlog.answers === 0 ? 0 : patienceOf(response));
    if (backlog.answers === 0) socket.resume();
    else readNoMore(socket, backlog);
  };
}

/**
 * Whatever is read starts the socket's timer again, and a client could send an empty line now and then. Not at once: Node goes
 * on reading when it comes to the end of a request, and when an answer is taken.
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
