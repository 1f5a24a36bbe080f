/** Callers without a valid key or role learn nothing about resources or their request. */
import { type Operation, operationRows, roleMeets, roleNames } from "@countersign/contract";
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call, testOrganization } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { heldBody, reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";
import { sideBySide } from "../../packages/server/src/testing/side-by-side.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);
const keys: Record<string, string> = {};
const existing: Record<string, string> = { agent_id: "agent-1", type: "service", identifier: "shop", name: "security" };
beforeAll(async () => {
  const { org, admin, agent, membrane_id } = await reviewedOrganization(database.db, url);
  for (const role of roleNames) keys[role] = (await org.key({ role })).api_key;
  const post = async (path: string, body: unknown, key = admin) => (await call(url, "POST", path, { key, body })).json;
  const { decision } = await post("/v1/intents", heldBody, agent);
  Object.assign(existing, { membrane_id, intent_id: decision.intent_id, escalation_id: decision.escalation_id });
  existing["webhook_id"] = (await post("/v1/escalations/webhooks", { url: "https://hooks.example.com/x" })).webhook.id;
  existing["key_id"] = (await org.key()).key_id;
});

const guarded = operationRows.filter(([, operation]) => operation.auth !== "none") as [string, Operation][];
const anonymous = (text: string) => text.replace(/req_\w+/, "");

/** One request carries all faults, because any check before the key check would answer first. */
function variants({
  method,
  path,
}: Operation): (readonly [string, { body?: string; headers?: Record<string, string> }])[] {
  const there = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => existing[name] ?? "x_00000000000000000000000000");
  const nowhere = path.replaceAll(/\{\w+\}/g, "x_00000000000000000000000000");
  const reads = method === "GET";
  return [
    [there, reads ? {} : { body: "{}" }],
    [nowhere, {}],
    [
      `${there}?api_key=${keys["admin"]}&limit=0&cursor=%00`,
      { headers: { "Idempotency-Key": "é" }, ...(reads ? {} : { body: "{broken" }) },
    ],
    ...(reads ? [] : ([[there, { body: "x", headers: { "Content-Type": "text/plain" } }]] as const)),
  ];
}

/** Fails if an operation answers two variants differently or with another status. */
async function demandOneAnswer(
  operations: typeof guarded,
  status: number,
  keyOf: (operation: Operation) => { key?: string },
) {
  const cases = operations.flatMap(([id, operation]) => variants(operation).map((each) => ({ id, operation, each })));
  const seen = await sideBySide(cases, async ({ id, operation, each: [path, sent] }) => {
    const answer = await call(url, operation.method, path, { ...keyOf(operation), ...sent });
    const has_window = answer.headers.get("ratelimit-remaining") !== null;
    return { id, path, status: answer.status, has_window, text: anonymous(answer.text) };
  });
  const first = new Map(seen.toReversed().map(({ id, text }) => [id, text]));
  expect(seen).toEqual(seen.map(({ id, path }) => ({ id, path, status, has_window: true, text: first.get(id) })));
}

test("without a valid key every request of an operation gets the same 401", async () => {
  await demandOneAnswer(guarded, 401, () => ({}));
});

test("with a role that may not, every request of an operation gets the same 403", async () => {
  const unable = ({ auth }: Operation) => roleNames.findLast((role) => !roleMeets(role, auth));
  const refusing = guarded.filter(([, operation]) => unable(operation) !== undefined);
  expect(refusing.length).toBeGreaterThan(0);
  await demandOneAnswer(refusing, 403, (operation) => ({ key: keys[unable(operation) as string] as string }));
});

test("an unserved path answers a caller without a key like a served one", async () => {
  const served = anonymous((await call(url, "GET", "/v1/intents")).text);
  for (const [method, path] of [
    ["GET", "/v1/nothing"],
    ["PUT", "/v1/intents"],
    ["DELETE", `/v1/intents/${existing["intent_id"]}`],
    ["POST", "/v1/packs"],
    ["GET", "/v1/"],
    ["GET", "/v1/intents/"],
    ["GET", "/v1//intents"],
    ["GET", "/V1/intents"],
    ["PATCH", "/v1/api-keys"],
  ] as const) {
    const { status, text } = await call(url, method, path);
    if (path.startsWith("/v1/")) expect([method, path, status, anonymous(text)]).toEqual([method, path, 401, served]);
    else expect(status).toBe(404);
  }
});

test("with a key, an unserved path is 404 and an unserved method 405 with Allow, both counted", async () => {
  const key = (await (await testOrganization(database.db)).key()).api_key;
  const missing = await call(url, "GET", "/v1/nothing", { key });
  const refused = await call(url, "PUT", "/v1/intents", { key, body: {} });
  expect([missing.status, refused.status]).toEqual([404, 405]);
  expect(refused.headers.get("allow")).toBe("POST, GET, HEAD, OPTIONS");
  const left = [missing, refused].map(({ headers }) => Number(headers.get("ratelimit-remaining")));
  expect(left[0]).toBe((left[1] as number) + 1);
});

test("a fixed path is not read as an id: other methods are 405, and Allow lists its own methods", async () => {
  const key = (await (await testOrganization(database.db)).key()).api_key;
  for (const [method, path, allow] of [
    ["GET", "/v1/intents/batch", "POST, OPTIONS"],
    ["HEAD", "/v1/intents/batch", "POST, OPTIONS"],
    ["DELETE", "/v1/intents/batch", "POST, OPTIONS"],
    ["OPTIONS", "/v1/intents/batch", "POST, OPTIONS"],
    ["GET", "/v1/policies/check", "POST, OPTIONS"],
    ["PUT", "/v1/policies/schema", "GET, HEAD, OPTIONS"],
    ["DELETE", "/v1/auth/invitations/accept", "POST, OPTIONS"],
  ] as const) {
    const { status, headers } = await call(url, method, path, { key });
    expect([method, path, status, headers.get("allow")]).toEqual([
      method,
      path,
      method === "OPTIONS" ? 204 : 405,
      allow,
    ]);
  }
  // Uses `fetch`, because `call` looks up the unescaped path in openapi.json.
  const escaped = await fetch(`${url}/v1/intents/%62atch`, { headers: { "x-api-key": key } });
  expect([escaped.status, escaped.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
});

test("an unserved method on a path without authentication is 405 with Allow, and counts like the path's operation", async () => {
  for (const [method, path, category] of [
    ["GET", "/v1/onboarding/quickstart", "onboarding"],
    ["GET", "/v1/auth/login", "authentication"],
    ["DELETE", "/v1/auth/login", "authentication"],
  ] as const) {
    const { status, headers } = await call(url, method, path);
    expect([method, path, status, headers.get("allow")]).toEqual([method, path, 405, "POST, OPTIONS"]);
    expect(headers.get("ratelimit-policy")).toContain(`"${category}"`);
  }
});

test("HEAD answers like GET without its body, also for refusals", async () => {
  for (const path of ["/healthz", "/v1/intents", "/v1/nothing"]) {
    const get = await call(url, "GET", path);
    const head = await call(url, "HEAD", path);
    expect([head.status, head.text]).toEqual([get.status, ""]);
    expect(head.headers.get("content-type")).toBe(get.headers.get("content-type"));
  }
});
