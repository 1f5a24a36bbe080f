/**
 * Makes a server on standard input and output reachable over Streamable HTTP: `bridge.ts COMMAND [ARGUMENTS]`. With it
 * the conformance tests, which speak only HTTP, test `countersign mcp -- COMMAND`. Prints its URL.
 *
 * Each session (revisions before 2026-07-28) has a process of its own. Later revisions share one.
 */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import {
  classifyInboundRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  PerRequestHTTPServerTransport,
  SUBSCRIPTION_ID_META_KEY,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { serveHttp } from "./fixtures/node-http.ts";

const [, , command = "", ...args] = process.argv;

interface Message {
  id?: string | number;
  method?: string;
  params?: { progressToken?: string | number; _meta?: Record<string, unknown> };
  result?: { _meta?: Record<string, unknown> };
}

/** Starts the server. Its end is also the end of the bridge unless the bridge closed it. */
function startServer(heard: (message: Message) => void) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  let closed = false;
  createInterface({ input: child.stdout }).on("line", (line) => heard(JSON.parse(line)));
  child.once("exit", (code) => {
    if (!closed) process.exit(code ?? 1);
  });
  return {
    send: (message: unknown) => void child.stdin.write(`${JSON.stringify(message)}\n`),
    close() {
      closed = true;
      child.stdin.end();
    },
  };
}

// ── Sessions ────────────────────────────────────────────────────────────────────────────────────────────────────────
const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();

/** The server's own messages go to the stream of the newest open request, because stdio does not say more. */
async function newSession(): Promise<WebStandardStreamableHTTPServerTransport> {
  const open: (string | number)[] = [];
  const server = startServer((message) => {
    const { id, method } = message;
    const relatedRequestId = open.at(-1);
    if (method === undefined && id !== undefined) open.splice(open.indexOf(id), 1);
    void transport.send(message as JSONRPCMessage, relatedRequestId === undefined ? {} : { relatedRequestId });
  });
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (session) => void sessions.set(session, transport),
    onsessionclosed: (session) => {
      sessions.delete(session);
      server.close();
    },
  });
  transport.onmessage = (message) => {
    if ("method" in message && "id" in message) open.push(message.id);
    server.send(message);
  };
  await transport.start();
  return transport;
}

async function withSession(request: Request, parsedBody: unknown): Promise<Response> {
  const session = request.headers.get("mcp-session-id");
  const transport = session === null ? await newSession() : sessions.get(session);
  if (transport === undefined) return new Response("Session not found", { status: 404 });
  return transport.handleRequest(request, { parsedBody });
}

// ── Requests without a session ──────────────────────────────────────────────────────────────────────────────────────
interface Exchange {
  readonly transport: PerRequestHTTPServerTransport;
  readonly request: JSONRPCRequest;
}

/** Open requests by the id that the server got: clients choose equal ones. */
const exchanges = new Map<string, Exchange>();
let shared: ReturnType<typeof startServer> | undefined;

function exchangeOf({ id, params = {} }: Message): [string, Exchange] | undefined {
  const subscription = params._meta?.[SUBSCRIPTION_ID_META_KEY];
  const all = [...exchanges].reverse();
  return all.find(([key, { request }]) => {
    if (id !== undefined || subscription !== undefined) return key === (id ?? subscription);
    if (params.progressToken === undefined) return request.method !== "subscriptions/listen";
    return request.params?._meta?.progressToken === params.progressToken;
  });
}

function fromShared(message: Message): void {
  const [key, { transport, request } = {} as Exchange] = exchangeOf(message) ?? [];
  if (key === undefined) return;
  const { params, result } = message;
  for (const meta of [params?._meta, result?._meta])
    if (meta?.[SUBSCRIPTION_ID_META_KEY] !== undefined) meta[SUBSCRIPTION_ID_META_KEY] = String(request.id);
  if (message.id !== undefined) exchanges.delete(key);
  const renamed = message.id === undefined ? message : { ...message, id: request.id };
  void transport.send(renamed as JSONRPCMessage, { relatedRequestId: request.id });
}

async function withoutSession(request: Request, parsedBody: unknown): Promise<Response | null> {
  const header = (name: string) => {
    const value = request.headers.get(name);
    return value === null ? undefined : value;
  };
  const route = classifyInboundRequest({
    httpMethod: request.method,
    protocolVersionHeader: header("mcp-protocol-version"),
    mcpMethodHeader: header("mcp-method"),
    mcpNameHeader: header("mcp-name"),
    body: parsedBody,
  } as Parameters<typeof classifyInboundRequest>[0]);
  if (route.kind === "legacy") return null;
  const { id = null } = (parsedBody ?? {}) as Message;
  if (route.kind === "reject") {
    const { code, message, data, httpStatus: status } = route;
    return Response.json({ jsonrpc: "2.0", id, error: { code, message, data } }, { status });
  }
  shared ??= startServer(fromShared);
  const { send } = shared;
  const transport = new PerRequestHTTPServerTransport({ classification: route.classification });
  const key = randomUUID();
  transport.onmessage = (message) => {
    const is_request = "id" in message;
    if (is_request) exchanges.set(key, { transport, request: message as JSONRPCRequest });
    send(is_request ? { ...message, id: key } : message);
  };
  transport.onclose = () => {
    if (exchanges.delete(key)) send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: key } });
  };
  await transport.start();
  return transport.handleMessage(route.message, { request });
}

serveHttp(async (request) => {
  let body: unknown;
  if (request.method === "POST") {
    try {
      body = JSON.parse(await request.text());
    } catch {
      const error = { code: -32_700, message: "Parse error" };
      return Response.json({ jsonrpc: "2.0", id: null, error }, { status: 400 });
    }
  }
  return (await withoutSession(request, body)) ?? withSession(request, body);
});
