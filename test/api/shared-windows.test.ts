/** Nodes that share a Redis count rate windows together, exact to the request. */
import { randomBytes } from "node:crypto";
import { afterAll, expect, test } from "vitest";
import { openRedisRateWindows } from "../../packages/server/src/store/rate-windows/rate-windows-redis.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call, httpNode, testOrganization } from "../../packages/server/src/testing/nodes/http-node.ts";
import { silentLog } from "../../packages/server/src/testing/nodes/silent-log.ts";

const redis_url = process.env["REDIS_URL"] || null;
const { db } = await testDatabase();
const open: { close(): void }[] = [];
afterAll(() => {
  for (const windows of open) windows.close();
});

async function sharingNode(url: string, prefix: string) {
  // A long timeout: this tests counting, and a busy machine easily exceeds 50 ms.
  const windows = openRedisRateWindows({
    url,
    prefix,
    log: silentLog,
    onDegraded: () => undefined,
    onAlone: () => undefined,
    answer_ms_max: 30_000,
  });
  open.push(windows);
  return httpNode(db, { windows, rate_limits: {} });
}
const prefix = `countersign-test-${randomBytes(6).toString("hex")}:`;
const nodes = redis_url === null ? [] : [await sharingNode(redis_url, prefix), await sharingNode(redis_url, prefix)];

test.skipIf(redis_url === null)("500 requests at once over two nodes: exactly 120 pass, the rest are 429", async () => {
  const body = { intent: { agent: { id: "a" }, action: { verb: "v" } } };
  const submit = (at: number, key: string) => call(nodes[at % 2]?.url ?? "", "POST", "/v1/intents", { key, body });
  // A node counts alone until it is connected. Wait until each node sees the other's count.
  const remaining = async (at: number, key: string) =>
    Number((await submit(at, key)).headers.get("ratelimit-remaining"));
  const newKey = async () => (await (await testOrganization(db)).key()).api_key;
  await expect
    .poll(async () => {
      const key = await newKey();
      return [await remaining(0, key), await remaining(1, key), await remaining(0, key)];
    })
    .toEqual([119, 118, 117]);
  const key = await newKey();
  const answers = await Promise.all(Array.from({ length: 500 }, (_, at) => submit(at, key)));
  const statuses = answers.map((answer) => answer.status);
  expect([201, 429].map((status) => statuses.filter((each) => each === status).length)).toEqual([120, 380]);
});
