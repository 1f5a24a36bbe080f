/** Sockets, their limits, closing, and bytes that are not a request. */
import { lookup } from "node:dns/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createNetServer, type Server as NetServer, type Socket } from "node:net";
import type { Timers } from "../ports.ts";
import { parserRefusal } from "./answer/faults.ts";
import { head_bytes_max, nodeHeadersMax } from "./request/request-head.ts";
import { createRouter, type RouterDeps } from "./router.ts";

/** Time to send a complete request. */
const request_timeout_ms = 30_000;
const headers_timeout_ms = 10_000;
/** Longer than the idle timeout of common load balancers, which would use a connection that was just closed. */
const keep_alive_timeout_ms = 72_000;
/** At the end, new connections have this long to send their first request. */
const fresh_ms_max = 200;

export interface HttpServer {
  readonly server: Server;
  /** Rejects if the address cannot be used. */
  listen(at: { readonly host: string; readonly port: number }): Promise<string>;
  url(): string;
  /** Accepts no more connections, answers pending requests, then ends each connection. */
  close(): Promise<void>;
}

/** Internal members of Node: the response in progress, and the parser with the latest request. */
type HttpSocket = Socket & {
  readonly _httpMessage?: ServerResponse | null;
  readonly parser?: { readonly incoming?: IncomingMessage | null } | null;
};

export function buildServer(deps: RouterDeps & { readonly timers: Timers }): HttpServer {
  let closing = false;
  const respond = createRouter(deps);
  const server = createServer(
    {
      maxHeaderSize: head_bytes_max,
      requestTimeout: request_timeout_ms,
      headersTimeout: headers_timeout_ms,
      keepAliveTimeout: keep_alive_timeout_ms,
      connectionsCheckingInterval: 2_000,
      // So that the answer is an error object.
      requireHostHeader: false,
    },
    (request, response) => {
      if (closing) response.shouldKeepAlive = false;
      respond(request, response);
    },
  );
  server.maxHeadersCount = nodeHeadersMax;
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => refuseBytes(deps, error, socket as Socket));
  // By default Node answers "100 Continue" and "417" before the gate.
  server.on("checkContinue", (request, response) => server.emit("request", request, response));
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  server.on("connect", (_request, socket) => refuseBytes(deps, new Error("CONNECT"), socket as Socket));

  const connections = new Set<HttpSocket>();
  server.on("connection", (socket: HttpSocket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
  });
  const more: NetServer[] = [];

  return {
    server,
    url: () => urlOf(server),
    async listen({ host, port }) {
      const [first = host, ...others] = host === "localhost" ? await loopbackAddresses() : [host];
      await listening(server, first, port);
      for (const address of others) {
        const also = createNetServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
          server.emit("connection", socket),
        );
        const { port: chosen } = server.address() as { port: number };
        if (await isListening(also, address, chosen)) more.push(also);
      }
      return urlOf(server);
    },
    async close() {
      closing = true;
      const closed = [server, ...more].map((each) => new Promise<void>((resolve) => each.close(() => resolve())));
      // Node's own close waits for silent connections, and ends idle ones only once.
      const fresh = [...connections].filter(({ bytesRead }) => bytesRead === 0);
      for (const socket of connections) if (!fresh.includes(socket)) endAfterAnswer(socket);
      if (fresh.length > 0) {
        await new Promise<void>((resolve) => deps.timers.after(fresh_ms_max, resolve));
        for (const socket of fresh) endAfterAnswer(socket);
      }
      await Promise.all(closed);
    },
  };
}

/** All, because clients may try IPv4 or IPv6 first. */
async function loopbackAddresses(): Promise<string[]> {
  return [...new Set((await lookup("localhost", { all: true })).map(({ address }) => address))];
}

function listening(server: NetServer, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** False: this machine does not have the address. */
async function isListening(server: NetServer, host: string, port: number): Promise<boolean> {
  try {
    await listening(server, host, port);
    return true;
  } catch (error) {
    if (["EADDRNOTAVAIL", "EAFNOSUPPORT"].includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
}

function urlOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === "string") return "http://127.0.0.1:8080";
  const host = address.address === "::" || address.address === "0.0.0.0" ? "127.0.0.1" : address.address;
  return `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`;
}

function endAfterAnswer(socket: HttpSocket): void {
  const answering = socket._httpMessage ?? undefined;
  if (answering === undefined) return void socket.destroySoon();
  // Of pipelined requests, only the last answer may close the connection.
  if (socket.parser?.incoming === answering.req && !answering.headersSent) answering.shouldKeepAlive = false;
  answering.once("close", () => setImmediate(() => endAfterAnswer(socket)));
}

/**
 * Answers bytes that are not a request, after earlier requests on the connection. The broken rest of a request gets
 * this answer, unless that request was already refused.
 */
function refuseBytes(
  deps: Pick<RouterDeps, "ids" | "log" | "metrics">,
  error: NodeJS.ErrnoException,
  socket: HttpSocket,
): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const answering = socket._httpMessage ?? undefined;
  const incoming = socket.parser?.incoming ?? undefined;
  const broken = incoming !== undefined && !incoming.complete;
  if (broken && (answering?.req !== incoming || answering.headersSent)) return void socket.destroySoon();
  if (!broken && answering !== undefined) {
    return void answering.once("close", () => refuseBytes(deps, error, socket));
  }
  const request_id = deps.ids.next("request");
  const refusal = parserRefusal(error.code, request_id);
  const { status, code: error_code, json_text } = refusal;
  deps.metrics.refused(error_code);
  if (!broken) {
    deps.metrics.requested("none", status, 0);
    const reason = error.code ?? error.message;
    deps.log.info({ request_id, method: null, route: null, status, error_code, reason }, "request");
  }
  const phrase = { 400: "Bad Request", 408: "Request Timeout", 431: "Request Header Fields Too Large" }[status];
  socket.end(
    `HTTP/1.1 ${status} ${phrase}\r\nX-Request-Id: ${request_id}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(json_text)}\r\nConnection: close\r\n\r\n${json_text}`,
  );
}
