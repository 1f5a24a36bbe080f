/**
 * The HTTP service: one route per delivered row of the contract's operations table.
 *
 * Fastify finds the route and runs the server; everything else happens in `serve`, from an onRequest hook and on Node's
 * own request and response: the gate has to stand before the body is touched, and the answer is written in one piece.
 * Measured on two busy cores, user time a request: bare node:http with JSON 18 µs; `serve` with an empty handler and no
 * log 38 µs, of which key lookup 5, body and its checks 6, writing 14 headers 4; Fastify in front of it less than 2.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { deliveredOperations, type Operation } from "@countersign/contract";
import { Fault } from "@countersign/core";
import fastify, { type FastifyInstance } from "fastify";
import type { Ids } from "../ports.ts";
import { parserRefusal } from "./answer/faults.ts";
import type { Console } from "./console.ts";
import type { Handler, Handlers } from "./handler.ts";
import { createBatchTurns } from "./request/batch-turns.ts";
import { followsDoubt, nodeHeadersMax } from "./request/request-head.ts";
import { routeOf } from "./route.ts";
import { answerOptions, type Exchange, refuseUnserved, type ServeDeps, serve, serveConsole } from "./serve.ts";

/** What the service is assembled from. */
export interface AppDeps extends Omit<ServeDeps, "batches"> {
  readonly ids: Ids;
  readonly handlers: Handlers;
  /** Null: this node serves no console. */
  readonly console?: Console | null;
}

const headBytesMax = 16_384;
/** A request has to be complete after this long: nobody keeps a connection by sending a byte now and then. */
const requestTimeout_ms = 30_000;
const headersTimeout_ms = 10_000;
/** Longer than the idle time-out of the usual load balancers, which otherwise send into a connection that just closed. */
const keepAliveTimeout_ms = 72_000;

