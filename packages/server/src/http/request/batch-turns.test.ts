import { expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { httpNode, testOrganization } from "../../testing/nodes/http-node.ts";
import { createBatchTurns } from "./batch-turns.ts";

const turns = () => createBatchTurns(100);

/** Starts work that ends when the test says so. */
function begin(within: ReturnType<typeof turns>["within"], holder: string, bytes: number) {
  let begun = false;
  let end = (): void => undefined;
  const ended = within(holder, bytes, () => {
    begun = true;
    return new Promise<void>((resolve) => {
      end = resolve;
    });
  });
  const over = () => {
    end();
    return ended;
  };
  return { begun: () => begun, end: over };
}
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

test("work runs while it fits, to the last byte; the rest waits in the order of arrival", async () => {
  const { within } = turns();
  const [one, two, three, four] = [60, 40, 1, 1].map((bytes) => begin(within, "a", bytes));
  await settled();
  expect([one, two, three, four].map((each) => each?.begun())).toEqual([true, true, false, false]);
  await two?.end();
  expect([three?.begun(), four?.begun()]).toEqual([true, true]);
});

test("a small one does not overtake a waiting large one, and a large one runs alone", async () => {
  const { within } = turns();
  const first = begin(within, "a", 10);
  const large = begin(within, "a", 5_000);
  const small = begin(within, "a", 1);
  await settled();
  expect([large.begun(), small.begun()]).toEqual([false, false]);
  await first.end();
  expect([large.begun(), small.begun()]).toEqual([true, false]);
  await large.end();
  expect(small.begun()).toBe(true);
});

test("callers do not wait for each other, and a failure frees its room", async () => {
  const { within } = turns();
  begin(within, "a", 100);
  expect(await within("b", 100, async () => "b")).toBe("b");
  await expect(within("c", 100, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await within("c", 100, async () => "c")).toBe("c");
});

/** Starts a node whose batches end when the test says so. */
async function nodeWithBatches() {
  const { db } = await testDatabase();
  const ends: (() => void)[] = [];
  const answered = { status: 200, body: { results: [], total: 0, succeeded: 0, failed: 0 } };
  const submitIntentBatch = () => new Promise<typeof answered>((resolve) => ends.push(() => resolve(answered)));
  const node = await httpNode(db, { handlers: { submitIntentBatch } });
  const key = async () => (await (await testOrganization(db)).key({ role: "agent" })).api_key;
  const connections = () => new Promise<number>((resolve) => node.app.server.getConnections((_, n) => resolve(n)));
  const send = (api_key: string, signal?: AbortSignal) =>
    fetch(`${node.url}/v1/intents/batch`, {
      method: "POST",
      headers: { "X-API-Key": api_key, "Content-Type": "application/json" },
      body: JSON.stringify({ intents: [{ x: "a".repeat(160_000) }] }),
      ...(signal !== undefined && { signal }),
    });
  return { key, send, ends, connections };
}

test("two batches of 160 KB of one key are decided at once, another key's beside them, and not one of a client that left", async () => {
  const { key, send, ends, connections } = await nodeWithBatches();
  const [busy, other] = await Promise.all([key(), key()]);
  const sent = [send(busy), send(busy)];
  await expect.poll(() => ends.length).toBe(2);
  const leaving = new AbortController();
  const left = send(busy, leaving.signal).catch(() => "left");
  sent.push(send(other));
  await expect.poll(() => ends.length).toBe(3);
  await expect.poll(connections).toBe(4);
  leaving.abort();
  expect(await left).toBe("left");
  await expect.poll(connections).toBe(3);
  const last = send(busy);
  ends[2]?.();
  expect((await sent[2])?.status).toBe(200);
  expect(ends).toHaveLength(3);
  ends[0]?.();
  await expect.poll(() => ends.length).toBe(4);
  for (const end of ends) end();
  for (const each of [...sent, last]) expect((await each).status).toBe(200);
  expect(ends).toHaveLength(4);
});
