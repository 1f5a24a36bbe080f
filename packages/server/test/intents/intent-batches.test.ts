import { limits } from "@countersign/contract";
import { beforeAll, describe, expect, test } from "vitest";
import { createClock } from "../../src/edge/clock.ts";
import { createIds } from "../../src/edge/ids.ts";
import type { Db } from "../../src/ports.ts";
import { CommitLost } from "../../src/store/database/connection.ts";
import { insertPerson } from "../../src/store/people/people.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call, type TestOrganization, testOrganization } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { silentLog } from "../../src/testing/nodes/silent-log.ts";
import { cheapPasswords } from "../../src/testing/people/passwords.ts";
import { blockedBody, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
let url: string;
let org: TestOrganization;
let admin: string;
beforeAll(async () => {
  ({ url } = await serviceNode(database));
  org = await testOrganization(database.db);
  admin = (await org.key()).api_key;
});

const intent = { agent: { id: "agent-1" }, action: { type: "communication.email", verb: "send_email" } };

describe("POST /v1/intents/batch", () => {
  const batch = (intents: unknown[] | string, key = admin) =>
    call(url, "POST", "/v1/intents/batch", {
      key,
      body: typeof intents === "string" ? `{"intents":${intents}}` : { intents },
    });

  test.each([
    [0, 400],
    [1, 200],
    [50, 200],
    [51, 400],
  ])("%i intents answer %i", async (count, status) => {
    expect((await batch(Array.from({ length: count }, () => ({ intent })))).status).toBe(status);
  });

  test("results are in order, and a bad item fails alone with its own error object", async () => {
    const { status, json } = await batch([{ intent }, { intent: {} }, { intent, context: { facts: {} } }, { intent }]);
    expect(status).toBe(200);
    expect(json).toMatchObject({ total: 4, succeeded: 2, failed: 2 });
    expect(json.results.map((result: { success: boolean }) => result.success)).toEqual([true, false, false, true]);
    expect(json.results[1].error).toMatchObject({
      code: "invalid_request",
      details: [{ path: "/intents/1/intent/agent" }, { path: "/intents/1/intent/action" }],
    });
    expect(json.results[2].error.code).toBe("invalid_context");
    expect(json.results[0].decision.intent_id).toBe(json.results[0].intent_id);
  });

  test("each refusal of an item names its place in the body of the batch", async () => {
    const bound = (await org.key({ role: "agent", scope: "agent", agent_id: "agent-1" })).api_key;
    const { json } = await batch(
      [
        { intent, extra: 1 },
        { intent, context: { facts: {} } },
        { intent, membrane_id: "mem_00000000000000000000000000" },
        { intent: { ...intent, agent: { id: "another" } } },
      ],
      bound,
    );
    const places = json.results.map(({ error }: { error: { code: string; details: { path: string }[] } }) => [
      error.code,
      ...error.details.map((detail) => detail.path),
    ]);
    expect(places).toEqual([
      ["invalid_request", "/intents/0/extra"],
      ["invalid_context", "/intents/1/context/contract_version"],
      ["not_found", "/intents/2/membrane_id"],
      ["forbidden", "/intents/3/intent/agent/id"],
    ]);
  });

  const single = (content: string) =>
    `{"intent":${JSON.stringify(intent).slice(0, -1)},"payload":{"content":${content}}}}`;
  const nested = (levels: number) => `{"x":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
  const bombs = `{"pad":"${"x".repeat(20_000)}","x":${nested(900)}}`;

  // `content` is the fourth level of an item.
  test.each([
    ["NUL", '{"x":"a\\u0000b"}'],
    ["half a surrogate pair", '{"x":"\\ud800"}'],
    ["a number beyond a double", '{"x":1e400}'],
    ["a key named __proto__", '{"__proto__":1}'],
    ["60 forbidden things", `{"x":[${Array(60).fill("1e400").join()}]}`],
    ["29 levels of content", nested(29)],
    ["30 levels of content", nested(30)],
    ["900 levels in more than 16 KiB", bombs],
  ])("an item with %s is treated as if alone, and the others are decided", async (_name, content) => {
    const alone = await call(url, "POST", "/v1/intents", { key: admin, body: single(content) });
    const { status, json } = await batch(`[${single("{}")},${single(content)},${single(content)},${single("{}")}]`);
    const [first, second, third, fourth] = json.results;
    expect([status, first.success, fourth.success]).toEqual([200, true, true]);
    for (const [index, item] of [second, third].entries()) {
      const prefixed = alone.json.error?.details.map((detail: { path: string }) => ({
        ...detail,
        path: `/intents/${index + 1}${detail.path}`,
      }));
      expect(item.success).toBe(alone.status === 201);
      expect([item.error?.code, item.error?.details]).toEqual([alone.json.error?.code, prefixed]);
    }
  });

  test.each([
    ["one byte less than", limits.body_bytes_max - 1, undefined],
    ["exactly", limits.body_bytes_max, undefined],
    ["one byte more than", limits.body_bytes_max + 1, "payload_too_large"],
  ])("an item of %s a body's size is treated as if alone", async (_name, bytes, code) => {
    // Uses two-byte characters, so that bytes and characters differ.
    const rest = bytes - single('{"x":""}').length;
    const item = single(`{"x":"${"é".repeat(Math.floor(rest / 2))}${"e".repeat(rest % 2)}"}`);
    const alone = await call(url, "POST", "/v1/intents", { key: admin, body: item });
    const { status, json } = await batch(`[${item}, ${single("{}")}]`);
    const [first, second] = json.results;
    expect([status, second.success, alone.json.error?.code]).toEqual([200, true, code]);
    expect(first.success).toBe(code === undefined);
    expect([first.error?.code, first.error?.details]).toEqual([code, alone.json.error?.details]);
  });

  test.each([
    ["a key named __proto__", '{"intents":[ITEM],"__proto__":1}'],
    ["NUL in a key", '{"intents":[ITEM],"\\u0000":1}'],
    ["NUL in place of items", '{"intents":"\\u0000"}'],
  ])("%s outside of items answers 400", async (_name, text) => {
    const body = text.replace("ITEM", JSON.stringify({ intent }));
    expect((await call(url, "POST", "/v1/intents/batch", { key: admin, body })).status).toBe(400);
  });

  test("items with one idempotency key are one decision, and all but the first are marked as replayed", async () => {
    const items = [{ intent, idempotency_key: "b-1" }, { intent }, { intent, idempotency_key: "b-1" }];
    const first = (await batch(items)).json.results;
    expect(first[2]).toEqual({ ...first[0], replayed: true });
    expect(first.map((result: object) => "replayed" in result)).toEqual([false, false, true]);
    const again = (await batch(items)).json.results;
    expect([again[0], again[2]]).toEqual([first[2], first[2]]);
    expect(again[1]).not.toHaveProperty("replayed");
  });

  test("a key revoked during a batch fails the undecided items; 401 only if nothing was decided", async () => {
    const { db } = database;
    const reviewed = await reviewedOrganization(db, url);
    let asked = async (): Promise<void> => undefined;
    const tenant: Db["tenant"] = (org_id, work) =>
      db.tenant(org_id, (query) =>
        work(async (text, params) => {
          if (text.includes("fingerprint = decode")) await asked();
          return query(text, params);
        }),
      );
    const slow = await serviceNode(database, { db: { ...db, tenant } });
    // An active override delays the decision on a block: the node first looks the override up.
    const { intent_id } = (await call(url, "POST", "/v1/intents", { key: reviewed.agent, body: blockedBody })).json;
    for (const key of [reviewed.operator, reviewed.admin])
      await call(url, "POST", `/v1/intents/${intent_id}/override`, { key, body: { reason: "seen it" } });
    const submitting = async (items: unknown[]) => {
      const { key_id, api_key } = await reviewed.org.key({ role: "agent" });
      asked = async () => {
        const found = async () => (await call(url, "GET", "/v1/intents", { key: api_key })).json.intents.length;
        while ((await found()) < items.length - 1) await new Promise(setImmediate);
        await call(url, "DELETE", `/v1/api-keys/${key_id}`, { key: reviewed.admin });
        asked = async () => undefined;
      };
      return call(slow.url, "POST", "/v1/intents/batch", { key: api_key, body: { intents: items } });
    };
    const held = { ...blockedBody, intent: { ...blockedBody.intent, agent: { id: "agent-2" } } };
    const { status, json } = await submitting([{ intent }, held]);
    expect([status, json.succeeded, json.failed]).toEqual([200, 1, 1]);
    expect(json.results).toMatchObject([{ success: true }, { success: false, error: { code: "invalid_api_key" } }]);
    const none = await submitting([held]);
    expect([none.status, none.json.error.code]).toEqual([401, "invalid_api_key"]);
  });

  test("an item that loses the database gets the same answer as a single intent, and internal errors are logged", async () => {
    const { db } = database;
    const reviewed = await reviewedOrganization(db, url);
    const { intent_id } = (await call(url, "POST", "/v1/intents", { key: reviewed.agent, body: blockedBody })).json;
    for (const key of [reviewed.operator, reviewed.admin])
      await call(url, "POST", `/v1/intents/${intent_id}/override`, { key, body: { reason: "seen it" } });
    let broken = new Error();
    const tenant: Db["tenant"] = (org_id, work) =>
      db.tenant(org_id, (query) =>
        work((text, params) =>
          // Runs only for a block while an override is active.
          text.includes("fingerprint = decode") ? Promise.reject(broken) : query(text, params),
        ),
      );
    const told: object[] = [];
    const log = { ...silentLog, error: (fields: object) => void told.push(fields) };
    const node = await serviceNode(database, { log, db: { ...db, tenant } });
    const errors = [
      ["unavailable", new CommitLost("lost")],
      ["internal_error", new Error("broken")],
    ] as const;
    for (const [code, error] of errors) {
      broken = error;
      const options = {
        key: reviewed.agent,
        body: { intents: [{ intent }, blockedBody, blockedBody, { intent: {} }] },
      };
      const { status, json } = await call(node.url, "POST", "/v1/intents/batch", options);
      expect(status).toBe(200);
      const failed = { success: false, error: { code, request_id: expect.any(String), details: [] } };
      expect(json.results).toMatchObject([{ success: true }, failed, failed, { error: { code: "invalid_request" } }]);
      expect(told.splice(0)).toMatchObject([{ code, err: error }]);
    }
  });

  test("a session that ends during a batch is answered like a revoked key: 401, with nothing decided", async () => {
    const { db } = database;
    const { org_id } = await testOrganization(db);
    const [email, password] = ["ann@example.com", "correct horse battery staple"];
    const passwords = cheapPasswords();
    const person = {
      org_id,
      user_id: createIds(createClock()).next("user"),
      email,
      role: "admin",
      password_hash: await passwords.hash(password),
      created_at: new Date().toISOString(),
    } as const;
    await db.system((query) => insertPerson(query, person));
    let cookie = "";
    let asked = 0;
    const tenant: Db["tenant"] = (of, work) =>
      db.tenant(of, async (query) => {
        const answer = await work(query);
        if (of === org_id && cookie !== "" && asked++ === 0)
          await call(url, "POST", "/v1/auth/logout", { headers: { cookie } });
        return answer;
      });
    const slow = await serviceNode(database, { passwords, db: { ...db, tenant } });
    const login = await call(slow.url, "POST", "/v1/auth/login", { body: { email, password } });
    cookie = login.headers.get("set-cookie")?.split(";")[0] ?? "";
    const body = { intents: [{ intent }, { intent }] };
    const { status, json } = await call(slow.url, "POST", "/v1/intents/batch", { headers: { cookie }, body });
    expect([status, json.error?.code]).toEqual([401, "missing_api_key"]);
    expect(asked).toBeGreaterThan(0);
  });
});
