import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call, testOrganization } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";

const database = await testDatabase();
const submission = { intent: { agent: { id: "a" }, action: { type: "communication.email", verb: "send" } } };

async function node() {
  const started = await serviceNode(database);
  const { api_key } = await (await testOrganization(database.db)).key();
  return { ...started, api_key };
}

/** Opens a raw connection and sends `text`. `closed` resolves when the other side ends it. */
async function connected(
  url: string,
  text: string,
): Promise<{ socket: Socket; said: () => string; closed: Promise<void> }> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  let said = "";
  socket.on("data", (chunk) => {
    said += chunk;
  });
  socket.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  await new Promise<void>((resolve) => socket.once("connect", () => resolve()));
  socket.write(text);
  return { socket, said: () => said, closed };
}

/** Returns true if the promise settles within one turn of the event loop. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  void promise.then(() => {
    done = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return done;
}

test.each([
  ["nothing", ""],
  ["half a head", "GET /v1/me HTTP/1.1\r\nHost: x\r\nX-A"],
])("a connection that has sent %s is closed", async (_, text) => {
  const { url, close, app } = await node();
  const { closed } = await connected(url, text);
  await expect
    .poll(() => new Promise((resolve) => app.server.getConnections((_error, count) => resolve(count))))
    .toBe(1);
  const closing = close();
  await closed;
  await closing;
});

test("running requests on keep-alive connections are answered, then the connections close", async () => {
  const { url, close, app, api_key } = await node();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const body = JSON.stringify(submission);
  const headers = { "X-API-Key": api_key, "Content-Type": "application/json", "Content-Length": body.length };
  const sent = request(`${url}/v1/intents`, { method: "POST", agent, headers });
  const answered = once(sent, "response") as Promise<[IncomingMessage]>;
  sent.write(body.slice(0, 10));
  await once(app.server, "request");
  const closing = close();
  expect(await settled(closing)).toBe(false);
  sent.end(body.slice(10));
  const [answer] = await answered;
  answer.resume();
  expect([answer.statusCode, answer.headers.connection]).toEqual([201, "close"]);
  await closing;
  await expect(call(url, "GET", "/v1/me", { key: api_key })).rejects.toThrow();
});

test("pipelined requests are all answered before their connection closes", async () => {
  const { url, close, api_key } = await node();
  const body = JSON.stringify(submission);
  const post = `POST /v1/intents HTTP/1.1\r\nHost: x\r\nX-API-Key: ${api_key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const { said, closed } = await connected(url, post.repeat(3));
  await expect.poll(said).toContain("HTTP/1.1 201");
  await close();
  await closed;
  expect(said().match(/HTTP\/1\.1 201/g)).toHaveLength(3);
});

test("waits some time for a body that never arrives, then ends the node", async () => {
  const { url, close, app, api_key } = await node();
  const head = `POST /v1/intents HTTP/1.1\r\nHost: x\r\nX-API-Key: ${api_key}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`;
  const asked = once(app.server, "request");
  const { closed } = await connected(url, head);
  await asked;
  const closing = close();
  expect(await settled(closing)).toBe(false);
  await closing;
  await closed;
});
