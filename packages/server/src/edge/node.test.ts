import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { testDatabase } from "../testing/database/database.ts";
import { call } from "../testing/nodes/http-node.ts";
import { serviceNode } from "../testing/nodes/service-node.ts";
import { heldBody, reviewedOrganization } from "../testing/people/review.ts";
import { timers } from "./timers.ts";

const database = await testDatabase();

test("a failed assembly of a node closes its connection to Redis, which would keep the process alive", async () => {
  const callers: (number | undefined)[] = [];
  const redis = createServer((socket) => {
    callers.push(socket.remotePort);
    socket.destroy();
  });
  redis.listen(0, "127.0.0.1");
  await once(redis, "listening");
  onTestFinished(() => void redis.close());
  const { port } = redis.address() as AddressInfo;
  const lost = new Error("the database is gone");
  const db = { ...database.db, named: () => Promise.reject(lost) };
  const config = { redis_url: `redis://127.0.0.1:${port}` };
  await expect(serviceNode({ ...database, db }, { config })).rejects.toBe(lost);
  // Connections are accepted in order.
  const ours = connect(port, "127.0.0.1");
  await once(ours, "connect");
  const { localPort } = ours;
  await expect.poll(() => callers).toContain(localPort);
  expect(callers).toEqual([localPort]);
  ours.destroy();
});

test("a draining node is not ready but serves requests until the drain time is over", async () => {
  const drain_ms = 7_000;
  let drained = () => {};
  const after: typeof timers.after = (wait_ms, run) => {
    if (wait_ms !== drain_ms) return timers.after(wait_ms, run);
    drained = run;
    return () => undefined;
  };
  const { app, close, url } = await serviceNode(database, { timers: { after } });
  const { agent } = await reviewedOrganization(database.db, url);
  const closing = close(drain_ms);
  expect((await call(url, "GET", "/readyz")).status).toBe(503);
  expect((await call(url, "POST", "/v1/intents", { key: agent, body: heldBody })).status).toBe(201);
  drained();
  await closing;
  expect(app.server.listening).toBe(false);
});
