import { formatTimestampUs, parseTimestampUs } from "@countersign/core";
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { expireNow } from "../../testing/database/passing-time.ts";
import { call, httpNode, type TestOrganization, testOrganization } from "../../testing/nodes/http-node.ts";

const { db } = await testDatabase();
const org: TestOrganization = await testOrganization(db);
const other: TestOrganization = await testOrganization(db);
/** A clock that is off by this many seconds. */
const off = (seconds: number) => ({ now_us: () => (Date.now() + seconds * 1_000) * 1_000 });
let node: Awaited<ReturnType<typeof httpNode>>;
beforeAll(async () => {
  node = await httpNode(db);
});
const keyPattern = /^svc_(live|shadow|test)_(org|agent)_[0-9A-Za-z]{38}$/;

describe("POST /v1/api-keys", () => {
  test("201 returns the full key with the defaults of the contract", async () => {
    const { api_key } = await org.key();
    const answer = await call(node.url, "POST", "/v1/api-keys", { key: api_key, body: {} });
    expect(answer.status).toBe(201);
    expect(answer.json).toMatchObject({ name: null, environment: "live", scope: "org", role: "agent", agent_id: null });
    expect(answer.json.api_key).toMatch(keyPattern);
    expect(answer.json.key_id).toMatch(/^key_/);
    const days = (Date.parse(answer.json.expires_at) - Date.parse(answer.json.created_at)) / 86_400_000;
    expect(days).toBeCloseTo(365, 3);
  });

  test("201 returns the requested fields, and the key works with them", async () => {
    const { api_key } = await org.key();
    const body = {
      name: "ci",
      environment: "test",
      scope: "agent",
      role: "agent",
      agent_id: "a-1",
      expires_in_days: 3,
    };
    const made = await call(node.url, "POST", "/v1/api-keys", { key: api_key, body });
    expect(made.json).toMatchObject({
      name: "ci",
      environment: "test",
      scope: "agent",
      role: "agent",
      agent_id: "a-1",
    });
    expect(made.json.api_key).toMatch(/^svc_test_agent_/);
    const [from_us, to_us] = [made.json.created_at, made.json.expires_at].map(parseTimestampUs) as [number, number];
    expect(to_us - from_us).toBe(3 * 86_400_000_000);
    const used = await call(node.url, "POST", "/v1/intents", { key: made.json.api_key, body: intent });
    expect(used.json.as).toMatchObject({
      environment: "test",
      scope: "agent",
      agent_id: "a-1",
      key_id: made.json.key_id,
    });
  });

  test.each([
    [
      "expires_at and expires_in_days together",
      { expires_at: formatTimestampUs((Date.now() + 86_400_000) * 1_000), expires_in_days: 1 },
      "/expires_in_days",
    ],
    ["an expiry in the past", { expires_at: "2020-01-01T00:00:00Z" }, "/expires_at"],
    ["an expiry beyond ten years", { expires_at: "2999-01-01T00:00:00Z" }, "/expires_at"],
    ["scope agent without an agent", { scope: "agent" }, "/agent_id"],
    ["an agent without scope agent", { agent_id: "a" }, "/agent_id"],
    ["scope agent with more than the agent's role", { scope: "agent", agent_id: "a", role: "admin" }, "/role"],
    ["an unknown role", { role: "root" }, "/role"],
    ["an unknown field", { rolle: "admin" }, "/rolle"],
    ["a number as name", { name: 5 }, "/name"],
  ])("400 names the place of %s", async (_name, body, path) => {
    const { api_key } = await org.key();
    const answer = await call(node.url, "POST", "/v1/api-keys", { key: api_key, body });
    expect(answer.status).toBe(400);
    expect(answer.json.error).toMatchObject({ code: "invalid_request", details: [{ path }] });
  });

  test("400 names all problems of a request together", async () => {
    const { api_key } = await org.key();
    const body = { scope: "agent", role: "admin", expires_at: "2020-01-01T00:00:00Z", expires_in_days: 1 };
    const answer = await call(node.url, "POST", "/v1/api-keys", { key: api_key, body });
    expect(answer.json.error.details.map(({ path, code }: { path: string; code: string }) => [path, code])).toEqual([
      ["/agent_id", "required"],
      ["/role", "not_allowed"],
      ["/expires_in_days", "not_allowed"],
      ["/expires_at", "out_of_range"],
    ]);
  });

  test("the same Idempotency-Key returns the same key with 200 and *** for its text, another body 409; no key text is stored", async () => {
    const { api_key } = await org.key();
    const headers = { "Idempotency-Key": "once" };
    const send = (body: object) => call(node.url, "POST", "/v1/api-keys", { key: api_key, body, headers });
    const answers = await Promise.all(Array.from({ length: 8 }, () => send({ name: "once" })));
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201]);
    const first = answers.find((answer) => answer.status === 201)?.json;
    expect(first.api_key).toMatch(/^svc_live_org_/);
    for (const { status, json } of answers) expect(json).toEqual(status === 201 ? first : { ...first, api_key: "***" });
    for (const answer of answers) {
      expect(answer.headers.get("idempotent-replayed")).toBe(answer.status === 200 ? "true" : null);
    }
    const conflict = await send({ name: "twice" });
    expect([conflict.status, conflict.json.error.code]).toEqual([409, "idempotency_conflict"]);

    const rows = await db.query(
      "select row_to_json(k)::text as k, i.response::text as r from api_keys k, idempotency_keys i",
    );
    const audit = await db.query("select data::text as data from audit");
    const stored = JSON.stringify([rows, audit]);
    expect(stored).not.toMatch(/svc_(live|shadow|test)_/);
    expect(stored).not.toContain(first.api_key.slice(-38));
  });

  test("a repetition returns the same key if it has expired meanwhile", async () => {
    const { api_key } = await org.key();
    const expires_ms = Date.now() + 3_000;
    const request = {
      key: api_key,
      body: { expires_at: new Date(expires_ms).toISOString() },
      headers: { "Idempotency-Key": "soon over" },
    };
    const first = await call(node.url, "POST", "/v1/api-keys", request);
    await expect.poll(() => Date.now()).toBeGreaterThan(expires_ms);
    const again = await call(node.url, "POST", "/v1/api-keys", request);
    expect([first.status, again.status, again.json]).toEqual([201, 200, { ...first.json, api_key: "***" }]);
  });
});

