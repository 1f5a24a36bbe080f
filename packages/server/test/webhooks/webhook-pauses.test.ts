/** Health, alerts by mail, the pause, and what is kept meanwhile. */
import { expect, test } from "vitest";
import type { Mail } from "../../src/ports.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { testReceiver } from "../../src/testing/network/receiver.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { webhookNode, webhookOrganization } from "../../src/testing/nodes/webhook-node.ts";
import { testPerson } from "../../src/testing/people/person.ts";

const database = await testDatabase();
const mails: Mail[] = [];
const mailer = { delivers: true, send: async (mail: Mail) => void mails.push(mail) };
const { url } = await webhookNode(database, { mailer });
const newOrg = () => webhookOrganization(database, url);

async function failingOrg(settings: object) {
  const org = await newOrg();
  await testPerson(database.db, org.org_id, { role: "admin" });
  const answers = { status: 500 };
  const receiver = await testReceiver((response) => response.writeHead(answers.status).end());
  const { id } = await org.register(receiver.url, settings);
  const failed = async (count: number) => expect.poll(async () => (await org.failed()).length).toBe(count);
  const webhook = async () => (await org.api("GET", `/${id}`)).json.webhook;
  return { org, id, receiver, answers, failed, webhook };
}

test("after the set number of failed deliveries the webhook is paused, keeps events as failed, and resumes with one call", async () => {
  mails.length = 0;
  const { org, id, receiver, answers, failed, webhook } = await failingOrg({ pause_after_failures: 2 });
  await org.submit();
  await failed(1);
  expect((await webhook()).paused_at).toBeNull();
  await org.submit();
  await expect.poll(async () => (await webhook()).paused_at).not.toBeNull();
  await expect.poll(() => mails.length).toBe(1);
  expect(mails[0]).toMatchObject({ subject: "A webhook is paused" });
  expect(mails[0]?.text).not.toContain("/hook");

  const attempts = receiver.received.length;
  const kept = await org.submit();
  await failed(3);
  expect(receiver.received.length).toBe(attempts);
  const [newest] = await org.failed();
  expect(newest).toMatchObject({
    intent_id: kept,
    attempts: [],
    error: "The webhook was paused, so the service sent nothing.",
  });
  expect((await org.api("POST", `/deliveries/${newest.delivery_id}/retry`)).json.error.code).toBe("state_conflict");
  expect((await org.api("POST", `/${id}/test`)).json.error.code).toBe("state_conflict");
  expect((await org.api("POST", "/deliveries/failed/retry")).json.deliveries).toEqual([]);

  answers.status = 200;
  const agent = (await org.key({ role: "agent" })).api_key;
  expect((await org.api("POST", `/${id}/resume`, undefined, agent)).status).toBe(403);
  const operator = (await org.key({ role: "operator" })).api_key;
  const resumed = await org.api("POST", `/${id}/resume`, undefined, operator);
  expect(resumed.json.webhook).toEqual({ ...(await webhook()), paused_at: null });
  expect((await org.api("POST", `/deliveries/failed/retry?webhook_id=${id}`)).json.deliveries).toHaveLength(3);
  await expect.poll(() => receiver.received.length).toBe(attempts + 3);
  const { json } = await call(url, "GET", "/v1/audit?limit=200", { key: org.api_key });
  const types = json.audit
    .map((each: { type: string }) => each.type)
    .filter((type: string) => /^webhook_[pr]/.test(type));
  expect(types).toEqual(["webhook_resumed", "webhook_paused"]);
});

test("without the setting nothing pauses, and the alert is one mail until a delivery succeeds", async () => {
  mails.length = 0;
  const { org, answers, receiver, failed, webhook } = await failingOrg({ alert_after_failures: 1 });
  await org.submit();
  await failed(1);
  await expect.poll(() => mails.length).toBe(1);
  expect(mails[0]).toMatchObject({ subject: "A webhook does not accept events" });
  await org.submit();
  await failed(2);
  answers.status = 200;
  await org.submit();
  await expect.poll(() => receiver.received.length).toBe(7);
  answers.status = 500;
  await org.submit();
  await failed(3);
  await expect.poll(() => mails.length).toBe(2);
  expect((await webhook()).paused_at).toBeNull();
});

test("health counts attempts, successes, p95, the last success and failures in a row", async () => {
  const { org, id, answers, failed } = await failingOrg({});
  const health = async () => (await org.api("GET", "/health")).json.health[0];
  expect(await health()).toMatchObject({
    ...{ webhook_id: id, attempts: 0, accepted: 0, success_rate: null, p95_ms: null, failures_in_row: 0 },
    ...{ last_success_at: null, last_failure_at: null },
  });
  await org.submit();
  await failed(1);
  expect(await health()).toMatchObject({
    attempts: 3,
    accepted: 0,
    success_rate: 0,
    failures_in_row: 1,
    last_success_at: null,
  });
  answers.status = 200;
  await org.submit();
  await expect.poll(async () => (await health()).accepted).toBe(1);
  const found = await health();
  expect(found).toMatchObject({ attempts: 4, success_rate: 0.25, failures_in_row: 0 });
  expect(found.p95_ms).toBeGreaterThan(0);
  expect(Date.parse(found.last_success_at)).toBeGreaterThanOrEqual(Date.parse(found.last_failure_at));
  expect((await (await newOrg()).api("GET", "/health")).json.health).toEqual([]);
});

test("switching a paused webhook off and on ends the pause", async () => {
  const { org, id, failed, webhook } = await failingOrg({ pause_after_failures: 1 });
  await org.submit();
  await failed(1);
  await expect.poll(async () => (await webhook()).paused_at).not.toBeNull();
  for (const active of [false, true])
    expect((await org.api("PATCH", `/${id}`, { active })).json.webhook).toMatchObject({ active, paused_at: null });
  expect((await webhook()).paused_at).toBeNull();
});
