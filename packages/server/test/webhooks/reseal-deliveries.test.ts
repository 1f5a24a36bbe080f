import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { createSealer } from "../../src/edge/start/sealer.ts";
import { resealAll } from "../../src/operations/upkeep/reseal.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { testReceiver } from "../../src/testing/network/receiver.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { webhookNode, webhookOrganization } from "../../src/testing/nodes/webhook-node.ts";

const [former_key, current_key] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const webhooks = 20;
const rounds = 10;

test("the master key is replaced while deliveries run", async () => {
  const database = await testDatabase();
  const ring = createSealer(current_key, [former_key]);
  const former = await webhookNode(database, { sealer: createSealer(former_key, [current_key]) });
  const org = await webhookOrganization(database, former.url);
  // Refuses every first attempt, so that secrets are opened before and after the reseal.
  const seen = new Set<string>();
  const receiver = await testReceiver((response, { headers }) => {
    const id = String(headers["x-service-delivery"]);
    response.writeHead(seen.has(id) ? 204 : 503).end();
    seen.add(id);
  });
  const secrets = new Map<string, string>();
  for (let n = 0; n < webhooks; n += 1) {
    const { secret } = await org.register(`${receiver.url}/${n}`);
    secrets.set(`/hook/${n}`, secret);
  }

  const submitting = (async () => {
    for (let n = 0; n < rounds; n += 1) await org.submit();
  })();
  const [done] = await Promise.all([resealAll({ db: database.db, ring }, () => undefined, 3), submitting]);
  expect(done.find(({ place }) => place === "webhooks")).toMatchObject({ resealed: webhooks, unreadable: 0 });
  const statuses = async () => (await org.deliveries()).map(({ status }) => status);
  await expect.poll(statuses).toEqual(Array(webhooks * rounds).fill("delivered"));
  await former.close();

  const alone = await webhookNode(database, { sealer: createSealer(current_key) });
  const intent = { agent: { id: "agent-1" }, action: { type: "communication.email", verb: "send_email" } };
  await call(alone.url, "POST", "/v1/intents", { key: org.api_key, body: { intent } });
  await expect.poll(statuses).toEqual(Array(webhooks * (rounds + 1)).fill("delivered"));
  expect(receiver.received).toHaveLength(2 * webhooks * (rounds + 1));
  for (const { headers, body, path } of receiver.received) {
    const signature = createHmac("sha256", secrets.get(path) as string).update(body);
    expect(headers["x-service-signature"]).toBe(`sha256=${signature.digest("hex")}`);
  }
});