/** Builds the service; the caller starts it with `listen` and ends it with `close`. */
export function buildApp(parts: AppDeps): FastifyInstance {
  const deps = { ...parts, batches: createBatchTurns() };
  const app = fastify({
    logger: false,
    genReqId: () => deps.ids.next("request"),
    requestIdHeader: false,
    return503OnClosing: false,
    exposeHeadRoutes: false,
    // Longest text that a path parameter may be; what an operation takes is in its row.
    routerOptions: { maxParamLength: headBytesMax, caseSensitive: true, ignoreTrailingSlash: false },
    requestTimeout: requestTimeout_ms,
    keepAliveTimeout: keepAliveTimeout_ms,
    http: {
      maxHeaderSize: headBytesMax,
      headersTimeout: headersTimeout_ms,
      connectionsCheckingInterval: 2_000,
      // We look ourselves, so that the answer is an error object.
      requireHostHeader: false,
    },
    clientErrorHandler: (error, socket) => refuseBytes(deps, error as NodeJS.ErrnoException, socket),
    frameworkErrors: (_error, request, reply) => {
      reply.hijack();
      void refuseUnserved(deps, exchangeOf(request, reply), new Fault("not_found"));
    },
  });
  const server = app.server;
  server.maxHeadersCount = nodeHeadersMax;
  // Node would answer "100 Continue" and "417" before anybody has looked at the key.
  server.on("checkContinue", (request, response) => server.emit("request", request, response));
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  server.on("connect", (_request, socket) => refuseBytes(deps, new Error("CONNECT"), socket as Socket));

  const connections = new Set<HttpSocket>();
  server.on("connection", (socket: HttpSocket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
  });
  // Node would wait for connections that send nothing or go on with another request, and close what is idle only once.
  app.addHook("preClose", async () => {
    for (const socket of connections) endAfterAnswer(socket);
  });

  const paths: ServedPath[] = [];
  for (const [id, operation] of deliveredOperations) {
    const route = routeOf(id, operation, deps.handlers[id] as Handler);
    const pattern = new RegExp(`^${operation.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
    const known = paths.find((path) => path.pattern.source === pattern.source);
    if (known === undefined) paths.push({ pattern, operations: [operation] });
    else known.operations.push(operation);
    app.route({
      method: methodsOf(operation),
      url: operation.path.replaceAll(/\{(\w+)\}/g, ":$1"),
      onRequest: (request, reply) => {
        reply.hijack();
        void serve(deps, route, exchangeOf(request, reply));
      },
      handler: unreachable,
    });
  }

  function refuseUnknown(exchange: Exchange, own_path?: string): void {
    const file = deps.console?.find(exchange.request) ?? null;
    if (file !== null && deps.console) return void serveConsole(deps, deps.console, file, exchange);
    const served = operationsAt(paths, own_path ?? ((exchange.request.url as string).split("?", 1)[0] as string));
    if (served.length === 0) return void refuseUnserved(deps, exchange, new Fault("not_found"));
    const allow = [...new Set([...served.flatMap(methodsOf), "OPTIONS"])].join(", ");
    if (exchange.request.method === "OPTIONS") return void answerOptions(deps, exchange, allow);
    const open = served.find(({ auth }) => auth === "none");
    void refuseUnserved(deps, exchange, new Fault("method_not_allowed", { headers: { allow } }), open);
  }
  // A hook, not the handler: in front of that Fastify would already have judged the body.
  app.addHook("onRequest", (request, reply, done) => {
    // Not answered: the answer before it ends the connection.
    if (followsDoubt(request.raw)) return void reply.hijack();
    if (!request.is404) return done();
    reply.hijack();
    refuseUnknown(exchangeOf(request, reply));
  });
  app.setNotFoundHandler(unreachable);

  // A path of its own is never an id: GET /v1/intents/batch is a wrong method, and no look-up of an intent named so.
  for (const url of new Set(deliveredOperations.map(([, { path }]) => path))) {
    if (url.includes("{")) continue;
    const own = operationsAt(paths, url).flatMap(methodsOf);
    const others = paths
      .filter(({ pattern }) => pattern.test(url))
      .flatMap((each) => each.operations.flatMap(methodsOf));
    const method = [...new Set(others)].filter((each) => !own.includes(each));
    if (method.length === 0) continue;
    app.route({
      method,
      url,
      onRequest: (request, reply) => {
        reply.hijack();
        // The path as the router read it: %62atch is batch.
        refuseUnknown(exchangeOf(request, reply), url);
      },
      handler: unreachable,
    });
  }
  return app;
}

interface ServedPath {
  readonly pattern: RegExp;
  readonly operations: Operation[];
}

/** The operations of a path: those of exactly this one, where there are any, else those that read an id in it. */
function operationsAt(paths: readonly ServedPath[], path: string): Operation[] {
  const fitting = paths.filter(({ pattern }) => pattern.test(path)).flatMap((each) => each.operations);
  const exact = fitting.filter((operation) => operation.path === path);
  return exact.length > 0 ? exact : fitting;
}

function methodsOf({ method }: Operation): string[] {
  return method === "GET" ? ["GET", "HEAD"] : [method];
}

function exchangeOf(
  request: { readonly raw: IncomingMessage; readonly id: string; readonly params: unknown },
  reply: { readonly raw: ServerResponse },
): Exchange {
  return { request: request.raw, response: reply.raw, params: request.params, request_id: request.id };
}

function unreachable(): never {
  throw new Error("every request is answered by its onRequest hook");
}

/** What Node keeps on a socket: the response under way and the parser with the request that it is reading or read last. */
type HttpSocket = Socket & {
  readonly _httpMessage?: ServerResponse | null;
  readonly parser?: { readonly incoming?: IncomingMessage | null } | null;
};

/** Closes a connection as soon as all that it has asked for is answered: now, where it has asked for nothing. */
function endAfterAnswer(socket: HttpSocket): void {
  const answering = socket._httpMessage ?? undefined;
  if (answering === undefined) return void socket.destroySoon();
  // Of requests one behind the other only the last answer may say that there is no other.
  if (socket.parser?.incoming === answering.req && !answering.headersSent) answering.shouldKeepAlive = false;
  answering.once("close", () => setImmediate(() => endAfterAnswer(socket)));
}

/**
 * Answers bytes that are no request, with the error object and a log line like everything else. Requests before them on
 * the connection are answered first. Where they are the broken rest of a request, this is that one's answer (its own log
 * line says that its client is gone), unless it was refused already: then there is nothing left to say.
 */
function refuseBytes(
  deps: Pick<AppDeps, "ids" | "log" | "metrics">,
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
