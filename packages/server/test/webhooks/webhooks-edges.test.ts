import { readFileSync } from "node:fs";
import { deliveryFailureText, publicHttpsOnly } from "@countersign/core";
import { expect, test, vi } from "vitest";
import { createHttpOut } from "../../src/edge/outgoing/http-out.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { meanwhile } from "../../src/testing/meanwhile.ts";
import { type Received, testReceiver } from "../../src/testing/network/receiver.ts";
import { call, testOrganization } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { webhookNode, webhookOrganization } from "../../src/testing/nodes/webhook-node.ts";
import { reviewedOrganization } from "../../src/testing/people/review.ts";

vi.setConfig({ testTimeout: 120_000 });

const database = await testDatabase();
const { url } = await webhookNode(database);
const patience = { timeout: 60_000, interval: 20 };
const path = "/v1/escalations/webhooks";
const corpus: { url: string; expect: "accept" | "refuse"; why: string }[] = JSON.parse(
  readFileSync(new URL("../../../../test/data/webhook-urls.json", import.meta.url), "utf8"),
);

test("every URL of the collection is accepted or refused as the guard decides, and stored as parsed", async () => {
  // Sends nothing: names resolve to a public address, and no event happens.
  const httpOut = createHttpOut({ rules: publicHttpsOnly, resolve: async () => ["1.1.1.1"] });
  const guarded = await serviceNode(database, { httpOut });
  const { api_key: key } = await (await testOrganization(database.db)).key();
  const answers = new Map<string, string>();
  const answer = async (receiver: string) => {
    const { status, json } = await call(guarded.url, "POST", path, { key, body: { url: receiver } });
    answers.set(receiver, status === 201 ? "accept" : status === 400 ? json.error.code : `status ${status}`);
    if (status === 201) expect(json.webhook.url).toBe(new URL(receiver).href);
  };
  // Registrations of one organization wait for each other, so more in parallel would not be faster.
  for (let n = 0; n < corpus.length; n += 5) await Promise.all(corpus.slice(n, n + 5).map((each) => answer(each.url)));
  // A request's text with NUL is refused before the URL check.
  const refusal = (text: string) => (text.includes("\0") ? "invalid_request" : "webhook_url_refused");
  expect(Object.fromEntries(answers)).toEqual(
    Object.fromEntries(corpus.map((each) => [each.url, each.expect === "accept" ? "accept" : refusal(each.url)])),
  );
  await guarded.close();
});

test("a webhook with escalation null, or without one, covers the whole organization", async () => {
  const { api_key: key } = await (await testOrganization(database.db)).key();
  const answer = await call(url, "POST", path, { key, body: { url: "https://127.0.0.1/x", escalation_id: null } });
  expect([answer.status, answer.json.webhook.escalation_id]).toEqual([201, null]);
});

test("a repeated registration gets the first answer, even if its receiver would now be refused", async () => {
  const strict = await serviceNode(database);
  const { api_key: key } = await (await testOrganization(database.db)).key();
  const request = { key, body: { url: "https://127.0.0.1/x" }, headers: { "Idempotency-Key": "moved" } };
  const first = await call(url, "POST", path, request);
  const again = await call(strict.url, "POST", path, request);
  expect([first.status, again.status]).toEqual([201, 200]);
  expect(again.json.webhook).toEqual({ ...first.json.webhook, secret: "***" });
  const other = await call(strict.url, "POST", path, { ...request, headers: { "Idempotency-Key": "new" } });
  expect([other.status, other.json.error.code]).toEqual([400, "webhook_url_refused"]);
  await strict.close();
});

test("nested lists are not event types, and another organization's escalation counts as missing", async () => {
  const org = await webhookOrganization(database, url);
  const other = await testOrganization(database.db);
  const escalation_id = "esc_0000000000000000000000000C";
  await database.db.query(
    `insert into escalations (org_id, escalation_id, intent_id, decision_id, agent_id, mode, status, record, created_at, expires_at, demands)
     values ($1, $2, 'int_x', 'dec_x', 'a', 'live', 'pending', '{}', '2026-01-01', '2100-01-01', '[]')`,
    [other.org_id, escalation_id],
  );
  const hook = "https://hooks.example.com/x";
  const nested = await org.api("POST", "", { url: hook, event_types: [["decision.approved"]] });
  expect([nested.status, nested.json.error.code]).toEqual([400, "invalid_request"]);
  const foreign = await org.api("POST", "", { url: hook, escalation_id });
  const unknown = await org.api("POST", "", { url: hook, escalation_id: "esc_0000000000000000000000000D" });
  expect([foreign.status, unknown.status]).toEqual([404, 404]);
  expect(unknown.json.error.details).toEqual([
    { path: "/escalation_id", code: "not_found", message: "There is no such escalation." },
  ]);
  expect({ ...foreign.json.error, request_id: "" }).toEqual({ ...unknown.json.error, request_id: "" });
  expect((await org.api("GET", "")).json.webhooks).toEqual([]);
});

