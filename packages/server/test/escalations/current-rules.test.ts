/** Source: docs/decisions/0011, 0036. */
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
let urls: [string, string];
beforeAll(async () => {
  urls = [(await serviceNode(database)).url, (await serviceNode(database)).url];
});

const approve = { outcome: "approve" };
const send = (node: 0 | 1, method: string, path: string, key: string, body?: unknown) =>
  call(urls[node], method, path, { key, body });

/** An organization with one held action. Node 0 caches the old state; changes go to node 1. */
async function held(quorum = 1) {
  const escalation = { timeout_seconds: 600, on_timeout: "block", reviewers: [], quorum };
  const of = await reviewedOrganization(database.db, urls[0], { packs: [], default_verdict: "escalate", escalation });
  const intent = {
    agent: { id: "a" },
    action: { type: "other.pay", verb: "pay" },
    payload: { content: { amount: 50 } },
  };
  const { json } = await send(0, "POST", "/v1/intents", of.agent, { intent });
  const { escalation_id, intent_id } = json.decision as { escalation_id: string; intent_id: string };
  const path = `/v1/escalations/${escalation_id}`;
  const vote = (key: string, body: object = approve) => send(0, "POST", `${path}/decision`, key, body);
  const read = async (key: string) => (await send(0, "GET", path, key)).json.escalation;
  return { of, vote, read, intent_id };
}

async function activate({ admin }: Reviewed, name: string, spec: object): Promise<string> {
  const document = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name }, spec };
  const { json } = await send(1, "POST", "/v1/policies", admin, { policy: document });
  const path = `/v1/policies/${json.policy.policy_id}`;
  expect((await send(1, "POST", `${path}/activate`, admin, { mode: "live" })).status).toBe(200);
  return path;
}

const noPayments = { when: "true", effect: "block", message: "No payments today" };

test("a newly activated policy refuses the approval, only reviewers see that in the record, and a block still counts", async () => {
  const { of, vote, read } = await held();
  expect(await read(of.reviewer)).not.toHaveProperty("blocked_now");
  const path = await activate(of, "no-payments", noPayments);
  const reason = { policy: "no-payments", message: "No payments today" };
  const refused = await vote(of.reviewer);
  expect([refused.status, refused.json.error.code, refused.json.error.details]).toEqual([
    409,
    "blocked_now",
    [{ path: "", code: "not_allowed", ...reason }],
  ]);
  expect(await read(of.reviewer)).toMatchObject({ status: "pending", votes: [], blocked_now: [reason] });
  const auditor = (await of.org.key({ role: "auditor" })).api_key;
  expect(await read(auditor)).not.toHaveProperty("blocked_now");

  expect((await send(1, "POST", `${path}/retire`, of.admin)).status).toBe(200);
  expect((await vote(of.reviewer)).json.escalation.status).toBe("decided");
  const other = await held();
  await activate(other.of, "no-payments", noPayments);
  expect((await other.vote(other.of.reviewer, { outcome: "block" })).json.escalation.resolution.outcome).toBe("block");
});

test("current stored facts count", async () => {
  const { of, vote } = await held();
  await activate(of, "frozen", {
    when: "facts.identity.account_status == 'frozen'",
    effect: "block",
    on_unknown: "skip",
  });
  const document = { contract_version: "1", facts: { identity: { account_status: "frozen" } } };
  expect((await send(1, "PUT", "/v1/context/org", of.operator, document)).status).toBe(200);
  expect((await vote(of.reviewer)).json.error.code).toBe("blocked_now");
  expect((await send(1, "DELETE", "/v1/context/org", of.operator)).status).toBe(204);
  expect((await vote(of.reviewer)).status).toBe(200);
});

test("an action of a revoked key cannot be approved; one of a rotated key can", async () => {
  const { of, vote } = await held();
  const { api_keys } = (await send(0, "GET", "/v1/api-keys", of.admin)).json;
  const { key_id } = api_keys.find((each: { role: string }) => each.role === "agent");
  const rotated = await send(1, "POST", `/v1/api-keys/${key_id}/rotate`, of.agent);
  const other = await held();
  expect((await vote(of.reviewer)).status).toBe(200);
  const keys = (await send(0, "GET", "/v1/api-keys", other.of.admin)).json.api_keys;
  const agent = keys.find((each: { role: string }) => each.role === "agent").key_id;
  await send(1, "DELETE", `/v1/api-keys/${agent}`, other.of.admin);
  const refused = await other.vote(other.of.reviewer);
  expect([rotated.status, refused.json.error.code, refused.json.error.details[0].policy]).toEqual([
    200,
    "blocked_now",
    "submitter",
  ]);
});

test("a new rule that holds the action adds its reviewers, who then decide", async () => {
  const { of, vote, read, intent_id } = await held();
  await activate(of, "admins", { when: "true", effect: "escalate", escalation: { reviewers: ["role:admin"] } });
  const first = await vote(of.reviewer);
  expect([first.status, first.json.escalation.status]).toEqual([200, "pending"]);
  expect(await read(of.admin)).toMatchObject({
    reviewers: [{ type: "role", id: "admin" }],
    quorum: { required: 2, approvals: 1 },
  });
  expect((await vote(of.operator)).json.error.code).toBe("forbidden");
  expect((await vote(of.admin)).json.escalation.status).toBe("decided");
  expect((await send(0, "GET", `/v1/intents/${intent_id}/decision`, of.agent)).json.decision.outcome).toBe("approve");
});

test("only the vote that would approve the action is decided again", async () => {
  const { of, vote } = await held(2);
  await activate(of, "no-payments", noPayments);
  expect((await vote(of.reviewer)).json.escalation.quorum.approvals).toBe(1);
  expect((await vote(of.operator)).json.error.code).toBe("blocked_now");
});
