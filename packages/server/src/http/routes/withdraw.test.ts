import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { call } from "../../testing/nodes/http-node.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";
import { heldBody, type Reviewed, reviewedOrganization } from "../../testing/people/review.ts";

const database = await testDatabase();
let urls: [string, string];
let org: Reviewed;
beforeAll(async () => {
  urls = [(await serviceNode(database)).url, (await serviceNode(database)).url];
  org = await reviewedOrganization(database.db, urls[0]);
});

const post = (path: string, key: string, body: unknown, node = 0) =>
  call(urls[node] ?? "", "POST", path, { key, body });
const get = (path: string, key: string) => call(urls[0], "GET", path, { key });

async function held(key = org.agent) {
  const { intent_id, escalation_id } = (await post("/v1/intents", key, heldBody)).json.decision;
  return { intent_id, path: `/v1/escalations/${escalation_id}`, escalation_id };
}

test("the submitting key withdraws its action; a repetition gets the same answer, and the record names the key", async () => {
  const { path, intent_id } = await held();
  const { status, json } = await post(`${path}/withdraw`, org.agent, { reason: "the user left" });
  expect([status, json.decision]).toEqual([
    200,
    (await get(`/v1/intents/${intent_id}/decision`, org.agent)).json.decision,
  ]);
  expect(json.decision).toMatchObject({ outcome: "block", status: "final", escalation_status: "cancelled" });
  expect((await post(`${path}/withdraw`, org.agent, {}, 1)).json).toEqual(json);
  const { escalation } = (await get(path, org.reviewer)).json;
  const { intent } = (await get(`/v1/intents/${intent_id}`, org.admin)).json;
  expect(escalation).toMatchObject({
    withdrawn_by: intent.submitted_by.id,
    resolution: { comment: "the user left" },
  });
  const { audit } = (await get(`/v1/intents/${intent_id}/audit`, org.admin)).json;
  expect(audit.map(({ type }: { type: string }) => type)).toEqual(["submitted", "decided", "escalated", "cancelled"]);
});

test("a rotation withdraws; others get 403, agents that may not see the action 404, all 409 for a closed one", async () => {
  const { api_key, key_id } = (await post("/v1/api-keys", org.admin, { role: "agent" })).json;
  const { path } = await held(api_key);
  const answers = await Promise.all([org.admin, org.agent].map((key) => post(`${path}/withdraw`, key, {})));
  expect(answers.map(({ status }) => status)).toEqual([403, 404]);
  const next = (await post(`/v1/api-keys/${key_id}/rotate`, api_key, undefined)).json.api_key;
  const { path: decided } = await held(next);
  await post(`${decided}/decision`, org.reviewer, { outcome: "block" });
  expect((await post(`${decided}/withdraw`, next, {})).json.error.code).toBe("escalation_closed");
  expect((await post(`${path}/withdraw`, next, undefined)).status).toBe(200);
});

test("an escalation whose submitter has no key left is marked as abandoned, in the record and in the list", async () => {
  const { api_key, key_id } = (await post("/v1/api-keys", org.admin, { role: "agent" })).json;
  const { path, escalation_id } = await held(api_key);
  expect((await get(path, org.reviewer)).json.escalation).not.toHaveProperty("nobody_waits");
  await call(urls[0], "DELETE", `/v1/api-keys/${key_id}`, { key: org.admin });
  expect((await get(path, org.reviewer)).json.escalation.nobody_waits).toBe("key_revoked");
  const { escalations } = (await get("/v1/escalations?status=pending&limit=1", org.reviewer)).json;
  expect(escalations[0]).toMatchObject({ escalation_id, nobody_waits: "key_revoked" });
  await post(`${path}/decision`, org.reviewer, { outcome: "block" });
  expect((await get(path, org.reviewer)).json.escalation).not.toHaveProperty("nobody_waits");
});
