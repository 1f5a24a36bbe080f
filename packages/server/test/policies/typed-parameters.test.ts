/** Source: docs/reference/policies.md. */
import { expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call, testOrganization } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";

const database = await testDatabase();

test("a check warns of a comparison with a wrong parameter type, and a decision treats it as unknown", async () => {
  const { url } = await serviceNode(database);
  const org = await testOrganization(database.db);
  const { api_key: key } = await org.key();
  const ask = async (method: string, path: string, body?: unknown) =>
    await call(url, method, `/v1${path}`, { key, ...(body === undefined ? {} : { body }) });
  const [{ membrane_id }] = (await ask("GET", "/membranes")).json.membranes;
  const known = { verb: "pay_vendor", type: "vendor.pay", data_classes: [], parameters: { amount: "number" } };
  const changed = await ask("PATCH", `/membranes/${membrane_id}`, { action_catalogue: [known] });
  expect(changed.json.membrane.action_catalogue).toEqual([known]);

  const spec = { match: { actions: ["vendor.pay"] }, when: "params.amount == '7777'", effect: "block" };
  const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "text", title: "Text" }, spec };
  expect((await ask("POST", "/policies/check", { policy })).json).toMatchObject({
    valid: true,
    warnings: [{ path: "/spec/when", code: "wrong_type", message: expect.stringContaining('"pay_vendor"') }],
  });
  const { policy_id } = (await ask("POST", "/policies", { policy })).json.policy;
  await ask("POST", `/policies/${policy_id}/activate`, { mode: "live" });
  const intent = { agent: { id: "a" }, action: { verb: "pay_vendor" }, payload: { content: { amount: 7777 } } };
  expect((await ask("POST", "/intents", { intent })).json.decision).toMatchObject({
    verdict: "escalate",
    reasons: [{ policy: "text", unknown_facts: [{ path: "params.amount", reason: "type" }] }],
  });
});

test("400 for a type that JSON does not have", async () => {
  const { url } = await serviceNode(database);
  const { api_key: key } = await (await testOrganization(database.db)).key();
  const [{ membrane_id }] = (await call(url, "GET", "/v1/membranes", { key })).json.membranes;
  const action_catalogue = [{ verb: "pay", type: "vendor.pay", data_classes: [], parameters: { amount: "decimal" } }];
  const { status, json } = await call(url, "PATCH", `/v1/membranes/${membrane_id}`, {
    key,
    body: { action_catalogue },
  });
  expect([status, json.error.code]).toEqual([400, "invalid_request"]);
});
