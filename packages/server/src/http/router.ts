import type { IncomingMessage, ServerResponse } from "node:http";
import { type Operation, operationRows } from "@countersign/contract";
import { Fault } from "@countersign/core";
import findMyWay, { type HTTPMethod } from "find-my-way";
import type { Ids } from "../ports.ts";
import type { Console } from "./console.ts";
import type { Handler, Handlers } from "./handler.ts";
import { createBatchTurns } from "./request/batch-turns.ts";
import { followsDoubt, head_bytes_max } from "./request/request-head.ts";
import { routeOf } from "./route.ts";
import { answerOptions, type Exchange, refuseUnserved, type ServeDeps, serve, serveConsole } from "./serve.ts";

export interface RouterDeps extends Omit<ServeDeps, "batches"> {
  readonly ids: Ids;
  readonly handlers: Handlers;
  /** Null: no console. */
  readonly console?: Console | null;
}

/** Never throws. */
export type Respond = (request: IncomingMessage, response: ServerResponse) => void;

interface ServedPath {
  readonly pattern: RegExp;
  readonly operations: Operation[];
}

/** The result answers each request exactly once. */
export function createRouter(parts: RouterDeps): Respond {
  const deps = { ...parts, batches: createBatchTurns() };
  const paths = servedPaths();
  const exchangeOf = (request: IncomingMessage, response: ServerResponse, params: unknown = {}): Exchange => {
    return { request, response, params, request_id: deps.ids.next("request") };
  };

  /** `own_path`: decoded by the router, so that %62atch is batch. */
  function answerUnrouted(exchange: Exchange, own_path?: string): void {
    const file = deps.console?.find(exchange.request) ?? null;
    if (file !== null && deps.console) return void serveConsole(deps, deps.console, file, exchange);
    const served = operationsAt(paths, own_path ?? ((exchange.request.url as string).split("?", 1)[0] as string));
    if (served.length === 0) return void refuseUnserved(deps, exchange, new Fault("not_found"));
    const allow = [...new Set([...served.flatMap(methodsOf), "OPTIONS"])].join(", ");
    if (exchange.request.method === "OPTIONS") return void answerOptions(deps, exchange, allow);
    const open = served.find(({ auth }) => auth === "none");
    void refuseUnserved(deps, exchange, new Fault("method_not_allowed", { headers: { allow } }), open);
  }

  const router = findMyWay({
    caseSensitive: true,
    ignoreTrailingSlash: false,
    // The operation's row limits each parameter.
    maxParamLength: head_bytes_max,
    defaultRoute: (request, response) => answerUnrouted(exchangeOf(request, response)),
    onBadUrl: (_path, request, response) =>
      void refuseUnserved(deps, exchangeOf(request, response), new Fault("not_found")),
  });
  for (const [id, operation] of operationRows) {
    const route = routeOf(id, operation, deps.handlers[id] as Handler);
    const last = operation.rest === true ? /\{(\w+)\}$/.exec(operation.path)?.[1] : undefined;
    const url = operation.path.replace(`{${last}}`, "*").replaceAll(/\{(\w+)\}/g, ":$1");
    router.on(methodsOf(operation), url, (request, response, { "*": rest, ...params }) => {
      const named = last === undefined ? params : { ...params, [last]: rest };
      void serve(deps, route, exchangeOf(request, response, named));
    });
  }
  // Never read as an id: GET /v1/intents/batch has a wrong method.
  for (const { url, methods } of fixedPathsUnderParameters(paths)) {
    router.on(methods, url, (request, response) => answerUnrouted(exchangeOf(request, response), url));
  }
  router.compile();

  return (request, response) => {
    // Otherwise the previous answer ends the connection.
    if (!followsDoubt(request)) router.lookup(request, response);
  };
}

function servedPaths(): ServedPath[] {
  const paths = new Map<string, ServedPath>();
  for (const [, operation] of operationRows) {
    const one = operation.path.replaceAll(/\{\w+\}/g, "[^/]+");
    const pattern = new RegExp(`^${operation.rest === true ? one.replace(/\[\^\/\]\+$/, ".+") : one}$`);
    const known = paths.get(pattern.source);
    if (known === undefined) paths.set(pattern.source, { pattern, operations: [operation] });
    else known.operations.push(operation);
  }
  return [...paths.values()];
}

/** Returns paths without parameters that also fit a path with one, and the methods of only the latter. */
function fixedPathsUnderParameters(paths: readonly ServedPath[]): { url: string; methods: HTTPMethod[] }[] {
  const fixed = [...new Set(operationRows.map(([, { path }]) => path))].filter((path) => !path.includes("{"));
  return fixed.flatMap((url) => {
    const own = operationsAt(paths, url).flatMap(methodsOf);
    const fitting = paths.filter(({ pattern }) => pattern.test(url)).flatMap(({ operations }) => operations);
    const methods = [...new Set(fitting.flatMap(methodsOf))].filter((method) => !own.includes(method));
    return methods.length === 0 ? [] : [{ url, methods }];
  });
}

/** Of exactly this path, else those that read an id in it. */
function operationsAt(paths: readonly ServedPath[], path: string): Operation[] {
  const fitting = paths.filter(({ pattern }) => pattern.test(path)).flatMap(({ operations }) => operations);
  const exact = fitting.filter((operation) => operation.path === path);
  return exact.length > 0 ? exact : fitting;
}

function methodsOf({ method }: Operation): HTTPMethod[] {
  return method === "GET" ? ["GET", "HEAD"] : [method];
}