test("a decision without a listening webhook leaves no event; after a change of types it does, on any node", async () => {
  // Disables dispatching, so that events stay in the database.
  const quiet = await testDatabase();
  const deliveries = () => ({ wake: () => undefined, stop: async () => undefined });
  const [one, two] = [await webhookNode(quiet, { deliveries }), await webhookNode(quiet, { deliveries })];
  const here = await webhookOrganization(quiet, one.url);
  const submit = async (url: string) => {
    const intent = { agent: { id: "agent-1" }, action: { type: "communication.email", verb: "send_email" } };
    const { json } = await call(url, "POST", "/v1/intents", { key: here.api_key, body: { intent } });
    const written = "select event_type from events where org_id = $1 and intent_id = $2";
    return (await quiet.db.query<{ event_type: string }>(written, [here.org_id, json.intent_id])).map(
      ({ event_type }) => event_type,
    );
  };
  const told = async () => [await submit(one.url), await submit(two.url)];
  expect(await told()).toEqual([[], []]);
  const { id } = await here.register("https://hooks.example.com/x", { event_types: ["decision.blocked"] });
  expect(await told()).toEqual([[], []]);
  const change = async (body: object) => expect((await here.api("PATCH", `/${id}`, body)).status).toBe(200);
  await change({ event_types: ["decision.blocked", "decision.approved"] });
  expect(await told()).toEqual([["decision.approved"], ["decision.approved"]]);
  await change({ active: false });
  expect(await told()).toEqual([[], []]);
  await change({ active: true });
  expect(await told()).toEqual([["decision.approved"], ["decision.approved"]]);
  await change({ event_types: ["quota.exceeded"] });
  expect(await told()).toEqual([[], []]);
  await here.register("https://hooks.example.com/y");
  expect(await told()).toEqual([["decision.approved"], ["decision.approved"]]);
});

test("a webhook that watches one escalation gets no events of decisions and quotas, even if it names them", async () => {
  const org = await webhookOrganization(database, url);
  const receiver = await testReceiver();
  const escalation_id = "esc_0000000000000000000000000E";
  await database.db.query(
    `insert into escalations (org_id, escalation_id, intent_id, decision_id, agent_id, mode, status, record, created_at, expires_at, demands)
     values ($1, $2, 'int_x', 'dec_x', 'a', 'live', 'pending', '{}', '2026-01-01', '2100-01-01', '[]')`,
    [org.org_id, escalation_id],
  );
  const event_types = ["decision.approved", "quota.exceeded", "escalation.cancelled"];
  await org.register(`${receiver.url}/all`, { event_types });
  await org.register(`${receiver.url}/one`, { event_types, escalation_id });
  const events = [
    ["evt_q", "quota.exceeded", null],
    ["evt_c", "escalation.cancelled", escalation_id],
  ] as const;
  for (const [event_id, event_type, about] of events) {
    await database.db.query(
      `insert into events (org_id, event_id, event_type, escalation_id, body, created_at)
       values ($1, $2, $3::text, $4, json_build_object('data', '{}'::json, 'event_type', $3::text), now())`,
      [org.org_id, event_id, event_type, about],
    );
  }
  await org.submit();
  await expect.poll(() => receiver.received.length, patience).toBe(4);
  await expect
    .poll(async () => (await org.deliveries()).map(({ status }) => status), patience)
    .toEqual(Array(4).fill("delivered"));
  const got = receiver.received.map((each) => `${each.path.slice(6)} ${each.headers["x-service-event"]}`).sort();
  expect(got).toEqual([
    "all decision.approved",
    "all escalation.cancelled",
    "all quota.exceeded",
    "one escalation.cancelled",
  ]);
});

test("a sealed secret moved to another webhook cannot be opened: nothing is sent, and the record says why", async () => {
  const org = await webhookOrganization(database, url);
  const receiver = await testReceiver();
  await org.register(`${receiver.url}/a`);
  await org.register(`${receiver.url}/b`);
  await database.db.query(
    `update webhooks w set secret_sealed = o.secret_sealed from webhooks o
     where w.org_id = $1 and o.org_id = $1 and o.webhook_id <> w.webhook_id`,
    [org.org_id],
  );
  await org.submit();
  await expect.poll(async () => (await org.failed()).length, patience).toBe(2);
  const failed: { error: string; attempts: { error: string }[] }[] = await org.failed();
  const errors = failed.flatMap(({ error, attempts }) => [error, ...attempts.map((each) => each.error)]);
  expect(new Set(errors)).toEqual(new Set([deliveryFailureText("secret_not_readable")]));
  expect(receiver.connections()).toBe(0);
});

