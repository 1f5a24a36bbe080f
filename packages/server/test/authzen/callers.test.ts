/** Source: docs/decisions/0049-authzen.md */
import { describe, expect, test } from "vitest";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { access, testGateway } from "./gateway.ts";

const { database, url, decide_only, org, post, evaluate, list } = await testGateway();

describe("callers", () => {
  const path = "/access/v1/evaluation";
  const bearer = (token: string) =>
    call(url, "POST", path, { body: access("read"), headers: { Authorization: `Bearer ${token}` } });
  const unknown = "svc_live_org_0000000000000000000000000000000000000000";

  test("send their key as bearer token or as X-API-Key, which wins", async () => {
    expect((await bearer(org.agent)).status).toBe(200);
    const headers = { Authorization: `bearer ${unknown}` };
    expect((await post(path, access("read"), org.agent, url, headers)).status).toBe(200);
  });

  test("401 names the scheme, without a token and with a wrong one", async () => {
    const none = await call(url, "POST", path, { body: access("read") });
    const basic = await call(url, "POST", path, { body: access("read"), headers: { Authorization: "Basic YTpi" } });
    for (const { status, headers, json } of [none, basic])
      expect([status, headers.get("www-authenticate"), json.error.code]).toEqual([
        ...[401, 'Bearer realm="countersign"', "missing_api_key"],
      ]);
    const { api_key, key_id } = await org.org.key({ role: "agent" });
    expect((await bearer(api_key)).status).toBe(200);
    await call(url, "DELETE", `/v1/api-keys/${key_id}`, { key: org.admin });
    for (const { status, headers, json } of [await bearer(unknown), await bearer("x"), await bearer(api_key)])
      expect([status, headers.get("www-authenticate"), json.error.code]).toEqual([
        ...[401, 'Bearer realm="countersign", error="invalid_token"', "invalid_api_key"],
      ]);
  });

  test("of other operations get no bearer token accepted", async () => {
    const headers = { Authorization: `Bearer ${org.agent}` };
    const answer = await call(url, "GET", "/v1/intents", { headers });
    expect([answer.status, answer.json.error.code, answer.headers.get("www-authenticate")]).toEqual([
      ...[401, "missing_api_key", null],
    ]);
  });

  test("403 for a key that does not submit, and for an agent that the key is not for", async () => {
    expect((await post(path, access("read"), org.reviewer)).status).toBe(403);
    const { api_key } = await org.org.key({ role: "agent", scope: "agent", agent_id: "bob" });
    for (const base of [url, decide_only]) expect((await post(path, access("read"), api_key, base)).status).toBe(403);
    const bound = await post("/v1/api-keys", { role: "agent", bindings: { agent_ids: ["bob"] } }, org.admin);
    for (const base of [url, decide_only])
      expect((await post(path, access("read"), bound.json.api_key, base)).status).toBe(403);
    const bob = { ...access("read"), subject: { type: "user", id: "bob" } };
    expect((await evaluate(bob, bound.json.api_key, decide_only)).decision).toBe(true);
  });

  test("404 for an unknown membrane, 400 for facts that break the contract and for a reserved name", async () => {
    const reserved = access("read", { action: { name: "read", properties: { authzen: {} } } });
    for (const base of [url, decide_only]) {
      expect((await post(`${path}?membrane_id=mem_none`, access("read"), org.agent, base)).status).toBe(404);
      for (const facts of [
        7,
        { security: 7 },
        { environmental: [] },
        { security: { prompt_injection_detected: "no" } },
      ]) {
        const answer = await post(path, access("read", { context: { facts, ip: "10.0.0.1" } }), org.agent, base);
        expect([answer.status, answer.json.error.code]).toEqual([400, "invalid_context"]);
      }
      expect((await post(path, reserved, org.agent, base)).status).toBe(400);
    }
  });

  test("429 counts an evaluation and a list as one request for intents", async () => {
    const { url: limited } = await serviceNode(database, { config: { rate_limits: { intents: 2 } } });
    await evaluate(access("read"), org.agent, limited);
    expect(await list({ evaluations: [access("read"), access("read")] }, limited)).toHaveLength(2);
    const refused = await post(path, access("read"), org.agent, limited);
    expect([refused.status, refused.json.error.code]).toEqual([429, "rate_limit_exceeded"]);
  });
});

test("the configuration names the addresses under the public address, for everybody", async () => {
  const config = { public_url: "https://pdp.example" };
  const { url: other } = await serviceNode(database, { config });
  const { status, json, headers } = await call(other, "GET", "/.well-known/authzen-configuration");
  expect([status, headers.get("content-type")]).toEqual([200, "application/json; charset=utf-8"]);
  expect(json).toEqual({
    policy_decision_point: "https://pdp.example",
    access_evaluation_endpoint: "https://pdp.example/access/v1/evaluation",
    access_evaluations_endpoint: "https://pdp.example/access/v1/evaluations",
  });
});
