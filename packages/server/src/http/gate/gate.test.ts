import { Fault } from "@countersign/core";
import { expect, test } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { rawRequest } from "../../testing/network/raw-http.ts";
import { call, httpNode, testOrganization } from "../../testing/nodes/http-node.ts";

const { db } = await testDatabase();
let time_us = 1_800_000_000_000_000;
const clock = { now_us: () => time_us };
const org = await testOrganization(db, clock);
const intent = { intent: { agent: { id: "a-1" }, action: { verb: "send_email" } } };
const unknown = `svc_live_org_${"a".repeat(38)}`;

function rate(answer: { headers: Headers }) {
  const [limit, remaining, reset] = ["limit", "remaining", "reset"].map((name) =>
    Number(answer.headers.get(`ratelimit-${name}`)),
  );
  return { limit, remaining, reset_in: (reset as number) - time_us / 1_000_000 };
}

test("every answer of a rate-limited route carries the contract's three headers and the IETF pair", async () => {
  const node = await httpNode(db, { clock, rate_limits: {} });
  const { api_key } = await org.key();
  const ok = await call(node.url, "POST", "/v1/intents", { key: api_key, body: intent });
  expect(ok.status).toBe(201);
  expect(rate(ok)).toEqual({ limit: 120, remaining: 119, reset_in: 60 });
  expect(ok.headers.get("ratelimit-policy")).toBe('"intents";q=120;w=60');
  expect(ok.headers.get("ratelimit")).toBe('"intents";r=119;t=60');
  const bad = await call(node.url, "POST", "/v1/intents", { key: api_key, body: "{broken" });
  expect([bad.status, rate(bad).remaining]).toEqual([400, 118]);
  const batch = await call(node.url, "POST", "/v1/intents/batch", {
    key: api_key,
    body: { intents: [intent, intent] },
  });
  expect([batch.status, rate(batch).remaining]).toEqual([200, 117]);
  const other = await call(node.url, "GET", "/v1/intents", { key: api_key });
  expect([other.headers.get("ratelimit-policy"), rate(other).remaining]).toEqual(['"general";q=120;w=60', 119]);
  const missing = await call(node.url, "DELETE", "/v1/api-keys/nothing", { key: api_key });
  expect([missing.status, rate(missing).remaining]).toEqual([404, 118]);
});