describe("GET /v1/api-keys", () => {
  test("200 lists every key of the organization, newest first, page by page, without secrets", async () => {
    const fresh = await testOrganization(db);
    const { api_key } = await fresh.key({ name: "0" });
    for (const name of ["1", "2", "3"]) await fresh.key({ name });
    const names: string[] = [];
    let cursor = "";
    do {
      const answer = await call(node.url, "GET", `/v1/api-keys?limit=2${cursor}`, { key: api_key });
      expect(answer.status).toBe(200);
      expect(answer.text).not.toMatch(/svc_|sha256|lineage/);
      names.push(...answer.json.api_keys.map((each: { name: string }) => each.name));
      cursor = answer.json.next_cursor === null ? "" : `&cursor=${answer.json.next_cursor}`;
    } while (cursor !== "");
    expect(names).toEqual(["3", "2", "1", "0"]);
  });

  test("last_used_at is the minute of the last use, and for a new key not before its creation", async () => {
    const fresh = await testOrganization(db);
    const { api_key, key_id } = await fresh.key();
    const made = (created_at: string) =>
      db.query("update api_keys set created_at = $2::timestamptz, last_used_at = null where key_id = $1", [
        key_id,
        created_at,
      ]);
    const lastUse = async () => {
      await call(node.url, "GET", "/v1/api-keys", { key: api_key });
      await node.uses.flush(null);
      return (await call(node.url, "GET", "/v1/api-keys", { key: api_key })).json.api_keys[0].last_used_at;
    };
    await made("2026-01-01T00:00:30Z");
    const used = await lastUse();
    expect(used).toMatch(/:00\.000000Z$/);
    expect(Math.abs(Date.now() - Date.parse(used))).toBeLessThan(120_000);
    await made("2126-01-01T00:00:30.25Z");
    for (let time = 0; time < 2; time += 1) expect(await lastUse()).toBe("2126-01-01T00:00:30.250000Z");
  });

  test.each(["limit=0", "limit=201", "limit=x", "limit=1&limit=2", "cursor=!!", "cursor=a2V5", "order=asc", "limit="])(
    "400 for ?%s",
    async (query) => {
      const { api_key } = await org.key();
      const answer = await call(node.url, "GET", `/v1/api-keys?${query}`, { key: api_key });
      expect([answer.status, answer.json.error.code]).toEqual([400, "invalid_request"]);
    },
  );
});

