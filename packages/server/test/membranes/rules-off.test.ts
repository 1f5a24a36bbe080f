/** Source: docs/reference/policies.md. */
import { expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call, testOrganization } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);

async function organization() {
  const org = await testOrganization(database.db);
  const { api_key: key } = await org.key();
  const ask = async (method: string, path: string, body?: unknown) =>
    await call(url, method, `/v1${path}`, { key, ...(body === undefined ? {} : { body }) });
  const [{ membrane_id }] = (await ask("GET", "/membranes")).json.membranes;
  const change = (body: object) => ask("PATCH", `/membranes/${membrane_id}`, body);
  await change({ packs: ["security"] });
  const intent = { agent: { id: "a" }, action: { type: "payment.transfer", verb: "pay" } };
  const decide = async () => (await ask("POST", "/intents", { intent })).json.decision;
  return { ask, change, decide };
}
const window = { from: "2020-01-01T00:00:00Z", to: "2100-01-01T00:00:00Z" };
const rulesOf = (decision: { reasons: { policy: string }[] }) => decision.reasons.map(({ policy }) => policy);

test("the advice on missing facts names rules, and switched-off rules decide nothing", async () => {
  const { ask, change, decide } = await organization();
  const held = await decide();
  expect(held.verdict).toBe("escalate");
  const { missing_facts } = (await ask("GET", "/overview")).json.overview;
  const off: string[] = [...new Set(rulesOf(held))];
  for (const rule of off) expect(missing_facts.next_steps.join(" ")).toContain(rule);

  const [first = "", ...others] = off;
  expect((await change({ rules_off: [first] })).json.membrane).toMatchObject({
    packs: ["security"],
    rules_off: [first],
  });
  expect(rulesOf(await decide()).sort()).toEqual(others.sort());
  await change({ rules_off: off });
  expect(await decide()).toMatchObject({ verdict: "approve", reasons: [] });
  await change({ rules_off: [] });
  expect(rulesOf(await decide()).sort()).toEqual(off.sort());

  const { backtest } = (await ask("POST", "/learning/backtest", { window })).json;
  expect(backtest).toMatchObject({ evaluated: 4, reproduced: 1 });
});

test("400 for an unknown rule, with a suggestion", async () => {
  const { change, decide } = await organization();
  const [rule = ""] = rulesOf(await decide());
  const { status, json } = await change({ rules_off: [rule, `${rule}x`] });
  expect([status, json.error.code]).toEqual([400, "invalid_request"]);
  expect(json.error.details).toEqual([
    { path: "/rules_off/1", code: "not_allowed", message: expect.stringContaining(`Did you mean ${rule}`) },
  ]);
});
