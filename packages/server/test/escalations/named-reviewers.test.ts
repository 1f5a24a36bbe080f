/** Source: docs/decisions/0011. */
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { meanwhile } from "../../src/testing/meanwhile.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { deadlineIn, heldBody, type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
const { db } = database;
let url: string;
let org: Reviewed;
beforeAll(async () => {
  ({ url } = await serviceNode(database));
  org = await reviewedOrganization(db, url);
});

const post = (path: string, key: string, body: unknown) => call(url, "POST", path, { key, body });
async function held(key = org.agent) {
  const { json } = await post("/v1/intents", key, heldBody);
  expect(json.decision.verdict).toBe("escalate");
  return { path: `/v1/escalations/${json.decision.escalation_id}` };
}
const none = "00000000000000000000000000";

test("a review assigned to a key is that key's to decide, also after rotation; a foreign key is like an unknown one", async () => {
  const { path } = await held();
  const made = (await post("/v1/api-keys", org.admin, { role: "reviewer" })).json;
  const foreign = await (await reviewedOrganization(db, url)).org.key({ role: "reviewer" });
  const hand = (id: string) => post(`${path}/reassign`, org.operator, { reviewers: [{ type: "user", id }] });
  const [unknown, strange] = [await hand("key_00000000000000000000000000"), await hand(foreign.key_id)];
  const problem = { path: "/reviewers/0/id", code: "not_allowed" };
  expect(unknown.json.error).toMatchObject({ code: "invalid_request", details: [problem] });
  expect(strange.json.error.details).toEqual(unknown.json.error.details);
  expect((await hand(made.key_id)).status).toBe(200);
  expect((await post(`${path}/decision`, org.reviewer, { outcome: "approve" })).json.error.code).toBe("forbidden");
  const rotate = async (of: { key_id: string; api_key: string }) =>
    (await post(`/v1/api-keys/${of.key_id}/rotate`, of.api_key, undefined)).json;
  const second = await rotate(made);
  // Either key of the person may be named: the first, or a later one.
  const later = await held();
  const reviewers = [{ type: "user", id: second.key_id }];
  expect((await post(`${later.path}/reassign`, org.operator, { reviewers })).status).toBe(200);
  const { api_key } = await rotate(second);
  for (const at of [path, later.path])
    expect((await post(`${at}/decision`, api_key, { outcome: "approve" })).status).toBe(200);
});

test("refuses reviewers who could not decide: ended keys, roles below reviewer, the submitter and its creators", async () => {
  const own = await reviewedOrganization(db, url);
  const make = async (by: string, role: string) => (await post("/v1/api-keys", by, { role })).json;
  const creator = await make(own.admin, "admin");
  const submitting = await make(creator.api_key, "operator");
  const { path } = await held(submitting.api_key);
  const [auditor, revoked, expired] = [
    await make(own.admin, "auditor"),
    await make(own.admin, "reviewer"),
    await make(own.admin, "reviewer"),
  ];
  expect((await call(url, "DELETE", `/v1/api-keys/${revoked.key_id}`, { key: own.admin })).status).toBe(204);
  await db.system((query) =>
    query("update api_keys set expires_at = clock_timestamp() where key_id = $1", [expired.key_id]),
  );
  const named = [auditor, revoked, expired, submitting, creator].map(({ key_id: id }) => ({ type: "user", id }));
  const reviewers = [{ type: "role", id: "operator" }, ...named];
  const { status, json } = await post(`${path}/reassign`, own.operator, { reviewers });
  expect([status, json.error.code]).toEqual([400, "invalid_request"]);
  const over = "This key is revoked or expired.";
  const its_own = expect.stringContaining("cannot decide");
  expect(json.error.details).toEqual(
    ["The role auditor may not decide.", over, over, its_own, its_own].map((message, n) => ({
      path: `/reviewers/${n + 1}/id`,
      code: "not_allowed",
      message,
    })),
  );
  expect((await call(url, "GET", path, { key: own.reviewer })).json.escalation.reviewers).toEqual([
    { type: "role", id: "reviewer" },
  ]);
});

test("refuses fewer people than the quorum; earlier approvals count, and one person's keys count once", async () => {
  const escalation = { timeout_seconds: 600, on_timeout: "block", reviewers: [], quorum: 2 };
  const own = await reviewedOrganization(db, url, { escalation });
  const { path } = await held(own.agent);
  const make = () => own.org.key({ role: "reviewer" });
  const [one, other] = [await make(), await make()];
  const next = (await post(`/v1/api-keys/${one.key_id}/rotate`, one.api_key, undefined)).json;
  const hand = (...ids: string[]) =>
    post(`${path}/reassign`, own.operator, { reviewers: ids.map((id) => ({ type: "user", id })) });
  for (const alone of [[next.key_id], [one.key_id, next.key_id]]) {
    const { status, json } = await hand(...alone);
    expect([status, json.error?.details[0]]).toEqual([
      400,
      expect.objectContaining({ path: "/reviewers", code: "out_of_range" }),
    ]);
  }
  expect((await hand(next.key_id, other.key_id)).status).toBe(200);
  expect((await post(`${path}/decision`, other.api_key, { outcome: "approve" })).status).toBe(200);
  expect((await hand(other.key_id)).status).toBe(400);
  expect((await hand(next.key_id)).status).toBe(200);
  const { escalation: decided } = (await post(`${path}/decision`, next.api_key, { outcome: "approve" })).json;
  expect(decided).toMatchObject({ status: "decided", quorum: { required: 2, approvals: 2 } });
});

