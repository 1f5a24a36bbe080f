import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { writeLines, writeReply } from "./respond.ts";

const large = "x".repeat(20_000_000);
const reply = (text: string) => ({ status: 200, text, headers: {} });

/** The client has sent `requests` requests and reads nothing. */
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

test("a client that reads nothing is disconnected after five minutes; one that reads becomes an idle connection", async () => {
  const { client, served } = await unread(1, (response) => writeReply(response, reply(large), "req_1", null));
  expect(served.timeout).toBe(300_000);
  client.resume();
  await expect.poll(() => served.timeout).not.toBe(300_000);
  expect(served.destroyed).toBe(false);

  const other = await unread(1, (response) => writeReply(response, reply(large), "req_1", null));
  // Node's timer fires when nothing could be written for this time.
  other.served.emit("timeout");
  await expect.poll(() => other.served.destroyed).toBe(true);
});

test("while more than 64 MiB of answers wait, further clients are disconnected after 30 s, or 120 s behind others", async () => {
  const stand = () => unread(1, (response) => writeReply(response, reply(large), "req_1", null));
  const standing = [await stand(), await stand(), await stand()] as const;
  expect(standing.map(({ served }) => served.timeout)).toEqual([300_000, 300_000, 300_000]);
  expect((await stand()).served.timeout).toBe(30_000);
  const behind = await unread(2, (response, n) => {
    if (n === 1) writeReply(response, reply(large), "req_2", null);
  });
  expect(behind.served.timeout).toBe(120_000);

  // Both clients free memory: one leaves, the other reads its answer.
  for (const { served } of [standing[0], behind]) {
    const gone = once(served, "close");
    served.destroy();
    await gone;
  }
  standing[1].client.resume();
  await expect.poll(() => standing[1].served.timeout).not.toBe(300_000);
  expect((await stand()).served.timeout).toBe(300_000);
});

test("data from a client that reads nothing does not extend its time, and is read after it has read its answer", async () => {
  let asked = 0;
  const { client, served } = await unread(1, (response) => {
    asked += 1;
    writeReply(response, reply(asked === 1 ? large : "{}"), "req_1", null);
  });
  // Each line that is read would restart the socket's timer.
  await expect.poll(() => served.isPaused()).toBe(true);
  client.write("\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n");
  client.resume();
  await expect.poll(() => asked).toBe(2);
});

test("the second of two answers has a limit, too, after the first is read", async () => {
  const answers: ServerResponse[] = [];
  const { client, served } = await unread(2, (response) => {
    answers.push(response);
    writeReply(response, reply(large), "req_1", null);
  });
  let taken = 0;
  client.on("data", ({ length }) => {
    taken += length;
    if (taken > large.length + 1_000) client.pause();
  });
  await expect.poll(() => client.isPaused()).toBe(true);
  await expect.poll(() => answers.map((each) => each.writableFinished)).toEqual([true, false]);
  expect(served.timeout).toBe(300_000);
  await expect.poll(() => served.isPaused()).toBe(true);
});

test("an answer that is read at once has no limit", async () => {
  const { client, served } = await unread(1, (response) => writeReply(response, reply("{}"), "req_1", null));
  client.resume();
  await once(client, "data");
  expect(served.timeout).not.toBe(300_000);
});

test("an answer behind a pending one has its limit, and no limit is left when all are read", async () => {
  let first: (() => void) | undefined;
  const { client, served } = await unread(2, (response, n) => {
    if (n === 0) first = () => writeReply(response, reply("{}"), "req_1", null);
    else writeReply(response, reply(large), "req_2", null);
  });
  expect(served.timeout).toBe(300_000);
  first?.();
  expect(served.timeout).toBe(300_000);
  client.resume();
  await expect.poll(() => served.timeout).not.toBe(300_000);
  expect(served.destroyed).toBe(false);
});

test("unread lines have a limit, too; no listener is left after a wait", async () => {
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
  await expect.poll(() => served.timeout).toBe(300_000);
  const waiting = response?.listenerCount("close");
  let taken = 0;
  client.on("data", ({ length }) => {
    taken += length;
    if (taken > 50_000_000) client.pause();
  });
  await expect.poll(() => client.isPaused()).toBe(true);
  await expect.poll(() => served.timeout).toBe(300_000);
  expect(response?.listenerCount("close")).toBe(waiting);
  served.emit("timeout");
  expect(await over).toBeNull();
  expect(served.destroyed).toBe(true);
});
