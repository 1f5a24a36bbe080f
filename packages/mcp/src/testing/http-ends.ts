/** HTTP servers of the protocol's own packages, and the proxy in front of one. The test decides as the service. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough, Readable } from "node:stream";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { EventStore } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createMcpHandler, fromJsonSchema, McpServer as StatelessServer } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import { z } from "zod";
import type { GovernorOptions } from "../governor.ts";
import { bridgeToServer } from "../http/bridge.ts";
import { type ListenOptions, listenForClients } from "../http/listen.ts";
import { type Answering, fakeService, governorTerms } from "./fake-service.ts";

/** Serves on a free port until the test ends. */
export async function serving(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A request that a remote server got. */
export interface Heard {
  readonly method: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** Records each request for the test, before the listener gets it. */
export function recorded(heard: Heard[], listener: (body: string, ...given: Parameters<RequestListener>) => void) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = "";
    for await (const chunk of request) body += chunk;
    heard.push({ method: request.method ?? "", headers: request.headers, body });
    listener(body, request, response);
  };
}

/** The members of an answer that tests read. */
interface Said {
  readonly id: unknown;
  readonly error: { readonly code: number; readonly message: string };
  readonly result: { readonly content: readonly { readonly text: string }[] };
}

export const saidIn = async (answer: Response): Promise<Said> => (await answer.json()) as Said;

type Paid = (n: number) => void;

function sessionServer(paid: Paid): McpServer {
  const server = new McpServer({ name: "bank", version: "1.0.0" }, { capabilities: { logging: {} } });
  server.registerTool("pay", { title: "Pay", inputSchema: { n: z.number() } }, async ({ n }, { sendNotification }) => {
    paid(n);
    await sendNotification({ method: "notifications/message", params: { level: "info", data: `paying ${n}` } });
    return { content: [{ type: "text", text: `paid ${n}` }] };
  });
  return server;
}

interface SessionServerOptions {
  readonly json?: boolean;
  readonly sessions?: boolean;
  readonly eventStore?: EventStore;
}

/** A server of revision 2025-11-25. */
export async function sessionBank(
  heard: Heard[] = [],
  { json = false, sessions = true, eventStore }: SessionServerOptions = {},
) {
  const payments: number[] = [];
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const servers: McpServer[] = [];
  const listener = async (body: string, request: IncomingMessage, response: ServerResponse) => {
    const session_id = request.headers["mcp-session-id"]?.toString();
    let transport = transports.get(session_id ?? "");
    if (session_id !== undefined && transport === undefined) return void response.writeHead(404).end();
    if (transport === undefined) {
      const made = new StreamableHTTPServerTransport({
        ...(sessions && {
          sessionIdGenerator: randomUUID,
          onsessioninitialized: (id) => void transports.set(id, made),
        }),
        ...(eventStore !== undefined && { eventStore, retryInterval: 1 }),
        enableJsonResponse: json,
      });
      const server = sessionServer((n) => payments.push(n));
      await server.connect(made as Parameters<McpServer["connect"]>[0]);
      servers.push(server);
      transport = made;
    }
    await transport.handleRequest(request, response, body === "" ? undefined : JSON.parse(body));
  };
  const url = await serving(recorded(heard, (...given) => void listener(...given)));
  return { url: `${url}/mcp`, payments, servers, forget: () => transports.clear() };
}

/** A server of revision 2026-07-28, which wants the argument `to` as a header. */
export async function statelessBank(heard: Heard[] = []) {
  const payments: unknown[] = [];
  const to = { type: "string", "x-mcp-header": "To" } as const;
  const inputSchema = { type: "object", properties: { n: { type: "number" }, to } } as const;
  const handler = createMcpHandler(() => {
    const server = new StatelessServer({ name: "bank", version: "1.0.0" });
    server.registerTool("pay", { inputSchema: fromJsonSchema<{ n?: number; to?: string }>(inputSchema) }, (given) => {
      payments.push(given);
      return { content: [{ type: "text", text: `paid ${given.n}` }] };
    });
    return server;
  });
  const listener = async (body: string, { method = "", url, headers }: IncomingMessage, response: ServerResponse) => {
    const request = new Request(`http://127.0.0.1${url}`, {
      ...{ method, headers: headers as Record<string, string> },
      ...(body !== "" && { body }),
    });
    const answer = await handler.fetch(request);
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body === null) return void response.end();
    const stream = Readable.fromWeb(answer.body as Parameters<typeof Readable.fromWeb>[0]);
    response.on("close", () => stream.destroy());
    stream.on("error", () => undefined).pipe(response);
  };
  const url = await serving(recorded(heard, (...given) => void listener(...given)));
  return { url: `${url}/mcp`, payments, handler };
}

/** Returns what a governor needs, with a service that decides by `answering`. */
export function deciding(answering?: Answering, terms: Partial<GovernorOptions> = {}) {
  const notes: string[] = [];
  const { client, ...service } = fakeService(answering);
  const governor = { ...governorTerms, client, note: (text: string) => void notes.push(text), ...terms };
  return { governor, notes, ...service };
}

/** Serves the proxy in front of a server, until the test ends or `end`. */
export async function proxied(
  server: string,
  answering?: Answering,
  terms: Partial<ListenOptions> = {},
  governor?: Partial<GovernorOptions>,
) {
  const service = deciding(answering, governor);
  const ending = new AbortController();
  let listening: (url: string) => void = () => undefined;
  const listened = new Promise<string>((resolve) => (listening = resolve));
  const finished = listenForClients({
    ...{ governor: service.governor, server_url: new URL(server), headers: {}, host: "127.0.0.1", port: 0 },
    ...{ hosts: ["127.0.0.1"], origins: [], keep_alive_ms: 60_000, patience_ms: 60_000, signal: ending.signal },
    onListening: listening,
    ...terms,
  });
  const end = async () => {
    ending.abort();
    await finished;
  };
  onTestFinished(end);
  return { url: await Promise.race([listened, finished.then(() => "")]), end, ...service };
}

/** Serves a client on standard streams, until the test ends. */
export function bridged(server: string, ...given: Parameters<typeof deciding>) {
  const service = deciding(...given);
  const [input, output] = [new PassThrough(), new PassThrough()];
  const ending = new AbortController();
  const finished = bridgeToServer({
    ...{ ...service.governor, session_id: "s", server_url: new URL(server), headers: { authorization: "Bearer own" } },
    ...{ input, output, signal: ending.signal, patience_ms: 60_000 },
  });
  onTestFinished(async () => {
    ending.abort();
    await finished;
  });
  return { input, output, finished, ...service };
}
