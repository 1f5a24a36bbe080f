import { expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);

function policyOf(name: string, window: string, counter = "spent") {
  const spec = {
    match: { verbs: ["pay"] },
    counters: [{ name: counter, key: ["agent.id"], value: "params.amount_usd", window }],
    when: `count.${counter}.n > 100`,
    effect: "block",
  };
  return { apiVersion: "countersign/v1", kind: "Policy", metadata: { name }, spec };
}

async function saved({ admin: key }: Reviewed, policy: object): Promise<string> {
  return (await call(url, "POST", "/v1/policies", { key, body: { policy } })).json.policy.policy_id;
}

async function activated({ admin: key }: Reviewed, policy_id: string, mode = "live") {
  return call(url, "POST", `/v1/policies/${policy_id}/activate`, { key, body: { mode } });
}

const conflict = {
  path: "/spec/counters/0/window",
  code: "not_allowed",
  message: expect.stringContaining("The policy daily defines count.spent with another window: "),
};

test("a policy that defines a counter differently is not activated, and the check warns", async () => {
  const org = await reviewedOrganization(database.db, url, { packs: [] });
  const daily = await saved(org, policyOf("daily", "24h"));
  expect((await activated(org, daily, "shadow")).status).toBe(200);
  const hourly = policyOf("hourly", "1h");
  const policy_id = await saved(org, hourly);
  for (const mode of ["live", "shadow"]) {
    const refused = await activated(org, policy_id, mode);
    expect(refused.status).toBe(422);
    expect(refused.json.error.details).toEqual([expect.objectContaining(conflict)]);
  }
  const checked = await call(url, "POST", "/v1/policies/check", { key: org.admin, body: { policy: hourly } });
  expect([checked.json.valid, checked.json.warnings]).toEqual([true, [expect.objectContaining(conflict)]]);
  const replaced = await call(url, "PUT", `/v1/policies/${daily}`, {
    key: org.admin,
    body: { policy: policyOf("daily", "1h") },
  });
  expect(replaced.status).toBe(200);
  // Its own earlier version does not count.
  expect((await activated(org, daily)).status).toBe(200);
  expect((await activated(org, policy_id)).status).toBe(200);
});

test("a pack is not switched on, in any membrane, while a policy defines one of its counters differently", async () => {
  const org = await reviewedOrganization(database.db, url, { packs: [] });
  const policy_id = await saved(org, policyOf("own", "2h", "limits_agent_spend"));
  expect((await activated(org, policy_id)).status).toBe(200);
  const body = { packs: ["limits"] };
  const refusal = [
    expect.objectContaining({
      path: "/packs",
      message: expect.stringContaining("The policy own defines count.limits_agent_spend"),
    }),
  ];
  const changed = await call(url, "PATCH", `/v1/membranes/${org.membrane_id}`, { key: org.admin, body });
  expect([changed.status, changed.json.error?.details]).toEqual([400, refusal]);
  const created = await call(url, "POST", "/v1/membranes", { key: org.admin, body: { name: "second", ...body } });
  expect([created.status, created.json.error?.details]).toEqual([400, refusal]);
  const without = { ...body, rules_off: ["limits.agent-spend"] };
  const switched = await call(url, "PATCH", `/v1/membranes/${org.membrane_id}`, { key: org.admin, body: without });
  expect(switched.status, switched.text).toBe(200);
  // A second policy of the organization meets the pack of that membrane.
  const payments = await activated(org, await saved(org, policyOf("payments", "2h", "limits_agent_payments")));
  expect(payments.status).toBe(422);
});
