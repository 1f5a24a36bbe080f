/** Source: docs/decisions/0011. */
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
let url: string;

describe("changes of policies apply", () => {
  const spec = (more: object) => ({ effect: "approve_modified", on_unknown: "skip", ...more });
  const post = (path: string, key: string, body: unknown) => call(url, "POST", path, { key, body });
  let own: Reviewed;
  beforeAll(async () => {
    ({ url } = await serviceNode(database));
    own = await reviewedOrganization(database.db, url, { packs: [], thresholds: { escalate_at: 0.5, block_at: 0.9 } });
    const specs = {
      redact: spec({ when: "has(params.card)", modify: [{ op: "redact", path: "/card" }] }),
      cap: spec({ when: "has(params.amount)", modify: [{ op: "cap", path: "/amount", value: "100" }] }),
      risky: { when: "params.risk > 0.0", effect: "none", risk: { add: "double(params.risk)" } },
    };
    for (const [name, each] of Object.entries(specs)) {
      const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name }, spec: each };
      const { json } = await post("/v1/policies", own.admin, { policy });
      await post(`/v1/policies/${json.policy.policy_id}/activate`, own.admin, { mode: "live" });
    }
  });
  const paying = (content: object) => ({
    intent: { agent: { id: "a" }, action: { type: "other.pay", verb: "pay" }, payload: { content } },
  });
  async function held(content: object) {
    const { json } = await post("/v1/intents", own.agent, paying(content));
    expect(json.decision.verdict).toBe("escalate");
    return json.decision as { intent_id: string; escalation_id: string };
  }
  const decide = (escalation_id: string, body: object) =>
    post(`/v1/escalations/${escalation_id}/decision`, own.reviewer, body);
  const decisionOn = async (intent_id: string) =>
    (await call(url, "GET", `/v1/intents/${intent_id}/decision`, { key: own.agent })).json.decision;
  const ruling = (...modifications: object[]) => ({ outcome: "approve_modified", modifications });

  test("also where other changes are in conflict", async () => {
    const { escalation_id, intent_id } = await held({ amount: "500", card: "4111" });
    expect((await decide(escalation_id, { outcome: "approve" })).json.escalation.resolution).toMatchObject({
      outcome: "approve_modified",
      modifications: [{ op: "replace", path: "/card", value: "[redacted]" }],
    });
    const redacted = { amount: "500", card: "[redacted]" };
    expect(await decisionOn(intent_id)).toMatchObject({ modified_content: redacted });
  });

  test.each([
    ["brings a conflict about", { op: "add", path: "/amount", value: "500" }, { amount: "500" }],
    ["is riskier than the membrane lets through", { op: "replace", path: "/risk", value: 0.89 }, { risk: 0.89 }],
  ])("also where a reviewer's change %s", async (_title, change, changed) => {
    const { escalation_id, intent_id } = await held({ risk: 0.6 });
    const ruled = await decide(escalation_id, ruling(change, { op: "add", path: "/card", value: "4111" }));
    expect(ruled.status).toBe(200);
    expect(await decisionOn(intent_id)).toMatchObject({
      outcome: "approve_modified",
      modified_content: { ...changed, card: "[redacted]" },
    });
  });

  test.each([0.9, 0.95])(
    "no reviewer can change an action into one so risky that the membrane blocks it: %s of 0.9",
    async (risk) => {
      const { escalation_id } = await held({ risk: 0.6 });
      const refused = await decide(escalation_id, ruling({ op: "replace", path: "/risk", value: risk }));
      expect([refused.status, refused.json.error.code]).toEqual([422, "modified_action_blocked"]);
      expect(refused.json.error.details).toMatchObject([{ path: "/modifications", policy: "membrane.risk_threshold" }]);
      expect((await decide(escalation_id, { outcome: "approve" })).status).toBe(200);
    },
  );
});
