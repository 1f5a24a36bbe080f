import { expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call, httpNode, testOrganization } from "../../src/testing/nodes/http-node.ts";

const { db } = await testDatabase();
const lines: { level: string; message: string; fields: Record<string, unknown> }[] = [];
const at = (level: string) => (fields: object, message: string) =>
  void lines.push({ level, message, fields: fields as Record<string, unknown> });
const log = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
const broken = async () => {
  throw new Error("the detail that must stay inside");
};
const node = await httpNode(db, { log, handlers: { getIntent: broken } });
const org = await testOrganization(db);

test("a request leaves one line with its id, route, status, time and key, and no secret", async () => {
  const { api_key, key_id } = await org.key();
  lines.length = 0;
  const answer = await call(node.url, "POST", "/v1/api-keys?api_key=leak", { key: api_key, body: { name: "private" } });
  expect(lines).toHaveLength(1);
  expect(lines[0]).toEqual({
    level: "info",
    message: "request",
    fields: {
      request_id: answer.headers.get("x-request-id"),
      method: "POST",
      route: "createApiKey",
      status: 400,
      ms: expect.any(Number),
      org_id: org.org_id,
      key_id,
      user_id: null,
      error_code: "invalid_request",
    },
  });
  await call(node.url, "POST", "/v1/api-keys", { key: api_key, body: {} });
  expect(JSON.stringify(lines)).not.toMatch(/svc_|leak|private/);
});

test("an internal error is 500 without details; the log line has them", async () => {
  const { api_key } = await org.key();
  lines.length = 0;
  const answer = await call(node.url, "GET", "/v1/intents/int_1", { key: api_key });
  expect([answer.status, answer.json.error.code, answer.json.error.details]).toEqual([500, "internal_error", []]);
  expect(answer.text).not.toContain("detail that must stay");
  expect(lines).toHaveLength(1);
  expect([lines[0]?.level, String(lines[0]?.fields["err"])]).toEqual([
    "error",
    "Error: the detail that must stay inside",
  ]);
});

test("404, 405 and OPTIONS are logged without a route; HEAD answers like GET without a body", async () => {
  const { api_key } = await org.key();
  lines.length = 0;
  const wrong = await call(node.url, "PUT", "/v1/intents", { key: api_key });
  expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "POST, GET, HEAD, OPTIONS"]);
  expect((await call(node.url, "GET", "/v1/nope", { key: api_key })).status).toBe(404);
  expect((await call(node.url, "GET", "/v1/nope")).status).toBe(401);
  expect((await call(node.url, "OPTIONS", "/v1/intents")).headers.get("allow")).toBe("POST, GET, HEAD, OPTIONS");
  const head = await call(node.url, "HEAD", "/healthz");
  expect([head.status, head.text, head.headers.get("content-length")]).toEqual([200, "", "15"]);
  expect(lines.map(({ fields }) => [fields["route"], fields["status"]])).toEqual([
    [null, 405],
    [null, 404],
    [null, 401],
    [null, 204],
    ["getHealth", 200],
  ]);
});

test("the metrics count requests by operation and status, refusals by code, and rate limits without Redis", async () => {
  node.metrics.rateTakenAlone();
  const text = await node.metrics.text();
  expect(text).toMatch(/countersign_http_requests_total\{operation="getIntent",status="500"\} 1/);
  expect(text).toMatch(/countersign_refusals_total\{code="internal_error"\} 1/);
  expect(text).toMatch(/countersign_rate_limits_degraded 0/);
  expect(text).toMatch(/countersign_rate_takes_alone_total 1/);
  expect(text).toContain("nodejs_eventloop_lag_p99_seconds");
});
