/** Source: decision 0013. */
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call, type TestOrganization, testOrganization } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";

const database = await testDatabase();
let url: string;
let org: TestOrganization;
let admin: string;
beforeAll(async () => {
  ({ url } = await serviceNode(database));
  org = await testOrganization(database.db);
  admin = (await org.key()).api_key;
  const { json } = await call(url, "GET", "/v1/membranes", { key: admin });
  await call(url, "POST", `/v1/membranes/${json.membranes[0].membrane_id}/go-live`, { key: admin });
});

const intent = { agent: { id: "a" }, action: { type: "communication.email", verb: "send_email" } };
const submit = (key: string, idempotency_key: string) =>
  call(url, "POST", "/v1/intents", { key, body: { intent }, headers: { "Idempotency-Key": idempotency_key } });

describe("a submission under an Idempotency-Key that another key has used", () => {
  test.each([
    ["another environment", { environment: "live" }, { environment: "test" }],
    ["another environment", { environment: "shadow" }, { environment: "live" }],
    ["another role", { role: "admin" }, { role: "agent" }],
    ["the same role, whose intents are hidden from each other", { role: "agent" }, { role: "agent" }],
    ["another agent scope", { role: "agent" }, { role: "agent", scope: "agent", agent_id: "a" }],
  ] as const)("is a new decision: %s", async (_name, one, other) => {
    const first = await submit((await org.key(one)).api_key, "shared");
    const second = await submit((await org.key(other)).api_key, "shared");
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.headers.get("idempotent-replayed")).toBeNull();
    expect(second.json.intent_id).not.toBe(first.json.intent_id);
    const modes = [first, second].map((answer) => answer.json.decision.pipeline_mode);
    expect(modes).toEqual([one, other].map((key) => ("environment" in key ? key.environment : "live")));
  });

  test("is a new decision in a batch, too", async () => {
    const body = { intents: [{ intent, idempotency_key: "in-batch" }] };
    const send = async (key: string) => (await call(url, "POST", "/v1/intents/batch", { key, body })).json.results[0];
    const first = await send((await org.key({ environment: "live" })).api_key);
    const second = await send((await org.key({ environment: "test" })).api_key);
    expect(second.intent_id).not.toBe(first.intent_id);
    expect(second.decision.pipeline_mode).toBe("test");
  });
});

test("a rotated key replays its predecessors' answers, through two rotations", async () => {
  const { api_key, key_id } = await org.key({ role: "agent" });
  const first = await submit(api_key, "before-rotation");
  let current = { api_key, key_id };
  for (let n = 0; n < 2; n++) {
    const { json } = await call(url, "POST", `/v1/api-keys/${current.key_id}/rotate`, { key: current.api_key });
    current = json;
    const again = await submit(current.api_key, "before-rotation");
    expect([again.status, again.text]).toEqual([200, first.text]);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
  }
});

describe("other creating operations", () => {
  const observe = (key: string, intent_id: string, idempotency_key: string) =>
    call(url, "POST", `/v1/intents/${intent_id}/observations`, {
      key,
      body: { status: "executed" },
      headers: { "Idempotency-Key": idempotency_key },
    });
  const anonymous = (text: string) => text.replace(/req_\w+/, "");

  test("an observation replayed by a key that may not see its intent is refused like a first one", async () => {
    const mine = (await org.key({ role: "agent" })).api_key;
    const { intent_id } = (await submit(mine, "observed")).json;
    expect((await observe(mine, intent_id, "o-1")).status).toBe(201);
    expect((await observe(mine, intent_id, "o-1")).status).toBe(200);
    const strangers = [
      (await org.key({ role: "agent" })).api_key,
      (await org.key({ role: "agent", scope: "agent", agent_id: "b" })).api_key,
      (await (await testOrganization(database.db)).key()).api_key,
    ];
    for (const key of strangers) {
      const first = await observe(key, intent_id, "never-used");
      const replay = await observe(key, intent_id, "o-1");
      expect([first.status, replay.status]).toEqual([404, 404]);
      expect(anonymous(replay.text)).toBe(anonymous(first.text));
    }
  });

  test("two operators' observations under one idempotency key are two", async () => {
    const { intent_id } = (await submit(admin, "seen-by-both")).json;
    const observed = [];
    for (let n = 0; n < 2; n++) {
      const { api_key } = await org.key({ role: "operator" });
      const { status, json } = await observe(api_key, intent_id, "o-2");
      expect(status).toBe(201);
      observed.push(json.observation.observation_id);
    }
    expect(new Set(observed).size).toBe(2);
  });

  test("one admin does not get the key text or webhook secret that another admin created", async () => {
    const other = (await org.key()).api_key;
    const create = (key: string, path: string, body: object) =>
      call(url, "POST", path, { key, body, headers: { "Idempotency-Key": "made-once" } });
    const keys = [await create(admin, "/v1/api-keys", {}), await create(other, "/v1/api-keys", {})];
    expect(keys.map((answer) => answer.status)).toEqual([201, 201]);
    expect(new Set(keys.map((answer) => answer.json.api_key)).size).toBe(2);
    const hook = { url: "https://hooks.example.com/x" };
    const base = "/v1/escalations/webhooks";
    const hooks = [await create(admin, base, hook), await create(other, base, hook), await create(admin, base, hook)];
    expect(hooks.map((answer) => answer.status)).toEqual([201, 201, 200]);
    expect(hooks[2]?.json.webhook).toEqual({ ...hooks[0]?.json.webhook, secret: "***" });
    expect(hooks[1]?.json.webhook.id).not.toBe(hooks[0]?.json.webhook.id);
  });

  test("the second of two reviewers votes, although the first sent the same idempotency key", async () => {
    const { json } = await call(url, "GET", "/v1/membranes", { key: admin });
    const membrane_id = json.membranes[0].membrane_id as string;
    const escalation = {
      timeout_seconds: 600,
      on_timeout: "block",
      reviewers: [{ type: "role", id: "reviewer" }],
      quorum: 2,
    };
    const changed = await call(url, "PATCH", `/v1/membranes/${membrane_id}`, {
      key: admin,
      body: { escalation, default_verdict: "escalate" },
    });
    expect(changed.status).toBe(200);
    const held = await submit((await org.key({ role: "agent" })).api_key, "held");
    const { escalation_id } = held.json.decision;
    const reviewers = [await org.key({ role: "reviewer" }), await org.key({ role: "reviewer" })];
    const votes = [];
    for (const { api_key: key } of reviewers) {
      const headers = { "Idempotency-Key": "vote" };
      const path = `/v1/escalations/${escalation_id}/decision`;
      votes.push(await call(url, "POST", path, { key, headers, body: { outcome: "approve" } }));
    }
    expect(votes.map((vote) => vote.headers.get("idempotent-replayed"))).toEqual([null, null]);
    expect(votes[1]?.json.escalation).toMatchObject({ status: "decided", quorum: { required: 2, approvals: 2 } });
  });
});
