/** Every operation asks for its key and its role, with the same answers. The cases come from the contract's table. */
import { type Operation, operationRows, type rateCategories, roleMeets, roleNames } from "@countersign/contract";
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call, type TestOrganization, testOrganization } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";

const database = await testDatabase();
let url: string;
let org: TestOrganization;
const keys = new Map<string, string>();
let revoked: string;
let expired: string;
beforeAll(async () => {
  ({ url } = await serviceNode(database));
  org = await testOrganization(database.db);
  const admin = (await org.key()).api_key;
  for (const role of roleNames) keys.set(role, (await org.key({ role })).api_key);
  const doomed = await org.key();
  expect((await call(url, "DELETE", `/v1/api-keys/${doomed.key_id}`, { key: admin })).status).toBe(204);
  revoked = doomed.api_key;
  expired = (await org.key({ expires_us: Date.now() * 1000 + 1 })).api_key;
});

const guarded = operationRows.filter(([, operation]) => operation.auth !== "none");
const path = (operation: Operation) => operation.path.replaceAll(/\{\w+\}/g, "unknown");
const send = (operation: Operation, key?: string) =>
  call(url, operation.method, path(operation), key === undefined ? {} : { key });

describe.each(guarded)("%s", (id, operation) => {
  test("401 without a key, with junk, with a revoked and with an expired key, before anything else is looked at", async () => {
    const answers = [await send(operation), await send(operation, "svc_live_org_junk")];
    answers.push(await send(operation, revoked), await send(operation, expired));
    expect(answers.map((answer) => [answer.status, answer.json.error.code])).toEqual([
      [401, "missing_api_key"],
      [401, "invalid_api_key"],
      [401, "invalid_api_key"],
      [401, "expired_api_key"],
    ]);
    const header = answers.map((answer) => answer.headers.get("x-service-key-expired"));
    expect(header).toEqual([null, null, null, "true"]);
    for (const answer of answers) {
      expect(answer.json.error.request_id).toBe(answer.headers.get("x-request-id"));
      if (operation.rate !== null) expect(answer.headers.get("ratelimit-limit")).not.toBeNull();
    }
  });

  // A key may rotate itself only: for any other id the answer is 403 whatever the role, and keys.test.ts tests that.
  if (id === "rotateApiKey") return;
  test("403 for every role that it is not for, and never for one that it is for", async () => {
    for (const role of roleNames) {
      const answer = await send(operation, keys.get(role) as string);
      if (operation.auth !== "session" && roleMeets(role, operation.auth)) expect(answer.status, role).not.toBe(403);
      else expect([answer.status, answer.json.error.code], role).toEqual([403, "forbidden"]);
    }
  });
});

const limited = operationRows.filter(([, operation]) => operation.rate !== null);

describe("on a node whose windows hold one request", () => {
  let narrow: string;
  beforeAll(async () => {
    const categories = limited.map(([, { rate }]) => rate as keyof typeof rateCategories);
    const rate_limits = Object.fromEntries(categories.map((category) => [category, 1]));
    ({ url: narrow } = await serviceNode(database, { config: { rate_limits, trust_proxy: ["127.0.0.1/32"] } }));
  });

  test.each(limited)("%s: a full window answers 429, which costs nothing", async (id, operation) => {
    // A window belongs to a key, or to an address where no key is asked for: each operation gets its own.
    const at = limited.findIndex(([each]) => each === id);
    const headers = { "X-Forwarded-For": `198.51.${at >> 8}.${at & 255}` };
    const key = operation.auth === "none" ? {} : { key: (await org.key()).api_key };
    const ask = () => call(narrow, operation.method, path(operation), { ...key, headers });
    const first = await ask();
    expect(first.status).not.toBe(429);
    expect(first.headers.get("ratelimit-remaining")).toBe("0");
    const second = await ask();
    const third = await ask();
    for (const refused of [second, third]) {
      expect([refused.status, refused.json.error.code]).toEqual([429, "rate_limit_exceeded"]);
      const retry_after = Number(refused.headers.get("retry-after"));
      expect(refused.json.error.details).toEqual([{ retry_after_seconds: retry_after }]);
      expect(retry_after).toBeGreaterThanOrEqual(1);
      expect(retry_after).toBeLessThanOrEqual(60);
      expect(refused.headers.get("ratelimit-reset")).toBe(first.headers.get("ratelimit-reset"));
    }
  });
});