test("an unreadable head is refused for every caller, and counts like any refusal", async () => {
  const node = await httpNode(db, { clock, rate_limits: { intents: 2, general: 2, onboarding: 1 } });
  const { api_key } = await org.key();
  const send = async (path: string, key: string | null, more: string) => {
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\n${key === null ? "" : `X-API-Key: ${key}\r\n`}${more}\r\n`;
    const { statuses, text } = await rawRequest(Number(new URL(node.url).port), `${head}Content-Length: 0\r\n\r\n`);
    return [statuses[0], /^ratelimit: (.*)\r/im.exec(text)?.[1]];
  };
  const twice = "Idempotency-Key: a\r\nIdempotency-Key: a";
  expect(await send("/v1/intents", api_key, twice)).toEqual([400, '"intents";r=1;t=60']);
  expect(await send("/v1/intents", api_key, "Expect: x")).toEqual([400, '"intents";r=0;t=60']);
  expect(await send("/v1/intents", api_key, twice)).toEqual([429, '"intents";r=0;t=60']);
  expect((await call(node.url, "POST", "/v1/intents", { key: api_key, body: intent })).status).toBe(429);
  expect(await send("/v1/onboarding/quickstart", null, "Expect: x")).toEqual([400, '"onboarding";r=0;t=60']);
  expect(await send("/v1/intents", null, `X-API-Key: ${api_key}\r\nX-API-Key: ${unknown}`)).toEqual([
    400,
    '"intents";r=1;t=60',
  ]);
  expect(await send("/v1/nothing", null, "Expect: x")).toEqual([400, '"general";r=1;t=60']);
  expect(await send("/healthz", null, "Expect: x")).toEqual([400, undefined]);
});

test("a full window answers 429 with Retry-After and costs nothing; a caller that waits this long passes", async () => {
  const node = await httpNode(db, { clock, rate_limits: { intents: 2 } });
  const { api_key } = await org.key();
  const submit = () => call(node.url, "POST", "/v1/intents", { key: api_key, body: intent });
  await submit();
  time_us += 10_500_000;
  await submit();
  for (let i = 0; i < 3; i++) {
    const full = await submit();
    expect(full.status).toBe(429);
    expect(full.json.error).toMatchObject({ code: "rate_limit_exceeded", details: [{ retry_after_seconds: 50 }] });
    expect(full.headers.get("retry-after")).toBe("50");
    expect(rate(full)).toMatchObject({ limit: 2, remaining: 0 });
  }
  time_us += 50_000_000;
  expect((await submit()).status).toBe(201);
  expect((await submit()).status).toBe(429);
});

test("of 500 concurrent requests with a limit of 120, exactly 120 pass", async () => {
  const node = await httpNode(db, { rate_limits: {} });
  const { api_key } = await (await testOrganization(db)).key();
  const answers = await Promise.all(
    Array.from({ length: 500 }, () => call(node.url, "POST", "/v1/intents", { key: api_key, body: intent })),
  );
  expect(answers.filter((answer) => answer.status === 201)).toHaveLength(120);
  expect(answers.filter((answer) => answer.status === 429)).toHaveLength(380);
});

test("304 returns its place, and its headers say so", async () => {
  const node = await httpNode(db, { clock, rate_limits: { general: 2 } });
  const { api_key } = await org.key();
  const read = (headers = {}) => call(node.url, "GET", "/v1/intents/int_x/decision", { key: api_key, headers });
  const first = await read();
  const etag = first.headers.get("etag") as string;
  expect(etag).toMatch(/^"[\w-]{27}"$/);
  for (const match of [etag, `"other", W/${etag}`, etag.replace(/"$/, '-zstd"'), `W/${etag};gzip`, "*"]) {
    const same = await read({ "If-None-Match": match });
    expect([same.status, same.text, rate(same).remaining]).toEqual([304, "", 1]);
    expect(same.headers.get("etag")).toBe(etag);
  }
  const other = await read({ "If-None-Match": '"other"' });
  expect([other.status, rate(other).remaining]).toEqual([200, 0]);
  expect((await read({ "If-None-Match": etag })).status).toBe(429);
});

/** Starts a node that reads no decision before `readers` requests ask for one. */
async function heldTogether(readers: number, limit: number) {
  let here = 0;
  let letGo: () => void = () => undefined;
  const all = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const getDecision = async () => {
    here += 1;
    if (here === readers) letGo();
    if (here <= readers) await all;
    return { status: 200, body: { decision: "the same" } };
  };
  return httpNode(db, { clock, rate_limits: { general: limit }, handlers: { getDecision } });
}

test("as many waiting requests as the limit take no place if they end in a 304", async () => {
  const node = await heldTogether(41, 40);
  const { api_key } = await org.key();
  const read = (headers = {}) => call(node.url, "GET", "/v1/intents/int_x/decision", { key: api_key, headers });
  const waiting = Array.from({ length: 40 }, () => read({ "If-None-Match": "*" }));
  const counted = await read();
  expect([counted.status, rate(counted).remaining]).toEqual([200, 39]);
  for (const same of await Promise.all(waiting)) expect(same.status).toBe(304);
  expect(rate(await read({ "If-None-Match": "*" })).remaining).toBe(39);
  expect(rate(await read()).remaining).toBe(38);
});

test("further ones wait in places of their window, which they get back; beyond these they are refused", async () => {
  const held: (() => void)[] = [];
  const getDecision = async () => {
    await new Promise<void>((resolve) => held.push(resolve));
    return { status: 200, body: { decision: "the same" } };
  };
  const node = await httpNode(db, { clock, rate_limits: { general: 3 }, handlers: { getDecision } });
  const { api_key } = await org.key();
  for (const _ of ["once", "and again"]) {
    const refused: { status: number; headers: Headers }[] = [];
    const read = async () => {
      const headers = { "If-None-Match": "*" };
      const answer = await call(node.url, "GET", "/v1/intents/int_x/decision", { key: api_key, headers });
      if (answer.status === 429) refused.push(answer);
      return answer.status === 304 ? rate(answer).remaining : null;
    };
    const answers = Promise.all(Array.from({ length: 40 }, read));
    await expect.poll(() => held.length + refused.length).toBe(40);
    expect([held.length, ...new Set(refused.map((each) => rate(each).remaining))]).toEqual([6, 0]);
    for (const letGo of held.splice(0)) letGo();
    expect(Math.max(...(await answers).map(Number))).toBe(3);
  }
});

test("with If-None-Match, too, no more changed answers than the limit get through", async () => {
  const node = await heldTogether(6, 3);
  const { api_key } = await org.key();
  const read = () =>
    call(node.url, "GET", "/v1/intents/int_x/decision", { key: api_key, headers: { "If-None-Match": '"other"' } });
  const answers = await Promise.all(Array.from({ length: 40 }, read));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(37);
  expect(refused[0]?.json.error).toMatchObject({ code: "rate_limit_exceeded", details: [{ retry_after_seconds: 60 }] });
});

test("a refusal counts the same with If-None-Match", async () => {
  const getDecision = async () => {
    throw new Fault("not_found");
  };
  const node = await httpNode(db, { clock, rate_limits: { general: 2 }, handlers: { getDecision } });
  const { api_key } = await org.key();
  const read = () =>
    call(node.url, "GET", "/v1/intents/int_x/decision", { key: api_key, headers: { "If-None-Match": '"x"' } });
  const [first, second, third] = [await read(), await read(), await read()];
  expect([first.status, rate(first).remaining]).toEqual([404, 1]);
  expect([second.status, rate(second).remaining, third.status]).toEqual([404, 0, 429]);
});

test("a rotated key inherits its predecessor's window", async () => {
  const node = await httpNode(db, { clock, rate_limits: { intents: 1 } });
  const old = await org.key();
  await call(node.url, "POST", "/v1/intents", { key: old.api_key, body: intent });
  const rotated = await call(node.url, "POST", `/v1/api-keys/${old.key_id}/rotate`, { key: old.api_key });
  const answer = await call(node.url, "POST", "/v1/intents", { key: rotated.json.api_key, body: intent });
  expect(answer.status).toBe(429);
});

test("a rotated key keeps its predecessor's own agreement", async () => {
  const node = await httpNode(db, { clock, rate_limits: { intents: 1 } });
  const old = await org.key();
  await db.query("update api_keys set rate_limits = '{\"intents\": 3}' where key_id = $1", [old.key_id]);
  const { json } = await call(node.url, "POST", `/v1/api-keys/${old.key_id}/rotate`, { key: old.api_key });
  const answer = await call(node.url, "POST", "/v1/intents", { key: json.api_key, body: intent });
  expect(rate(answer)).toMatchObject({ limit: 3, remaining: 2 });
});

test("keys do not share a window, categories do not, and a key's own agreement wins", async () => {
  const node = await httpNode(db, { clock, rate_limits: { intents: 1, general: 1 } });
  const [one, two] = [await org.key(), await org.key()];
  const submit = (key: string) => call(node.url, "POST", "/v1/intents", { key, body: intent });
  await db.query("update api_keys set rate_limits = '{\"intents\": 3}' where key_id = $1", [two.key_id]);
  expect([(await submit(one.api_key)).status, (await submit(one.api_key)).status]).toEqual([201, 429]);
  expect((await call(node.url, "GET", "/v1/intents", { key: one.api_key })).status).toBe(200);
  expect(rate(await submit(two.api_key))).toMatchObject({ limit: 3, remaining: 2 });
});

test("a raised limit applies to the key's next request, even if the key only submits", async () => {
  const node = await httpNode(db, { clock, rate_limits: { intents: 1 } });
  const { api_key, key_id } = await org.key();
  const submit = () => call(node.url, "POST", "/v1/intents", { key: api_key, body: intent });
  expect([(await submit()).status, (await submit()).status]).toEqual([201, 429]);
  await db.query("update api_keys set rate_limits = '{\"intents\": 2}' where key_id = $1", [key_id]);
  const [raised, full] = [await submit(), await submit()];
  expect([raised.status, full.status]).toEqual([201, 429]);
  for (const each of [raised, full]) expect(rate(each)).toMatchObject({ limit: 2, remaining: 0 });
});

test("requests without a valid key use the budget of their address, and not that of a key", async () => {
  const node = await httpNode(db, { clock, rate_limits: { general: 2 }, trust_proxy: ["127.0.0.1"] });
  const from = (ip: string, key?: string) =>
    call(node.url, "GET", "/v1/intents", { headers: { "X-Forwarded-For": ip, ...(key ? { "X-API-Key": key } : {}) } });
  const statuses = [];
  for (const key of [undefined, unknown, undefined, unknown]) statuses.push((await from("198.51.100.7", key)).status);
  expect(statuses).toEqual([401, 401, 429, 429]);
  expect((await from("198.51.100.8")).status).toBe(401);
  const { api_key } = await org.key();
  expect((await from("198.51.100.7", api_key)).status).toBe(200);
  for (const [ip, status] of [
    ["2001:db8::1", 401],
    ["2001:db8::2", 401],
    ["2001:db8:0:0:9::", 429],
    ["2001:db8:0:1::", 401],
  ]) {
    expect([ip, (await from(ip as string)).status]).toEqual([ip, status]);
  }
});

test("without a declared proxy a forged X-Forwarded-For gives no new budget", async () => {
  const node = await httpNode(db, { clock, rate_limits: { onboarding: 2 } });
  const statuses = [];
  for (const ip of ["1.1.1.1", "2.2.2.2", "3.3.3.3"]) {
    const body = { org_name: "a", email: "a@example.com", description: "d" };
    const answer = await call(node.url, "POST", "/v1/onboarding/quickstart", {
      body,
      headers: { "X-Forwarded-For": ip },
    });
    statuses.push(answer.status);
  }
  expect(statuses).toEqual([200, 200, 429]);
});

test("403 counts against the key and comes before any fault of the body; 429 comes before 403", async () => {
  const node = await httpNode(db, { clock, rate_limits: { general: 2 } });
  const { api_key } = await org.key({ role: "agent" });
  const statuses = [];
  for (const body of ["{broken", "x".repeat(1_100_000), "{}"]) {
    statuses.push((await call(node.url, "POST", "/v1/api-keys", { key: api_key, body })).status);
  }
  expect(statuses).toEqual([403, 403, 429]);
});

test("OPTIONS needs no key and counts for its address, even with a key; operating endpoints do not count", async () => {
  const node = await httpNode(db, { clock, rate_limits: { general: 2, intents: 1 } });
  const { api_key } = await org.key();
  const options = (path: string, key = "") => call(node.url, "OPTIONS", path, { key });
  const [first, second, full] = [
    await options("/v1/intents"),
    await options("/v1/packs", api_key),
    await options("/v1/intents"),
  ];
  expect([first, second, full].map((each) => [each.status, rate(each).limit, rate(each).remaining])).toEqual([
    [204, 2, 1],
    [204, 2, 0],
    [429, 2, 0],
  ]);
  expect((await call(node.url, "GET", "/v1/packs", { key: api_key })).status).toBe(200);
  const health = await options("/healthz");
  expect([health.status, health.headers.get("ratelimit-limit")]).toEqual([204, null]);
});

test("an unavailable database is 503 with Retry-After, and uses no budget", async () => {
  const broken = { ...db, named: () => Promise.reject(new Error("Connection terminated unexpectedly")) };
  const node = await httpNode(broken, { clock, rate_limits: { general: 5 } });
  const { api_key } = await org.key();
  for (let i = 0; i < 3; i++) {
    const answer = await call(node.url, "GET", "/v1/intents", { key: api_key });
    expect([answer.status, answer.json.error.code, rate(answer).remaining]).toEqual([503, "unavailable", 5]);
    expect(answer.headers.get("retry-after")).toBe("1");
  }
});

test("operating endpoints are not rate-limited and need no key", async () => {
  const node = await httpNode(db, { rate_limits: { general: 1 }, ready: async () => false });
  for (let i = 0; i < 3; i++) {
    const health = await call(node.url, "GET", "/healthz?probe=1");
    expect([health.status, health.json, health.headers.get("ratelimit-limit")]).toEqual([200, { status: "ok" }, null]);
    expect((await call(node.url, "GET", "/openapi.json")).status).toBe(200);
    const ready = await call(node.url, "GET", "/readyz");
    expect([ready.status, ready.json.error.code]).toEqual([503, "unavailable"]);
    expect((await call(node.url, "GET", "/metrics")).text).toContain("countersign_http_requests_total");
  }
});

test("metrics are refused to other machines without the token", async () => {
  const node = await httpNode(db, { clock: createClock(), metrics_token: "sesame" });
  const ask = (headers: Record<string, string>) => call(node.url, "GET", "/metrics", { headers });
  const refused = await ask({ "X-Forwarded-For": "198.51.100.1" });
  expect(refused.status).toBe(403);
  expect(refused.json.error.details[0].message).toMatch(/loopback.*COUNTERSIGN_METRICS_TOKEN/);
  expect((await ask({ "X-Forwarded-For": "198.51.100.1", Authorization: "sesame" })).status).toBe(403);
  expect((await ask({ "X-Forwarded-For": "198.51.100.1", Authorization: "Bearer sesam" })).status).toBe(403);
  for (const scheme of ["Bearer", "bearer", "BEARER"])
    expect((await ask({ "X-Forwarded-For": "198.51.100.1", Authorization: `${scheme} sesame` })).status).toBe(200);
});
