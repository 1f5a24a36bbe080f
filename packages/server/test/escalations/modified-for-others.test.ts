/** Source: docs/decisions/0011. */
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { activatePayPolicy, type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
let url: string;
let org: Reviewed;

const post = (path: string, key: string, body?: unknown) => call(url, "POST", path, { key, body });

const holds = (name: string, when: string, escalation: object, effect: "escalate" | "block" = "escalate") =>
  activatePayPolicy(url, org, name, { when, escalation, effect });

beforeAll(async () => {
  ({ url } = await serviceNode(database));
  org = await reviewedOrganization(database.db, url, { packs: [] });
  await holds("any", "params.amount > 5.0", {});
  await holds("large", "params.amount > 1000.0", { reviewers: ["role:operator"] });
  await holds("huge", "params.amount > 5000.0", { quorum: 2 });
  await holds("limit", "params.amount > 50000.0", {}, "block");
});

async function held(amount: number): Promise<string> {
  const action = { type: "payment.transfer", verb: "pay" };
  const intent = { agent: { id: "agent-1" }, action, payload: { content: { amount, memo: "rent" } } };
  const { json } = await post("/v1/intents", org.agent, { intent });
  return `/v1/escalations/${json.decision.escalation_id}`;
}

const raise = (path: string, key: string, value: unknown) => {
  const modifications = [{ op: "replace", path: "/amount", value }];
  return post(`${path}/decision`, key, { outcome: "approve_modified", modifications });
};
const refusal = async (path: string, key: string, value: unknown) => {
  const { status, json } = await raise(path, key, value);
  return [status, json.error?.code, ...(json.error?.details ?? []).map((each: { policy: string }) => each.policy)];
};

test("refuses a change that another policy reserves for others, unless the reviewer is one of them", async () => {
  const path = await held(9);
  expect(await refusal(path, org.reviewer, 2_000)).toEqual([422, "modified_action_blocked", "large"]);
  const { escalation } = (await call(url, "GET", path, { key: org.admin })).json;
  expect(escalation).toMatchObject({ status: "pending", votes: [] });
  expect((await raise(path, org.operator, 2_000)).json.escalation.resolution.outcome).toBe("approve_modified");
});

test("a change that needs more approvals than the quorum is refused for everybody", async () => {
  const path = await held(9);
  expect(await refusal(path, org.reviewer, 9_000)).toEqual([422, "modified_action_blocked", "huge", "large"]);
  expect(await refusal(path, org.operator, 9_000)).toEqual([422, "modified_action_blocked", "huge"]);
  expect((await raise(path, org.reviewer, 900)).status).toBe(200);
});

test("a change that a blocking policy cannot read, or that changes a JSON type, is refused for everybody", async () => {
  const path = await held(9);
  for (const value of ["99999", [99_999], null])
    expect(await refusal(path, org.admin, value)).toEqual([422, "modified_action_blocked", "limit"]);
  const modifications = [{ op: "replace", path: "/memo", value: ["rent"] }];
  const { status, json } = await post(`${path}/decision`, org.admin, { outcome: "approve_modified", modifications });
  expect([status, json.error.code]).toEqual([400, "invalid_request"]);
  expect(json.error.details).toEqual([
    { path: "/modifications", code: "not_allowed", message: expect.stringContaining("/memo a value of the type list") },
  ]);
});

test("a review keeps the action's first reasons, also after a reassignment", async () => {
  const path = await held(2_000);
  expect((await raise(path, org.reviewer, 3_000)).status).toBe(403);
  const reviewers = [{ type: "role", id: "reviewer" }];
  expect((await post(`${path}/reassign`, org.operator, { reviewers })).status).toBe(200);
  expect((await raise(path, org.reviewer, 3_000)).status).toBe(200);
});
