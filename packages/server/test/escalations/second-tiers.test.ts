/** Source: docs/reference/reviews.md. */
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { activatePayPolicy, deadlineIn, type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
let url: string;
let org: Reviewed;

const post = (path: string, key: string, body?: unknown) => call(url, "POST", path, { key, body });
const read = async (path: string) => (await call(url, "GET", path, { key: org.admin })).json.escalation;
const approve = (path: string, key: string) => post(`${path}/decision`, key, { outcome: "approve" });
// biome-ignore lint/suspicious/noThenProperty: the word of the policy language.
const second = (after: string, ...reviewers: string[]) => ({ then: { after, reviewers } });

beforeAll(async () => {
  ({ url } = await serviceNode(database));
  const membrane = { timeout_seconds: 3_600, on_timeout: "block", reviewers: [], quorum: 1 };
  org = await reviewedOrganization(database.db, url, { packs: [], escalation: membrane });
  const tier = second("30m", "role:operator");
  await activatePayPolicy(url, org, "admins", { when: "true", escalation: { reviewers: ["role:admin"], ...tier } });
  const both = { reviewers: ["role:admin"] };
  await activatePayPolicy(url, org, "both", { when: "params.amount > 10.0", escalation: both });
});

async function held(amount: number) {
  const action = { type: "payment.transfer", verb: "pay" };
  const intent = { agent: { id: "agent-1" }, action, payload: { content: { amount } } };
  const { escalation_id } = (await post("/v1/intents", org.agent, { intent })).json.decision;
  const left = (interval: string) => deadlineIn(database.db, [escalation_id], interval);
  return { path: `/v1/escalations/${escalation_id}`, escalation_id, left };
}

const listedFor = async (reviewer: string) =>
  (await call(url, "GET", `/v1/escalations?status=pending&reviewer=${reviewer}`, { key: org.admin })).json.escalations;

test("the second tier votes from its opening time, which the record shows", async () => {
  const { path, escalation_id, left } = await held(5);
  const before = await read(path);
  expect(before.panels).toMatchObject([
    { reviewers: [{ id: "admin" }], tier: { reviewers: [{ type: "role", id: "operator" }] } },
  ]);
  const opens_in = Date.parse(before.expires_at) - Date.parse(before.panels[0].tier.opens_at);
  expect(opens_in).toBe(30 * 60_000);
  await left("31 minutes");
  expect((await approve(path, org.operator)).json.error.code).toBe("forbidden");
  expect(await listedFor("role:operator")).toEqual([]);
  await left("29 minutes");
  const open = await read(path);
  expect(open.reviewers.map(({ id }: { id: string }) => id)).toEqual(["admin", "operator"]);
  expect(open.panels[0].missing).toBe("1 more approval by any admin or any operator");
  const listed = await listedFor("role:operator");
  expect(listed).toMatchObject([{ escalation_id, reviewers: open.reviewers }]);
  expect((await approve(path, org.reviewer)).json.error.code).toBe("forbidden");
  const { escalation } = (await approve(path, org.operator)).json;
  expect(escalation).toMatchObject({ status: "decided", panels: [{ status: "met", reviewers: open.reviewers }] });
  expect(await read(path)).toEqual(escalation);
});

test("the second tier completes only its own rule's panel", async () => {
  const { path, left } = await held(50);
  await left("10 minutes");
  const { escalation } = (await approve(path, org.operator)).json;
  const shown = escalation.panels.map(({ policy, status }: Record<string, string>) => `${policy} ${status}`);
  expect([escalation.status, ...shown]).toEqual(["pending", "admins met", "both open"]);
  expect((await approve(path, org.admin)).json.escalation.status).toBe("decided");
});

test("a reassignment ends second tiers", async () => {
  const { path, left } = await held(5);
  await post(`${path}/reassign`, org.operator, { reviewers: [{ type: "role", id: "admin" }] });
  await left("10 minutes");
  expect((await read(path)).panels[0].tier).toBe(undefined);
  expect((await approve(path, org.operator)).json.error.code).toBe("forbidden");
});

test("a tier that opens after every membrane's time limit is refused at save; after some limits it gives a warning", async () => {
  const policy = (name: string, escalation: object) => ({
    policy: {
      ...{ apiVersion: "countersign/v1", kind: "Policy", metadata: { name } },
      spec: { match: { verbs: ["never"] }, when: "true", effect: "escalate", escalation },
    },
  });
  const late = policy("late", second("1h", "role:admin"));
  const refused = await post("/v1/policies", org.admin, late);
  expect([refused.status, refused.json.error.code]).toEqual([422, "policy_invalid"]);
  expect(refused.json.error.details).toMatchObject([
    { path: "/spec/escalation/then/after", code: "out_of_range", message: expect.stringContaining("1h") },
  ]);
  const checked = (await post("/v1/policies/check", org.admin, late)).json;
  expect([checked.valid, checked.diagnostics[0].path]).toEqual([false, "/spec/escalation/then/after"]);
  const saved = await post("/v1/policies", org.admin, policy("early", second("59m", "role:admin")));
  expect(saved.status).toBe(201);
  const path = `/v1/policies/${saved.json.policy.policy_id}`;
  expect((await call(url, "PUT", path, { key: org.admin, body: late })).status).toBe(422);
  await post("/v1/membranes", org.admin, { name: "longer", escalation: { timeout_seconds: 7_200 } });
  const warned = (await post("/v1/policies/check", org.admin, late)).json;
  expect([warned.valid, warned.warnings.map(({ message }: { message: string }) => message)]).toEqual([
    true,
    [expect.stringContaining("membrane default")],
  ]);
});
