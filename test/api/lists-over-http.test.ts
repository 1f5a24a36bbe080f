import { limits, type Operation, operationRows } from "@countersign/contract";
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call, testOrganization } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { cheapPasswords } from "../../packages/server/src/testing/people/passwords.ts";
import { testPerson } from "../../packages/server/src/testing/people/person.ts";
import { heldBody } from "../../packages/server/src/testing/people/review.ts";
import { sideBySide } from "../../packages/server/src/testing/side-by-side.ts";
import { sampleOf } from "../../scripts/property-runs.ts";
import { oddCursors } from "./hostile-requests.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);
let key = "";
let cookie = "";
let intent_id = "";
let policy_id = "";
let webhook_id = "";
beforeAll(async () => {
  const org = await testOrganization(database.db);
  key = (await org.key()).api_key;
  const made = async (path: string, body: object) => (await call(url, "POST", path, { key, body })).json;
  intent_id = (await made("/v1/intents", { intent: heldBody.intent })).intent_id;
  const spec = { when: "params.amount > 5", effect: "block", on_unknown: "skip" };
  const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "versions" }, spec };
  policy_id = (await made("/v1/policies", { policy })).policy.policy_id;
  webhook_id = (await made("/v1/escalations/webhooks", { url: "https://hooks.example.com/x" })).webhook.id;
  const password = "correct horse battery staple";
  const { email } = await testPerson(database.db, org.org_id, {
    password_hash: await cheapPasswords().hash(password),
  });
  const login = await call(url, "POST", "/v1/auth/login", { body: { email, password } });
  cookie = login.headers.get("set-cookie")?.split(";")[0] ?? "";
});

const lists = operationRows.filter(([, { query }]) => query?.properties["cursor"] !== undefined) as [
  string,
  Operation,
][];

describe.each(lists)("%s", (id, operation) => {
  const path = (query: string) =>
    `${operation.path.replace("{intent_id}", intent_id).replace("{policy_id}", policy_id).replace("{webhook_id}", webhook_id)}?${query}`;
  const body = id === "replayDeliveries" ? { body: { from: "2026-11-01T00:00:00Z", to: "2026-11-02T00:00:00Z" } } : {};

  const done = Number(Object.keys(operation.answers)[0]);
  const read = (query: string) =>
    call(url, operation.method, path(query), {
      ...(operation.auth === "session" ? { headers: { cookie } } : { key }),
      ...body,
    });

  test("accepts a limit of 1 to 200", async () => {
    const taken = [1, 2, limits.list_limit_max - 1, limits.list_limit_max];
    const refused = [0, limits.list_limit_max + 1, -1, 1.5, "1e2", "", "0x1", "%31%00", "1&limit=1"];
    const seen = await sideBySide([...taken, ...refused], async (n) => [n, (await read(`limit=${n}`)).status]);
    expect(seen).toEqual([...taken.map((n) => [n, done]), ...refused.map((n) => [n, 400])]);
  });

  test("refuses cursors that are cut, too long, or from another list", async () => {
    const longest = "a".repeat(limits.cursor_chars_max);
    // A well-formed position of this list is accepted even if no row is there.
    await sideBySide([...sampleOf(oddCursors), "x", longest, `${longest}a`], async (cursor) => {
      const { status, text } = await read(`cursor=${cursor}`);
      expect([done, 400], `${cursor} ${text}`).toContain(status);
      const place = Buffer.from(cursor, "base64url").toString("utf8");
      if (!/^([a-z]{2,3}_[0-9A-HJKMNP-TV-Z]{26}|[1-9]\d{0,15}|[a-z-]+)$/.test(place)) expect(status, cursor).toBe(400);
    });
  });
});