describe("DELETE /v1/api-keys/{key_id}", () => {
  test("204, also the second time; from then on the key is invalid, with the body of an unknown key", async () => {
    const { api_key } = await org.key();
    const victim = await org.key({ role: "agent" });
    expect((await call(node.url, "POST", "/v1/intents", { key: victim.api_key, body: intent })).status).toBe(201);
    for (let i = 0; i < 2; i++) {
      const gone = await call(node.url, "DELETE", `/v1/api-keys/${victim.key_id}`, { key: api_key });
      expect([gone.status, gone.text]).toEqual([204, ""]);
    }
    const revoked = await call(node.url, "POST", "/v1/intents", { key: victim.api_key, body: intent });
    const unknown = await call(node.url, "POST", "/v1/intents", {
      key: `svc_live_org_${"a".repeat(38)}`,
      body: intent,
    });
    expect([revoked.status, revoked.headers.get("x-service-key-expired")]).toEqual([401, null]);
    expect(withoutId(revoked.json)).toEqual(withoutId(unknown.json));
    expect(revoked.json.error.code).toBe("invalid_api_key");
  });

  test("404 is the same for a key of another organization, an unknown and an impossible one", async () => {
    const { api_key } = await org.key();
    const foreign = await other.key();
    const ids = [foreign.key_id, "key_01K00000000000000000000000", "nonsense", "%00", "x".repeat(5_000)];
    const bodies = [];
    for (const id of ids) {
      const answer = await call(node.url, "DELETE", `/v1/api-keys/${id}`, { key: api_key });
      expect(answer.status).toBe(404);
      bodies.push(JSON.stringify(withoutId(answer.json)));
    }
    expect(new Set(bodies).size).toBe(1);
    expect((await call(node.url, "GET", "/v1/api-keys", { key: foreign.api_key })).status).toBe(200);
  });
});

describe("POST /v1/api-keys/{key_id}/rotate", () => {
  test("200 replaces the key at once and keeps role, scope, environment, name and lifetime", async () => {
    const old = await org.key({ role: "operator", environment: "shadow", name: "ops" });
    const answer = await call(node.url, "POST", `/v1/api-keys/${old.key_id}/rotate`, { key: old.api_key });
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.json).sort()).toEqual(["api_key", "expires_at", "key_id", "rotated_from"]);
    expect(answer.json.rotated_from).toBe(old.key_id);
    expect(answer.json.api_key).toMatch(/^svc_shadow_org_/);
    expect((await call(node.url, "POST", "/v1/intents", { key: old.api_key, body: intent })).status).toBe(401);
    const now = await call(node.url, "POST", "/v1/intents", { key: answer.json.api_key, body: intent });
    expect(now.json.as).toMatchObject({ role: "operator", environment: "shadow", lineage_id: old.key_id });
    const { api_key: admin } = await org.key();
    const listed = await call(node.url, "GET", "/v1/api-keys", { key: admin });
    const row = listed.json.api_keys.find((each: { key_id: string }) => each.key_id === answer.json.key_id);
    expect(row).toMatchObject({ name: "ops", rotated_from: old.key_id });
    expect(Date.parse(row.expires_at) - Date.parse(row.created_at)).toBe(365 * 86_400_000);
  });

  test("a successor has no more rights: one of an agent still submits only for that agent", async () => {
    const old = await org.key({ role: "agent", environment: "test", scope: "agent", agent_id: "a-1" });
    const { json } = await call(node.url, "POST", `/v1/api-keys/${old.key_id}/rotate`, { key: old.api_key });
    expect(json.api_key).toMatch(/^svc_test_agent_/);
    const now = await call(node.url, "POST", "/v1/intents", { key: json.api_key, body: intent });
    const { org_id } = org;
    expect(now.json.as).toMatchObject({ org_id, role: "agent", environment: "test", scope: "agent", agent_id: "a-1" });
  });

  test("an admin rotates another key: the new one keeps its settings and counts as made by the admin, the old one is void", async () => {
    const admin = await org.key();
    const old = await org.key({ role: "operator", name: "ops of bob" });
    const rotate = (key_id: string) => call(node.url, "POST", `/v1/api-keys/${key_id}/rotate`, { key: admin.api_key });
    const { json, status } = await rotate(old.key_id);
    expect(status).toBe(200);
    const read = (key: string) => call(node.url, "GET", "/v1/escalations/webhooks/deliveries/failed", { key });
    expect([(await read(old.api_key)).status, (await read(json.api_key)).status]).toEqual([401, 200]);
    const rows = await db.query(
      "select name, role, created_by, lineage_id, person from api_keys where org_id = $1 and key_id = any($2) order by key_id",
      [org.org_id, [admin.key_id, json.key_id]],
    );
    expect(rows[1]).toEqual({
      ...{ name: "ops of bob", role: "operator", created_by: admin.key_id, lineage_id: json.key_id },
      person: (rows[0] as { person: string }).person,
    });
    expect((await rotate(old.key_id)).json.error.code).toBe("state_conflict");
    for (const id of [(await other.key()).key_id, "key_01K00000000000000000000000"])
      expect((await rotate(id)).status).toBe(404);
  });

  test("403 for every other key that is no admin's, with one body for existing and unknown ids", async () => {
    const { api_key } = await org.key({ role: "operator" });
    const [own, foreign] = [await org.key(), await other.key()];
    const bodies = [];
    for (const id of [own.key_id, foreign.key_id, "key_01K00000000000000000000000"]) {
      const answer = await call(node.url, "POST", `/v1/api-keys/${id}/rotate`, { key: api_key });
      expect(answer.status).toBe(403);
      expect(answer.json.error.details[0].message).toMatch(/^A key is rotated with itself only/);
      bodies.push(JSON.stringify(withoutId(answer.json)));
    }
    expect(new Set(bodies).size).toBe(1);
  });

  test("of 50 concurrent rotations one answers 200 and 49 answer 401, and there is one successor", async () => {
    const old = await org.key();
    const answers = await Promise.all(
      Array.from({ length: 50 }, () =>
        call(node.url, "POST", `/v1/api-keys/${old.key_id}/rotate`, { key: old.api_key }),
      ),
    );
    const statuses = answers.map((answer) => answer.status).sort();
    expect(statuses).toEqual([200, ...Array.from({ length: 49 }, () => 401)]);
    const successors = await db.query("select key_id from api_keys where rotated_from = $1", [old.key_id]);
    expect(successors).toHaveLength(1);
  });
});

