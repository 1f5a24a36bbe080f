/** Source: docs/reference/reviews.md. */
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { activatePayPolicy, type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
let url: string;
let org: Reviewed;
let ann: { readonly key_id: string; readonly api_key: string };

const post = (path: string, key: string, body?: unknown) => call(url, "POST", path, { key, body });
const read = async (path: string) => (await call(url, "GET", path, { key: org.admin })).json.escalation;

beforeAll(async () => {
  ({ url } = await serviceNode(database));
  const membrane = { timeout_seconds: 600, on_timeout: "block", reviewers: [], quorum: 1 };
  org = await reviewedOrganization(database.db, url, { packs: [], escalation: membrane });
  const hold = (name: string, when: string, escalation: object) =>
    activatePayPolicy(url, org, name, { when, escalation });
  ann = await org.org.key({ role: "reviewer" });
  await hold("look", "params.amount < 1e6", { reviewers: ["role:reviewer"] });
  await hold("large", "params.amount > 1000.0 && params.amount < 1e6", { reviewers: ["role:admin"], after: "look" });
  await hold("of-ann", "params.amount > 1e6", { reviewers: [`user:${ann.key_id}`] });
  await hold("operators", "params.amount == 1e6", { reviewers: ["role:operator"] });
  await hold("admins", "params.amount == 1e6", { reviewers: ["role:admin"], quorum: 2 });
  await hold("then", "params.amount > 1e6", { reviewers: ["role:operator"], after: "of-ann" });
});

async function held(amount = 90_000): Promise<string> {
  const action = { type: "payment.transfer", verb: "pay" };
  const intent = { agent: { id: "agent-1" }, action, payload: { content: { amount } } };
  const { json } = await post("/v1/intents", org.agent, { intent });
  return `/v1/escalations/${json.decision.escalation_id}`;
}

test("the record shows the rules, the required approvals, the missing people and the current panel", async () => {
  const path = await held();
  const { panels } = await read(path);
  expect(panels).toEqual([
    {
      ...{ source: "policy", policy_id: expect.stringMatching(/^pol_/), policy: "large", required: 1, approvals: 0 },
      ...{ reviewers: [{ type: "role", id: "admin" }], approved_by: [], missing: "1 more approval by any admin" },
      ...{ after: "look", status: "waiting" },
    },
    {
      ...{ source: "policy", policy_id: expect.stringMatching(/^pol_/), policy: "look", required: 1, approvals: 0 },
      ...{ reviewers: [{ type: "role", id: "reviewer" }], approved_by: [], missing: "1 more approval by any reviewer" },
      ...{ after: null, status: "open" },
    },
  ]);
  const { escalations } = (await call(url, "GET", "/v1/escalations?status=pending", { key: org.admin })).json;
  expect(escalations.find((each: { escalation_id: string }) => path.endsWith(each.escalation_id)).panels).toEqual(
    panels,
  );
});

test("reviewers in the first panel approve first, and the record shows each step", async () => {
  const path = await held();
  const first = (await post(`${path}/decision`, org.reviewer, { outcome: "approve" })).json.escalation;
  expect(first.panels.map(({ policy, status }: Record<string, string>) => `${policy} ${status}`)).toEqual([
    ...["large open", "look met"],
  ]);
  const { escalation } = (await post(`${path}/decision`, org.admin, { outcome: "approve" })).json;
  expect(escalation).toMatchObject({
    status: "decided",
    panels: [{ status: "met", missing: null }, { status: "met" }],
  });
  expect(await read(path)).toEqual(escalation);
});

test("a member of a later panel cannot approve early, and gets the reason; anyone may block at any time", async () => {
  const path = await held(2_000_000);
  const early = await post(`${path}/decision`, org.operator, { outcome: "approve" });
  expect([early.status, early.json.error.code]).toEqual([409, "state_conflict"]);
  expect(early.json.error.details).toEqual([
    {
      ...{ path: "/outcome", code: "before_turn" },
      message:
        `Your turn has not come: the reviewers of of-ann approve first. Missing there: 1 more approval by ${ann.key_id}. ` +
        "Approve after that, or decide block now.",
    },
  ]);
  expect((await read(path)).votes).toEqual([]);
  expect((await post(`${path}/decision`, ann.api_key, { outcome: "approve" })).json.escalation.status).toBe("pending");
  expect((await post(`${path}/decision`, org.operator, { outcome: "approve" })).json.escalation.status).toBe("decided");
  const blocked = await post(`${await held(2_000_000)}/decision`, org.operator, { outcome: "block" });
  expect(blocked.json.escalation).toMatchObject({ status: "decided", resolution: { outcome: "block" } });
});

test("activating and checking a policy warns if too few people exist, and if the order cannot be kept", async () => {
  const policy = (name: string, escalation: object) => ({
    policy: {
      apiVersion: "countersign/v1",
      kind: "Policy",
      metadata: { name },
      spec: { match: { verbs: ["never"] }, when: "true", effect: "escalate", escalation },
    },
  });
  const warned = async (name: string, escalation: object): Promise<string[]> => {
    const checked = await post("/v1/policies/check", org.admin, policy(name, escalation));
    const saved = await post("/v1/policies", org.admin, policy(name, escalation));
    const path = `/v1/policies/${saved.json.policy.policy_id}/activate`;
    const activated = await post(path, org.admin, { mode: "live" });
    const messages = [checked, activated].map(({ json }) =>
      json.warnings.map((each: { message: string }) => each.message),
    );
    expect(messages[0]).toEqual(messages[1]);
    return messages[1];
  };
  expect(await warned("many", { reviewers: ["role:admin"], quorum: 9 })).toEqual([
    expect.stringMatching(/9 different people; in the membrane default your organization has only \d/),
  ]);
  expect(await warned("one", { reviewers: ["role:admin"] })).toEqual([]);
  expect(await warned("lost", { after: "nowhere" })).toEqual([expect.stringContaining("the name nowhere")]);
  expect(await warned("egg", { after: "hen" })).toEqual([expect.stringContaining("the name hen")]);
  expect(await warned("hen", { after: "egg" })).toEqual([expect.stringContaining("hen → egg → hen")]);
});

test("a review opened by an earlier version also shows panels", async () => {
  const path = await held();
  const before = await read(path);
  await database.db.query(
    "update escalations set record = (record::jsonb - 'panels')::json where org_id = $1 and escalation_id = $2",
    [org.org.org_id, before.escalation_id],
  );
  expect((await read(path)).panels).toEqual(before.panels);
  const { escalations } = (await call(url, "GET", "/v1/escalations?status=pending", { key: org.admin })).json;
  expect(escalations[0].panels).toEqual(before.panels);
});

test("a panel's reviewers may block even if reviewers of another panel could approve for them", async () => {
  const path = await held(1e6);
  const vote = (outcome: string) => post(`${path}/decision`, org.operator, { outcome });
  expect((await vote("approve")).status).toBe(403);
  expect((await vote("block")).json.escalation.resolution.outcome).toBe("block");
});
