/** Source: docs/decisions/0011. */
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
let url: string;
beforeAll(async () => {
  ({ url } = await serviceNode(database));
});

const body = { intent: { agent: { id: "agent-1" }, action: { type: "other.wire", verb: "send" } } };

/** An organization with a blocking rule, and a rule that holds the same actions with this `escalation`. */
async function heldAndBlocked(escalation: object): Promise<Reviewed> {
  const org = await reviewedOrganization(database.db, url, { packs: [] });
  for (const [name, spec] of Object.entries({ stop: { effect: "block" }, hold: { effect: "escalate", escalation } })) {
    const policy = {
      apiVersion: "countersign/v1",
      kind: "Policy",
      metadata: { name },
      spec: { when: "true", ...spec },
    };
    const saved = await call(url, "POST", "/v1/policies", { key: org.admin, body: { policy } });
    const path = `/v1/policies/${saved.json.policy.policy_id}/activate`;
    expect((await call(url, "POST", path, { key: org.admin, body: { mode: "live" } })).status).toBe(200);
  }
  return org;
}

const submit = async ({ agent }: Reviewed) =>
  (await call(url, "POST", "/v1/intents", { key: agent, body })).json.decision;

const override = (key: string, intent_id: string) =>
  call(url, "POST", `/v1/intents/${intent_id}/override`, { key, body: { reason: "seen it" } });

test("only a reviewer named by the other policy may override", async () => {
  const org = await heldAndBlocked({ reviewers: ["role:admin"] });
  const { intent_id, verdict } = await submit(org);
  expect(verdict).toBe("block");
  const refused = await override(org.operator, intent_id);
  expect([refused.status, refused.json.error.code]).toEqual([409, "override_not_allowed"]);
  expect(refused.json.error.details).toMatchObject([
    { policy: "hold", message: "The policy hold holds this action for other reviewers." },
  ]);
  const done = await override(org.admin, intent_id);
  expect([done.status, done.json.override.policies_overridden]).toEqual([201, ["hold", "stop"]]);
  expect(await submit(org)).toMatchObject({ verdict: "approve", human_override_id: done.json.override.override_id });
});

test("if it requires two approvals, two of its reviewers must override", async () => {
  const org = await heldAndBlocked({ reviewers: ["role:admin"], quorum: 2 });
  const { intent_id } = await submit(org);
  const first = await override(org.admin, intent_id);
  expect([first.status, first.json.override.status]).toEqual([202, "pending_second"]);
  expect((await override(org.operator, intent_id)).json.error.code).toBe("override_not_allowed");
  expect((await submit(org)).verdict).toBe("block");
  const second = await override((await org.org.key({ role: "admin" })).api_key, intent_id);
  expect([second.status, second.json.override.status]).toEqual([201, "active"]);
  expect((await submit(org)).verdict).toBe("approve");
});

test("if it requires three, nobody may; if it names nobody, any operator may", async () => {
  const many = await heldAndBlocked({ quorum: 3 });
  const refused = await override(many.admin, (await submit(many)).intent_id);
  expect([refused.status, refused.json.error.code]).toEqual([409, "override_not_allowed"]);
  expect(refused.json.error.details).toMatchObject([
    { policy: "hold", message: expect.stringContaining("asks for 3 approvals of this action; an override takes 2") },
  ]);
  const any = await heldAndBlocked({ timeout: "1h" });
  expect((await override(any.operator, (await submit(any)).intent_id)).status).toBe(201);
});

test("with a blocking rule and a membrane that holds the action, the membrane's reviewers must override", async () => {
  const org = await reviewedOrganization(database.db, url, {
    ...{ packs: [], default_verdict: "escalate" },
    escalation: { reviewers: [{ type: "role", id: "admin" }], quorum: 1 },
  });
  const spec = { when: "true", effect: "block" };
  const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "stop" }, spec };
  const saved = await call(url, "POST", "/v1/policies", { key: org.admin, body: { policy } });
  const path = `/v1/policies/${saved.json.policy.policy_id}/activate`;
  expect((await call(url, "POST", path, { key: org.admin, body: { mode: "live" } })).status).toBe(200);
  const { intent_id } = await submit(org);
  const refused = await override(org.operator, intent_id);
  expect(refused.json.error.details).toMatchObject([
    { message: "The membrane holds this action for other reviewers." },
  ]);
  expect((await override(org.admin, intent_id)).status).toBe(201);
});
