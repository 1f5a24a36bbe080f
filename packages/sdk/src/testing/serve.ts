import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { createClient } from "../index.ts";

interface Received {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** Serves the answers in order (the last one repeatedly) and records the requests. */
export async function serve(...answers: ((response: ServerResponse) => void)[]) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    received.push({ method: request.method, url: request.url, headers: request.headers, body });
    answers[Math.min(received.length, answers.length) - 1]?.(response);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const waits: number[] = [];
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const wait = async (wait_ms: number) => void waits.push(wait_ms);
  return { received, waits, base_url, client: createClient({ base_url, api_key: "svc_test_org_x", wait }) };
}

export const json =
  (status: number, body: unknown, headers = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
