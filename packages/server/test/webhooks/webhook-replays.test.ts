/** Test events, the list of deliveries, and replays of a time range. */
import { expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { testReceiver } from "../../src/testing/network/receiver.ts";
import { webhookNode, webhookOrganization } from "../../src/testing/nodes/webhook-node.ts";

const database = await testDatabase();
const { url } = await webhookNode(database);
const newOrg = () => webhookOrganization(database, url);

async function settledOrg() {
  const org = await newOrg();
  const answers = { status: 200 };
  const receiver = await testReceiver((response) => response.writeHead(answers.status).end());
  const { id } = await org.register(receiver.url, { event_types: ["decision.approved"] });
  const settled = (count: number) =>
    expect.poll(async () => (await org.deliveries()).filter(({ status }) => status !== "pending").length).toBe(count);
  return { org, id, receiver, answers, settled };
}

test("a test event is signed and delivered, whatever the webhook subscribed to, and can be read until it is settled", async () => {
  const { org, id, receiver } = await settledOrg();
  const sent = await org.api("POST", `/${id}/test`);
  expect(sent.status).toBe(202);
  const { delivery_id } = sent.json.delivery;
  const one = `/deliveries?delivery_id=${delivery_id}`;
  const delivery = async () => (await org.api("GET", one)).json.deliveries[0];
  await expect.poll(async () => (await delivery()).status).toBe("delivered");
  expect(await delivery()).toMatchObject({ event_type: "webhook.test", response_status: 200, intent_id: null });
  expect(receiver.received.map((each) => each.headers["x-service-event"])).toEqual(["webhook.test"]);
  expect(JSON.parse(receiver.received[0]?.body ?? "")).toMatchObject({ event_type: "webhook.test", webhook_id: id });
  const other = await newOrg();
  expect((await other.api("POST", `/${id}/test`)).status).toBe(404);
  expect((await other.api("GET", one)).json.deliveries).toEqual([]);
  await org.api("PATCH", `/${id}`, { active: false });
  expect((await org.api("POST", `/${id}/test`)).json.error.code).toBe("state_conflict");
});

test("the list of deliveries is filtered by webhook, status and time, and has pages", async () => {
  const { org, id, answers, settled } = await settledOrg();
  const idle = await org.register("https://hooks.example.com/x", { event_types: ["quota.exceeded"] });
  const before = new Date().toISOString();
  for (const status of [200, 500, 200]) {
    answers.status = status;
    await org.submit();
    await settled((await org.deliveries()).length);
    await expect
      .poll(async () => (await org.deliveries()).at(-1)?.status)
      .toBe(status === 200 ? "delivered" : "failed");
  }
  const list = async (query: string) => (await org.api("GET", `/deliveries${query}`)).json;
  const ids = async (query: string) =>
    (await list(query)).deliveries.map((each: { delivery_id: string }) => each.delivery_id);
  const all = (await org.deliveries()).map(({ delivery_id }) => delivery_id).reverse();
  expect(await ids("")).toEqual(all);
  expect(await ids("?status=failed")).toEqual([all[1]]);
  expect(await ids(`?webhook_id=${idle.id}`)).toEqual([]);
  expect(await ids(`?webhook_id=${id}&from=${before}`)).toEqual(all);
  expect(await ids(`?to=${before}`)).toEqual([]);
  const first = await list("?limit=2");
  expect(await ids(`?limit=2&cursor=${first.next_cursor}`)).toEqual([all[2]]);
  const agent = (await org.key({ role: "agent" })).api_key;
  expect((await org.api("GET", "/deliveries", undefined, agent)).status).toBe(403);
  expect((await (await newOrg()).api("GET", "/deliveries")).json.deliveries).toEqual([]);
});

test("a replay sends failed events of the range again, once, or with `all` also those that were delivered", async () => {
  const { org, id, receiver, answers, settled } = await settledOrg();
  const from = new Date().toISOString();
  const good = await org.submit();
  await settled(1);
  answers.status = 500;
  const bad = await org.submit();
  await settled(2);
  answers.status = 200;
  const to = new Date(Date.now() + 60_000).toISOString();
  const replay = (body: object) => org.api("POST", `/${id}/replay`, body);
  const sentBy = async (body: object) =>
    (await replay(body)).json.deliveries.map((each: { intent_id: string }) => each.intent_id);

  expect(await sentBy({ from: "2020-01-01T00:00:00Z", to: from })).toEqual([]);
  expect(await sentBy({ from, to })).toEqual([bad]);
  await settled(3);
  expect(receiver.received.at(-1)?.headers["x-service-retry"]).toBe("true");
  expect(await sentBy({ from, to })).toEqual([]);
  expect(await sentBy({ from, to, which: "all" })).toEqual([bad, good]);
  await settled(5);
  const page = await org.api("POST", `/${id}/replay?limit=1`, { from, to, which: "all" });
  expect(page.json.next_cursor).not.toBeNull();

  const agent = (await org.key({ role: "agent" })).api_key;
  expect((await org.api("POST", `/${id}/replay`, { from, to }, agent)).status).toBe(403);
  expect((await (await newOrg()).api("POST", `/${id}/replay`, { from, to })).status).toBe(404);
  await org.api("PATCH", `/${id}`, { active: false });
  expect((await replay({ from, to })).json.error.code).toBe("state_conflict");
});
