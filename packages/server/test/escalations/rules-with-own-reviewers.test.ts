/** Source: docs/decisions/0011. */
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { activatePayPolicy, type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
let url: string;
let org: Reviewed;
const keys: Record<"ann" | "bob", { readonly key_id: string; readonly api_key: string }> = {} as never;

const post = (path: string, key: string, body?: unknown) => call(url, "POST", path, { key, body });
const named = (who: keyof typeof keys) => ({ type: "user", id: keys[who].key_id });

const hold = (name: string, when: string, escalation: object) =>
  activatePayPolicy(url, org, name, { when, escalation });

beforeAll(async () => {
  ({ url } = await serviceNode(database));
  org = await reviewedOrganization(database.db, url, { packs: [] });
  for (const who of ["ann", "bob"] as const) keys[who] = await org.org.key({ role: "reviewer" });
  await hold("large", "params.amount > 1000.0", { reviewers: ["role:operator"] });
  await hold("of-ann", "params.memo.contains('petty cash')", { reviewers: [`user:${keys.ann.key_id}`] });
});

async function held(amount: number): Promise<string> {
  const content = { amount, memo: "petty cash" };
  const action = { type: "payment.transfer", verb: "pay" };
  const intent = { agent: { id: "agent-1" }, action, payload: { content } };
  const { json } = await post("/v1/intents", org.agent, { intent });
  return `/v1/escalations/${json.decision.escalation_id}`;
}
const vote = async (path: string, key: string, outcome = "approve") =>
  (await post(`${path}/decision`, key, { outcome })).json.escalation;

test("each rule's reviewers must approve, whatever other rules say", async () => {
  const path = await held(90_000);
  const { escalation } = (await call(url, "GET", path, { key: org.admin })).json;
  expect(escalation).toMatchObject({ reviewers: [{ type: "role", id: "operator" }, named("ann")] });
  expect(escalation.quorum).toEqual({ required: 2, approvals: 0, rejections: 0 });
  expect((await post(`${path}/decision`, keys.bob.api_key, { outcome: "approve" })).status).toBe(403);
  expect(await vote(path, keys.ann.api_key)).toMatchObject({
    status: "pending",
    quorum: { required: 2, approvals: 1 },
  });
  expect(await vote(path, org.operator)).toMatchObject({ status: "decided", resolution: { outcome: "approve" } });
});

test("a second approval by one rule's reviewers does not replace another rule's", async () => {
  const path = await held(90_000);
  await vote(path, org.operator);
  expect(await vote(path, org.admin)).toMatchObject({ status: "pending", quorum: { required: 3, approvals: 2 } });
  expect(await vote(path, keys.ann.api_key)).toMatchObject({
    status: "decided",
    quorum: { required: 3, approvals: 3 },
  });
});

test("the reviewers of one rule block alone", async () => {
  expect(await vote(await held(90_000), keys.ann.api_key, "block")).toMatchObject({
    status: "decided",
    resolution: { outcome: "block" },
  });
});

test("after a reassignment the new reviewers must give all approvals that the rules demanded together", async () => {
  const path = await held(90_000);
  const hand = (...reviewers: object[]) => post(`${path}/reassign`, org.operator, { reviewers });
  expect((await hand(named("bob"))).json.error.details[0]).toMatchObject({ path: "/reviewers", code: "out_of_range" });
  await vote(path, keys.ann.api_key);
  expect((await hand(named("bob"))).status).toBe(200);
  expect((await post(`${path}/decision`, org.operator, { outcome: "approve" })).status).toBe(403);
  expect(await vote(path, keys.bob.api_key)).toMatchObject({
    status: "decided",
    quorum: { required: 2, approvals: 2 },
  });
});
