/** What becomes of a client that does not read what it asked for. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { writeLines, writeReply } from "./respond.ts";

const large = "x".repeat(20_000_000);
const reply = (text: string) => ({ status: 200, text, headers: {} });

/** A server that answers as `answer` says, and a client that has asked it `requests` times and reads nothing yet. */
async function unread(requests: number, answer: (response: ServerResponse, n: number) => void) {
  let served: Socket | undefined;
  let asked = 0;
  const server = createServer((request, response) => {
    served = request.socket;
    answer(response, asked++);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  onTestFinished(() => void client.destroy());
  client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(requests));
  await expect.poll(() => asked).toBe(requests);
  return { client, served: served as Socket };
}

test("a client that takes nothing of its answer is given up after 30 s; one that takes it is an idle connection then", async () => {
  const { client, served } = await unread(1, (response) => writeReply(response, reply(large), "req_1", null));
  expect(served.timeout).toBe(30_000);
  client.resume();
  await expect.poll(() => served.timeout).not.toBe(30_000);
  expect(served.destroyed).toBe(false);

  const other = await unread(1, (response) => writeReply(response, reply(large), "req_1", null));
  // Node's timer says so when nothing could be written for so long.
  other.served.emit("timeout");
  await expect.poll(() => other.served.destroyed).toBe(true);
});

test("an answer that is read at once has no such limit", async () => {
  const { client, served } = await unread(1, (response) => writeReply(response, reply("{}"), "req_1", null));
  client.resume();
  await once(client, "data");
  expect(served.timeout).not.toBe(30_000);
});

test("one behind an answer that is still waited for has longer, and none is left once all are read", async () => {
  let first: (() => void) | undefined;
  const { client, served } = await unread(2, (response, n) => {
    if (n === 0) first = () => writeReply(response, reply("{}"), "req_1", null);
    else writeReply(response, reply(large), "req_2", null);
  });
  expect(served.timeout).toBe(120_000);
  first?.();
  expect(served.timeout).toBe(120_000);
  client.resume();
  await expect.poll(() => served.timeout).not.toBe(120_000);
  expect(served.destroyed).toBe(false);
});

test("lines that nobody reads are given up, too; each wait leaves nothing behind", async () => {
  let response: ServerResponse | undefined;
  let over: Promise<unknown> | undefined;
  const line = "x".repeat(1_000_000);
  async function* lines() {
    for (let n = 0; n < 100; n += 1) yield line;
  }
  const { client, served } = await unread(1, (each) => {
    response = each;
    over = writeLines(each, { status: 200, lines: lines() }, "req_1", null);
  });
  await expect.poll(() => served.timeout).toBe(30_000);
  const waiting = response?.listenerCount("close");
  let taken = 0;
  client.on("data", ({ length }) => {
    taken += length;
    if (taken > 50_000_000) client.pause();
  });
  await expect.poll(() => client.isPaused()).toBe(true);
  await expect.poll(() => served.timeout).toBe(30_000);
  expect(response?.listenerCount("close")).toBe(waiting);
  served.emit("timeout");
  expect(await over).toBeNull();
  expect(served.destroyed).toBe(true);
});
