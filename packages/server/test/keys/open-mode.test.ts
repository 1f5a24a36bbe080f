import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { request } from "undici";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { meanwhile } from "../../src/testing/meanwhile.ts";
import { call, httpNode, testOrganization } from "../../src/testing/nodes/http-node.ts";

const intent = { intent: { agent: { id: "a-1" }, action: { verb: "send_email" } } };

describe("while no key was ever created", async () => {
  const { db } = await testDatabase();
  const node = await httpNode(db);

  test("a request from this machine acts as admin of org_local", async () => {
    const answer = await call(node.url, "POST", "/v1/intents", { body: intent });
    expect(answer.status).toBe(201);
    expect(answer.json.as).toMatchObject({ org_id: "org_local", key_id: null, role: "admin", actor: "open_mode" });
    expect((await call(node.url, "GET", "/v1/api-keys")).status).toBe(200);
  });

  test("a key sent in open mode is ignored", async () => {
    const answer = await call(node.url, "GET", "/v1/intents", { key: "some-placeholder" });
    expect([answer.status, answer.json.as.org_id]).toEqual([200, "org_local"]);
  });

  test("operations for signed-in people answer 401, also with an invalid session", async () => {
    for (const headers of [{}, { cookie: `countersign_session=${"x".repeat(43)}` }])
      for (const [method, path] of [
        ["GET", "/v1/auth/sessions"],
        ["DELETE", "/v1/auth/sessions"],
        ["POST", "/v1/auth/totp/enrol"],
      ] as const) {
        const answer = await call(node.url, method, path, { headers });
        expect([answer.status, answer.json.error.code, answer.json.error.details[0].code]).toEqual([
          ...[401, "missing_api_key", "no_session"],
        ]);
      }
  });

  test.each([
    ["a key that is none", { "x-api-key": "some-placeholder" }, "invalid_api_key"],
    ["a page of somebody whose session is over", { "x-service-caller": "usr_1" }, "missing_api_key"],
  ])("operations for signed-in people answer 401 to %s", async (_, headers, code) => {
    for (const cookie of [{}, { cookie: `countersign_session=${"x".repeat(43)}` }]) {
      const answer = await call(node.url, "DELETE", "/v1/auth/sessions", { headers: { ...headers, ...cookie } });
      expect([answer.status, answer.json.error.code]).toEqual([401, code]);
    }
  });

  test.each([
    ["that a proxy on this machine forwards", { "X-Forwarded-For": "198.51.100.1" }],
    ["that says it was forwarded", { Forwarded: "for=198.51.100.1" }],
    ["from a web page whose name was rebound to this machine", { Host: "attacker.example" }],
  ])("401 for a request %s", async (_name, headers) => {
    const { statusCode, body } = await request(`${node.url}/v1/intents`, { headers });
    expect([statusCode, ((await body.json()) as { error: { code: string } }).error.code]).toEqual([
      401,
      "missing_api_key",
    ]);
  });

  test("401 for a request that a proxy on this machine forwards over HTTP/1.0, without a header that says so; no metrics either", async () => {
    for (const [path, status] of [
      ["/v1/intents", "401"],
      ["/metrics", "403"],
    ] as const) {
      const { port, host } = new URL(node.url);
      const socket = connect(Number(port), "127.0.0.1");
      socket.write(`GET ${path} HTTP/1.0\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      expect(await text(socket)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    }
  });

  test.each([
    ["comes from a declared proxy", { trust_proxy: ["127.0.0.0/8", "::1/128"] }],
    ["may come through the proxy behind the public URL", { public_url: "https://countersign.example" }],
  ])("401 for a request that %s, whatever it looks like", async (_name, options) => {
    const behind = await httpNode(db, options);
    const answer = await call(behind.url, "GET", "/v1/intents");
    expect([answer.status, answer.json.error.code]).toEqual([401, "missing_api_key"]);
    const with_key = await call(behind.url, "GET", "/v1/intents", { key: "some-placeholder" });
    expect([with_key.status, with_key.json.error.code]).toEqual([401, "invalid_api_key"]);
  });

  test("another site's web page can change nothing, with or without a body; this service's own pages can", async () => {
    const body = JSON.stringify(intent);
    for (const sender of [{ Origin: "https://attacker.example" }, { "Sec-Fetch-Site": "cross-site" }]) {
      const headers = { "Content-Type": "text/plain", ...sender };
      const answer = await call(node.url, "POST", "/v1/intents", { headers, body });
      expect([answer.status, answer.json.error.code]).toEqual([403, "forbidden"]);
      const bare = await call(node.url, "POST", "/v1/membranes/mem_1/go-live", { headers: sender });
      expect(bare.status).toBe(403);
    }
    const own = { "Content-Type": "application/json", Origin: node.url };
    expect((await call(node.url, "POST", "/v1/intents", { headers: own, body })).status).toBe(201);
    const preflight = await call(node.url, "OPTIONS", "/v1/intents", {
      headers: { Origin: "https://attacker.example" },
    });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, null]);
  });
});

describe("the first key", async () => {
  const { db } = await testDatabase();
  const nodes = [await httpNode(db), await httpNode(db)] as const;

  test("ends open mode at once, on every node, permanently", async () => {
    const made = await call(nodes[0].url, "POST", "/v1/api-keys", { body: { role: "admin" } });
    expect(made.status).toBe(201);
    for (const node of nodes) {
      const answer = await call(node.url, "POST", "/v1/intents", { body: intent });
      expect([answer.status, answer.json.error.code]).toEqual([401, "missing_api_key"]);
      const wrong = await call(node.url, "GET", "/v1/intents", { key: "some-placeholder" });
      expect([wrong.status, wrong.json.error.code]).toEqual([401, "invalid_api_key"]);
    }
    const { api_key, key_id } = made.json;
    const used = await call(nodes[1].url, "POST", "/v1/intents", { key: api_key, body: intent });
    expect(used.json.as).toMatchObject({ org_id: "org_local", role: "admin" });
    expect((await call(nodes[1].url, "DELETE", `/v1/api-keys/${key_id}`, { key: api_key })).status).toBe(204);
    for (const node of nodes) expect((await call(node.url, "POST", "/v1/intents", { body: intent })).status).toBe(401);
  });
});

test("a key of any organization ends it", async () => {
  const { db } = await testDatabase();
  const node = await httpNode(db);
  expect((await call(node.url, "GET", "/v1/intents")).status).toBe(200);
  await (await testOrganization(db)).key();
  expect((await call(node.url, "GET", "/v1/intents")).status).toBe(401);
});

test("of two concurrent first keys on two nodes, one is created, and open mode is over for the other", async () => {
  const { db } = await testDatabase();
  const nodes = [await httpNode(db), await httpNode(db)] as const;
  const answers: Awaited<ReturnType<typeof call>>[] = [];
  const create = (url: string) => async () =>
    answers.push(await call(url, "POST", "/v1/api-keys", { body: { role: "admin" } }));
  const hold = "select from org_heads where org_id = 'org_local' for update";
  await meanwhile(db, (query) => query(hold), [create(nodes[0].url), create(nodes[1].url)]);
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 401]);
  expect(answers.find(({ status }) => status === 401)?.json.error.code).toBe("missing_api_key");
  expect(await db.query("select from api_keys")).toHaveLength(1);
});