test("nor can one moved with its webhook to another organization", async () => {
  const [from, to] = [await webhookOrganization(database, url), await webhookOrganization(database, url)];
  const receiver = await testReceiver();
  const { id } = await from.register(receiver.url);
  await to.register(receiver.url, { event_types: ["rate_limit.exceeded"] });
  await database.db.query("update webhooks set org_id = $2 where webhook_id = $1", [id, to.org_id]);
  await to.submit();
  await expect.poll(async () => (await to.failed()).length, patience).toBe(1);
  expect((await to.failed())[0].error).toBe(deliveryFailureText("secret_not_readable"));
  expect(receiver.connections()).toBe(0);
});

test("decisions of every mode are sent with their mode, and both kinds of approval under one event type", async () => {
  const { org, admin } = await reviewedOrganization(database.db, url);
  const trial = (await org.key({ environment: "test" })).api_key;
  const receiver = await testReceiver();
  const event_types = ["decision.approved"];
  const body = { url: receiver.url, event_types };
  expect((await call(url, "POST", path, { key: admin, body })).status).toBe(201);
  const modify = [{ op: "remove", path: "/secret" }];
  const spec = { when: "params.trim == true", effect: "approve_modified", modify };
  const policy = {
    ...{ apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "trim" } },
    spec: { ...spec, on_unknown: "skip" },
  };
  const saved = await call(url, "POST", "/v1/policies", { key: admin, body: { policy } });
  expect(saved.json).toMatchObject({ policy: { name: "trim" } });
  const activated = `/v1/policies/${saved.json.policy.policy_id}/activate`;
  expect((await call(url, "POST", activated, { key: admin, body: { mode: "live" } })).status).toBe(200);
  const action = { type: "other.form", verb: "share", target: { type: "person", identifier: "ann" } };
  const submit = async (key: string, query: string, content: object) => {
    const intent = { agent: { id: "agent-1" }, action, payload: { summary: "Share", content } };
    const { status, json } = await call(url, "POST", `/v1/intents${query}`, { key, body: { intent } });
    expect(status).toBe(201);
    return `${json.decision.pipeline_mode} ${json.decision.verdict}`;
  };
  const answered = [
    await submit(admin, "", { x: 1 }),
    await submit(admin, "?mode=shadow", { x: 1 }),
    await submit(trial, "", { x: 1 }),
    await submit(admin, "", { secret: "s", trim: true }),
  ];
  expect(answered).toEqual(["live approve", "shadow approve", "test approve", "live approve_modified"]);
  await expect.poll(() => receiver.received.length, patience).toBe(4);
  const told = receiver.received.map(({ headers, body: text }: Received) => {
    const { event_type, data } = JSON.parse(text);
    expect(headers["x-service-event"]).toBe(event_type);
    return `${data.pipeline_mode} ${data.verdict}`;
  });
  expect(told.sort()).toEqual([...answered].sort());
});

test("a change of a webhook that changes nothing leaves no audit row and makes no decision stale", async () => {
  const org = await webhookOrganization(database, url);
  const event_types = ["decision.blocked", "escalation.decided"];
  const given = { url: "https://hooks.example.com/x", description: "ours", event_types };
  const { id } = (await org.api("POST", "", given)).json.webhook;
  const epoch = async () =>
    (await database.db.query("select policy_epoch from org_heads where org_id = $1", [org.org_id]))[0];
  const changes = async () =>
    (await call(url, "GET", "/v1/audit?type=webhook_changed", { key: org.api_key })).json.audit.map(
      ({ data }: { data: object }) => data,
    );
  const before = await epoch();
  for (const body of [{}, { active: true }, given, { ...given, event_types: [...event_types, "decision.blocked"] }]) {
    const answer = await org.api("PATCH", `/${id}`, body);
    expect([answer.status, answer.json.webhook]).toMatchObject([200, { ...given, active: true, secret: "***" }]);
  }
  expect([await changes(), await epoch()]).toEqual([[], before]);
  await org.api("PATCH", `/${id}`, { active: false });
  expect(await changes()).toEqual([{ webhook_id: id, active: false }]);
});

test("after being off and on, a webhook gets no earlier event, not even one queued during the switch", async () => {
  const org = await webhookOrganization(database, url);
  const { id } = await org.register("https://receiver.test/");
  const change = (active: boolean) => org.api("PATCH", `/${id}`, { active });
  // Imitates a failed first attempt.
  const queue = (delivery_id: string) =>
    database.db.query(
      `insert into deliveries (org_id, delivery_id, webhook_id, event_id, event_type, body, status, attempts, outcomes, due_at, created_at)
       values ($1, $2, $3, 'evt_1', 'decision.blocked', '{}', 'pending', 1, '[]', now() + interval '1 hour', now())`,
      [org.org_id, delivery_id, id],
    );
  await queue("dlv_1");
  const hold = "select from org_heads where org_id = $1 for update";
  await meanwhile(database.db, (query) => query(hold, [org.org_id]), [() => change(false), () => queue("dlv_2")]);
  expect((await change(true)).json.webhook.active).toBe(true);
  await queue("dlv_3");
  expect((await change(true)).status).toBe(200);
  expect((await org.deliveries()).map(({ status }) => status)).toEqual(["cancelled", "cancelled", "pending"]);
});