test("reports a missing right, or a closed review, before any problem of the requested change", async () => {
  const own = await reviewedOrganization(db, url, { default_verdict: "escalate", packs: ["account"] });
  const facts = { entity_state: { account_status: "active", account_balance_usd: 100 } };
  const action = { type: "payment.transfer", verb: "pay" };
  const intent = { agent: { id: "a" }, action, payload: { content: { amount_usd: 50 } } };
  const held = async () =>
    (await post("/v1/intents", own.agent, { intent, context: { contract_version: "1", facts } })).json.decision
      .escalation_id;
  const [id, late] = [await held(), await held()];
  const path = `/v1/escalations/${id}`;
  const change = (at: string) => [{ op: "replace", path: at, value: 500 }];
  const asks = async (key: string, of = path) => {
    const answers = ["/amount_usd", "/no/such/place"].map(async (at) => {
      const body = { outcome: "approve_modified", modifications: change(at) };
      return (await post(`${of}/decision`, key, body)).json.error.code;
    });
    return Promise.all(answers);
  };
  expect(await asks(own.reviewer)).toEqual(["modified_action_blocked", "invalid_request"]);
  const reviewers = [{ type: "role", id: "operator" }];
  expect((await post(`${path}/reassign`, own.operator, { reviewers })).status).toBe(200);
  expect(await asks(own.reviewer)).toEqual(["forbidden", "forbidden"]);
  expect((await post(`${path}/decision`, own.operator, { outcome: "approve" })).status).toBe(200);
  expect(await asks(own.operator)).toEqual(["escalation_closed", "escalation_closed"]);
  await deadlineIn(db, [late], "0 seconds");
  expect(await asks(own.operator, `/v1/escalations/${late}`)).toEqual(["escalation_closed", "escalation_closed"]);
});

test.each<[string, unknown]>([
  ["nobody", []],
  ["an unknown kind", [{ type: "team", id: "a" }]],
  ["no id", [{ type: "role" }]],
  ["a text", ["role:operator"]],
  ["a role in other letters", [{ type: "role", id: "Operator" }]],
  ["a role that may not decide", [{ type: "role", id: "auditor" }]],
  ["an address", [{ type: "user", id: "ann@example.com" }]],
  ["a person that is nobody", [{ type: "user", id: `usr_${none}` }]],
  ["a key that is nobody's", [{ type: "user", id: `key_${none}` }]],
  ["51 people", Array(51).fill({ type: "user", id: "usr_1" })],
  ["null", null],
])("reassigning to %s is 400", async (_title, reviewers) => {
  const { path } = await held();
  const { status, json } = await post(`${path}/reassign`, org.operator, { reviewers });
  expect([status, json.error.code]).toEqual([400, "invalid_request"]);
});

test("a person named by one policy decides, also if another policy holds the action for the person's role", async () => {
  const own = await reviewedOrganization(db, url, { packs: [] });
  const key = async (role: string) => (await post("/v1/api-keys", own.admin, { role })).json;
  const [named, other] = [await key("operator"), await key("operator")];
  const hold = async (name: string, reviewers: readonly string[] | undefined) => {
    const escalation = reviewers && { reviewers };
    const spec = { match: { actions: ["system.deploy"] }, when: "true", effect: "escalate", escalation };
    const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name }, spec };
    const { json } = await post("/v1/policies", own.admin, { policy });
    const activated = await post(`/v1/policies/${json.policy.policy_id}/activate`, own.admin, { mode: "live" });
    expect(activated.status).toBe(200);
  };
  const rulings = async () => {
    const { path } = await held(own.agent);
    const { reviewers } = (await call(url, "GET", path, { key: own.reviewer })).json.escalation;
    expect(reviewers).toEqual([{ type: "user", id: named.key_id }]);
    const rule = async (by: string) => (await post(`${path}/decision`, by, { outcome: "approve" })).status;
    return [await rule(own.reviewer), await rule(other.api_key), await rule(named.api_key)];
  };
  await hold("by-one", [`user:${named.key_id}`]);
  expect(await rulings()).toEqual([403, 403, 200]);
  await hold("by-whom-the-membrane-names", undefined);
  expect(await rulings()).toEqual([403, 403, 200]);
  await hold("by-operators", ["role:operator"]);
  expect(await rulings()).toEqual([403, 403, 200]);
});

test.each([
  ["made", "POST"],
  ["changed", "PATCH"],
])("a membrane that is %s names no reviewer whose key was revoked while the request waited", async (_, method) => {
  const own = await reviewedOrganization(db, url);
  const { key_id } = (await post("/v1/api-keys", own.admin, { role: "reviewer" })).json;
  const of = method === "POST" ? "" : `/${own.membrane_id}`;
  const body = { name: "theirs", escalation: { reviewers: [{ type: "user", id: key_id }] } };
  let naming: Awaited<ReturnType<typeof call>> | undefined;
  await meanwhile(db, (query) => query("select from org_heads where org_id = $1 for update", [own.org.org_id]), [
    () => call(url, "DELETE", `/v1/api-keys/${key_id}`, { key: own.admin }),
    async () => {
      naming = await call(url, method, `/v1/membranes${of}`, { key: own.admin, body });
    },
  ]);
  expect(naming?.json.error.details).toMatchObject([{ message: "This key is revoked or expired." }]);
});
