/** Source: docs/reference/policies.md. */
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
let url: string;
let org: Reviewed;
beforeAll(async () => {
  ({ url } = await serviceNode(database));
  org = await reviewedOrganization(database.db, url, { packs: [] });
});

const post = (path: string, key: string, body: unknown) => call(url, "POST", path, { key, body });

/** Activates a policy that compares each entry with a list of texts. Returns the warnings. */
async function activate(
  name: string,
  mode = "live",
  actions = ["communication.email"],
): Promise<{ message: string }[]> {
  const when = "params.to.exists(r, r.split('@')[1] in facts.organizational.partners)";
  const spec = { match: { actions }, when, effect: "block", on_unknown: "skip" };
  const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name }, spec };
  const { json } = await post("/v1/policies", org.admin, { policy });
  const activated = await post(`/v1/policies/${json.policy.policy_id}/activate`, org.admin, { mode });
  expect(activated.status).toBe(200);
  return activated.json.warnings;
}

test("activating policies that can exhaust the budget together gives a warning, and a decision that ran out names them", async () => {
  const warned: number[] = [];
  for (let n = 0; n < 40; n += 1) {
    const [warning] = await activate(`loop-${n}`);
    if (warning === undefined) continue;
    warned.push(n);
    expect(warning.message).toMatch(/an action of the type communication\.email may take .*loop-\d+ \([\d,]+\)/);
  }
  expect(warned[0]).toBeGreaterThan(0);
  expect(warned.at(-1)).toBe(39);
  expect(await activate("elsewhere", "live", ["payment.transfer"])).toEqual([]);
  expect(await activate("in-shadow", "shadow")).toEqual([]);

  const to = Array.from({ length: 200 }, (_, n) => `a${n}@example.com`);
  const intent = {
    agent: { id: "a" },
    action: { type: "communication.email", verb: "send" },
    payload: { content: { to } },
  };
  const context = { contract_version: "1", facts: { organizational: { partners: to.map((each) => `y${each}`) } } };
  const { decision } = (await post("/v1/intents", org.agent, { intent, context })).json;
  expect(decision.verdict).toBe("block");
  const messages: string[] = decision.reasons.map((reason: { message: string }) => reason.message);
  expect(messages[0]).toMatch(/the cost budget is used up\. .*loop-\d+ took [\d,]+ units, .* others took less$/);
});

test("switching on packs that can exhaust the budget together with live policies gives a warning", async () => {
  const { admin, membrane_id } = await reviewedOrganization(database.db, url, { packs: [] });
  const change = (body: object) => call(url, "PATCH", `/v1/membranes/${membrane_id}`, { key: admin, body });
  const create = (packs: string[]) => post("/v1/membranes", admin, { name: packs.join(), packs });
  const costly = ["gdpr", "hipaa", "provenance", "tcpa"];
  for (const { status, json } of [
    await change({ packs: ["security"] }),
    await create(["meta"]),
    await change({ name: "x" }),
  ])
    expect([status < 300, json.warnings]).toEqual([true, []]);
  for (const { status, json } of [await change({ packs: costly }), await create(costly)]) {
    expect(status).toBeLessThan(300);
    expect(json.membrane.packs).toEqual(costly);
    expect(json.warnings).toMatchObject([
      {
        path: "/packs",
        code: "cost",
        message: expect.stringMatching(/^The \d+ policies that match .* units together/),
      },
    ]);
  }
});
