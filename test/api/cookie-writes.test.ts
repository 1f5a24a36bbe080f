import { type Operation, operationRows, roleMeets } from "@countersign/contract";
import { expect, test } from "vitest";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { password, peopleNodes } from "../../packages/server/src/testing/nodes/people-nodes.ts";

const database = await testDatabase();
const nodes = await peopleNodes(database);

/** They start no session and do not use a cookie. */
const withoutSessions: readonly string[] = ["quickstart", "intake", "unsubscribe", "takeSlackRequest"];

const email = "somebody@example.com";
/** A valid body for each operation without authentication, because its handler checks the origin. */
const bodies: Readonly<Record<string, object>> = {
  signup: { org_name: "Acme", email, password },
  verifyEmail: { token: "unknown", password },
  login: { email, password },
  verifyMfa: { code: "123456" },
  logout: {},
  forgotPassword: { email },
  resetPassword: { token: "unknown", password },
  listResetPasskeys: { token: "unknown" },
  acceptInvitation: { token: "unknown", password },
  beginPasskeyLogin: {},
  finishPasskeyLogin: { credential: {} },
  beginSingleSignOn: { email },
  finishSingleSignOn: { org_id: `org_${"0".repeat(26)}`, callback_query: "state=s" },
};

const mayBeSent = ([id, { method, auth }]: readonly [string, Operation]) =>
  method !== "GET" && !withoutSessions.includes(id) && roleMeets("admin", auth);
const path = (operation: Operation) => operation.path.replaceAll(/\{\w+\}/g, "unknown");

test("answers 403 to every cookie write without Origin and Sec-Fetch-Site, even with a Referer; the session stays", async () => {
  const { cookie } = await nodes.signedUp();
  const writes = operationRows.filter(mayBeSent);
  const outcomes: unknown[] = [];
  for (const [id, operation] of writes) {
    const answer = await fetch(nodes.url + path(operation), {
      method: operation.method,
      headers: { cookie, referer: `${nodes.url}/people`, "content-type": "application/json" },
      body: JSON.stringify(bodies[id] ?? {}),
    });
    const { error } = (await answer.json()) as { error: { details: { code: string }[] } };
    outcomes.push([id, answer.status, error.details[0]?.code, answer.headers.get("set-cookie")]);
  }
  expect(outcomes).toEqual(writes.map(([id]) => [id, 403, "cross_origin", null]));
  expect(Object.keys(bodies).filter((id) => !writes.some(([written]) => written === id))).toEqual([]);
  expect((await nodes.send("GET", "/v1/me", { cookie })).status).toBe(200);
});
