import { type Operation, operationRows, rateCategories, roleMeets, roleNames } from "@countersign/contract";
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call, type TestOrganization, testOrganization } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { sideBySide } from "../../packages/server/src/testing/side-by-side.ts";

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

test("answers 401 without a key and with a junk, revoked or expired key, before any other check", async () => {
  const refused = [
    { key: undefined, code: "missing_api_key", expired: null },
    { key: "svc_live_org_junk", code: "invalid_api_key", expired: null },
    { key: revoked, code: "invalid_api_key", expired: null },
    { key: expired, code: "expired_api_key", expired: "true" },
  ];
  const cases = guarded.flatMap(([id, operation]) => refused.map((each) => ({ id, operation, ...each })));
  const seen = await sideBySide(cases, async ({ id, operation, key }) => {
    const { status, json, headers } = await send(operation, key);
    return {
      ...{ id, status, code: json.error.code, expired: headers.get("x-service-key-expired") },
      names_request: json.error.request_id === headers.get("x-request-id"),
      shows_window: operation.rate === null || headers.get("ratelimit-limit") !== null,
    };
  });
  expect(seen).toEqual(
    cases.map(({ id, code, expired }) => ({
      ...{ id, status: 401, code, expired, names_request: true, shows_window: true },
    })),
  );
});

test("answers 403 exactly to the roles that an operation excludes", async () => {
  // A key may rotate only itself. `keys.test.ts` tests that.
  const judged = guarded.filter(([id]) => id !== "rotateApiKey");
  const cases = judged.flatMap(([id, operation]) => roleNames.map((role) => ({ id, operation, role })));
  const seen = await sideBySide(cases, async ({ id, operation, role }) => {
    const { status, json } = await send(operation, keys.get(role) as string);
    return [id, role, status === 403 ? json.error.code : "let in"];
  });
  expect(seen).toEqual(
    cases.map(({ id, operation, role }) => [
      id,
      role,
      operation.auth !== "session" && roleMeets(role, operation.auth) ? "let in" : "forbidden",
    ]),
  );
});

test("answers 429 when the window is full, and refusals do not count", async () => {
  const limited = operationRows.filter(([, operation]) => operation.rate !== null);
  const categories = limited.map(([, { rate }]) => rate as keyof typeof rateCategories);
  const rate_limits = Object.fromEntries(categories.map((category) => [category, 1]));
  // The clock does not move, so no rate window ends on a slow machine.
  const now_us = Date.now() * 1000;
  const { url: narrow } = await serviceNode(database, { config: { rate_limits }, clock: { now_us: () => now_us } });
  // A window belongs to one category, and to one key or address.
  const { api_key } = await org.key();
  const ask = (operation: Operation) =>
    call(narrow, operation.method, path(operation), operation.auth === "none" ? {} : { key: api_key });
  const windowOf = ({ auth, rate }: Operation) =>
    auth !== "none" && rateCategories[rate as keyof typeof rateCategories].counted_by === "key"
      ? `${rate} of a key`
      : `${rate} of an address`;
  const filled = new Map<string, Headers>();
  for (const [id, operation] of limited) {
    if (filled.has(windowOf(operation))) continue;
    const { status, headers } = await ask(operation);
    expect(status, id).not.toBe(429);
    expect(headers.get("ratelimit-remaining"), id).toBe("0");
    filled.set(windowOf(operation), headers);
  }
  await sideBySide(limited, async ([id, operation]) => {
    const first = filled.get(windowOf(operation));
    const { status, json, headers } = await ask(operation);
    expect([id, status, json.error.code]).toEqual([id, 429, "rate_limit_exceeded"]);
    const retry_after = Number(headers.get("retry-after"));
    expect(json.error.details, id).toEqual([{ retry_after_seconds: retry_after }]);
    expect(retry_after, id).toBeGreaterThanOrEqual(1);
    expect(retry_after, id).toBeLessThanOrEqual(60);
    expect(headers.get("ratelimit-policy"), id).toBe(first?.get("ratelimit-policy"));
    expect(headers.get("ratelimit-reset"), id).toBe(first?.get("ratelimit-reset"));
  });
});
