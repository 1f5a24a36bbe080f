import { expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { heldBody, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();

test("the reason of an escalation joins the rules' messages as separate sentences", async () => {
  const { url } = await serviceNode(database);
  const { admin, agent } = await reviewedOrganization(database.db, url, { packs: [] });
  for (const [name, message] of [
    ["a-first", "The shop is closed on Sundays"],
    ["b-second", "Is anybody there?"],
    ["c-third", "The discount is above 20%"],
    ["d-fourth", "The customer is new (since May)"],
    ["e-fifth", 'The note says "urgent!" '],
    ["f-last", "A person has to look"],
  ]) {
    const policy = {
      apiVersion: "countersign/v1",
      kind: "Policy",
      metadata: { name, title: name },
      spec: { match: { actions: ["*"] }, when: "true", effect: "escalate", message },
    };
    const { json } = await call(url, "POST", "/v1/policies", { key: admin, body: { policy } });
    const path = `/v1/policies/${json.policy.policy_id}/activate`;
    expect((await call(url, "POST", path, { key: admin, body: { mode: "live" } })).status).toBe(200);
  }
  const { decision } = (await call(url, "POST", "/v1/intents", { key: agent, body: heldBody })).json;
  const { json } = await call(url, "GET", `/v1/escalations/${decision.escalation_id}`, { key: admin });
  expect(json.escalation.reason).toBe(
    "The shop is closed on Sundays. Is anybody there? The discount is above 20%. The customer is new (since May). " +
      'The note says "urgent!" A person has to look',
  );
});