describe("expiry", () => {
  test("an expired key answers 401 with the header, on every node and with any clock", async () => {
    const nodes = [await httpNode(db, { clock: off(-600) }), await httpNode(db, { clock: off(600) })];
    const { api_key, key_id } = await org.key();
    for (const { url } of nodes) expect((await call(url, "GET", "/v1/api-keys", { key: api_key })).status).toBe(200);
    await expireNow(db, "api_keys", key_id);
    for (const { url } of nodes)
      for (const answer of [
        await call(url, "GET", "/v1/api-keys", { key: api_key }),
        await call(url, "POST", "/v1/intents", { key: api_key, body: intent }),
        await call(url, "POST", `/v1/api-keys/${key_id}/rotate`, { key: api_key }),
      ]) {
        expect([answer.status, answer.json.error.code]).toEqual([401, "expired_api_key"]);
        expect(answer.headers.get("x-service-key-expired")).toBe("true");
      }
  });

  test("a node forgets a key from its memory at its expiry, with any clock", async () => {
    const nodes = [await httpNode(db, { clock: off(-600) }), await httpNode(db, { clock: off(600) })];
    const expires_ms = Date.now() + 3_000;
    const { api_key } = await org.key({ expires_us: expires_ms * 1_000 });
    const submit = async ({ url }: { url: string }) =>
      (await call(url, "POST", "/v1/intents", { key: api_key, body: intent })).status;
    // The first request reads the key, the second finds it in memory.
    for (const each of [...nodes, ...nodes]) expect(await submit(each)).toBe(201);
    for (const each of nodes) await expect.poll(() => submit(each)).toBe(401);
    expect(Date.now()).toBeGreaterThanOrEqual(expires_ms);
  });

  test("a revoked and expired key answers like a revoked one: without the header", async () => {
    const { api_key: admin } = await org.key();
    const { api_key, key_id } = await org.key();
    await call(node.url, "DELETE", `/v1/api-keys/${key_id}`, { key: admin });
    await expireNow(db, "api_keys", key_id);
    const answer = await call(node.url, "GET", "/v1/api-keys", { key: api_key });
    expect([answer.status, answer.json.error.code]).toEqual([401, "invalid_api_key"]);
    expect(answer.headers.get("x-service-key-expired")).toBeNull();
  });
});

describe("permissions", () => {
  test.each([
    ["no key", {}],
    ["an empty key", { "X-API-Key": "" }],
    ["the key in another header", { Authorization: "Bearer svc" }],
  ])("401 missing_api_key for %s", async (_name, headers) => {
    const answer = await call(node.url, "GET", "/v1/api-keys", { headers });
    expect([answer.status, answer.json.error.code]).toEqual([401, "missing_api_key"]);
  });

  test("a key in the URL is ignored", async () => {
    const { api_key } = await org.key();
    const answer = await call(node.url, "GET", `/v1/api-keys?api_key=${api_key}`);
    expect(answer.status).toBe(401);
  });

  test.each(["operator", "reviewer", "agent", "auditor"] as const)("403 for %s, with any body", async (role) => {
    const { api_key } = await org.key({ role });
    const answer = await call(node.url, "POST", "/v1/api-keys", { key: api_key, body: "{broken" });
    expect([answer.status, answer.json.error.code]).toEqual([403, "forbidden"]);
    expect(answer.json.error.details).toEqual([{ path: "", code: "not_allowed", message: "Roles that may: admin." }]);
  });
});

const intent = { intent: { agent: { id: "a-1" }, action: { verb: "send_email" } } };

function withoutId(body: { error: { request_id: string } }) {
  const { request_id, ...rest } = body.error;
  expect(request_id).toMatch(/^req_/);
  return rest;
}
