import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call, testOrganization } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";

const database = await testDatabase();
const { db } = database;
let url: string;
beforeAll(async () => {
  ({ url } = await serviceNode(database));
});

test("the overview and going live name missing facts, their share, their rules, and what to do", async () => {
  const own = await testOrganization(db);
  const key = (await own.key()).api_key;
  const [{ membrane_id: id }] = (await call(url, "GET", "/v1/membranes", { key })).json.membranes;
  const overview = async () => (await call(url, "GET", "/v1/overview", { key })).json.overview;
  expect((await overview()).missing_facts).toEqual({ decisions: 0, share: 0, facts: [], next_steps: [] });
  const mail = { agent: { id: "a" }, action: { type: "communication.email", verb: "send_email" } };
  const pay = { agent: { id: "a" }, action: { type: "payment.transfer", verb: "pay" } };
  for (const intent of [pay, mail, mail, mail])
    expect((await call(url, "POST", "/v1/intents", { key, body: { intent } })).status).toBe(201);
  const { missing_facts, policies } = await overview();
  expect(policies).toContainEqual(
    expect.objectContaining({ policy: "security.prompt-injection", count: 1, missing_facts: 1 }),
  );
  expect(missing_facts).toMatchObject({ decisions: 1, share: 0.25 });
  expect(missing_facts.facts).toEqual([
    {
      path: "facts.security.active_security_incident",
      decisions: 1,
      rules: [{ policy_id: "pol_security.active-incident", policy: "security.active-incident", pack: "security" }],
    },
    {
      path: "facts.security.prompt_injection_detected",
      decisions: 1,
      rules: [{ policy_id: "pol_security.prompt-injection", policy: "security.prompt-injection", pack: "security" }],
    },
  ]);
  expect(missing_facts.next_steps[0]).toMatch(/^Facts are missing in 25 % of your traffic/);
  const { next_steps } = (await call(url, "POST", `/v1/membranes/${id}/go-live`, { key })).json;
  expect(next_steps.slice(0, 3)).toEqual(missing_facts.next_steps);
});
