/** A webhook receiver with HTTPS. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { onTestFinished } from "vitest";
import { testCertificates } from "./certificates.ts";

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly bytes: Buffer;
  /** Of `performance.now`. */
  readonly at_ms: number;
  readonly path: string;
}

export interface Receiver {
  readonly port: number;
  /** `https://receiver.test:<port>/hook`; `resolveToLoopback` resolves it. */
  readonly url: string;
  readonly received: Received[];
  connections(): number;
  close(): Promise<void>;
}

export type AnswerWith = (response: ServerResponse, received: Received, request: IncomingMessage) => void;

export const resolveToLoopback = async (): Promise<string[]> => ["127.0.0.1"];

export async function testReceiver(
  answer: AnswerWith = (response) => response.end(),
  certificate: { cert: string; key: string } = testCertificates().good,
): Promise<Receiver> {
  const received: Received[] = [];
  const sockets = new Set<Duplex>();
  let connections = 0;
  const server = createServer({ ...certificate, keepAliveTimeout: 60_000 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const bytes = Buffer.concat(chunks);
      const one = {
        headers: request.headers,
        body: bytes.toString("utf8"),
        bytes,
        at_ms: performance.now(),
        path: request.url ?? "",
      };
      received.push(one);
      answer(response, one, request);
    });
  });
  server.on("connection", (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  async function close(): Promise<void> {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
  onTestFinished(close);
  return { port, url: `https://receiver.test:${port}/hook`, received, connections: () => connections, close };
}
