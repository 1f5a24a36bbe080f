import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call, testOrganization } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";

const database = await testDatabase();
const { db } = database;
let url: string;
let second: string;
beforeAll(async () => {
  ({ url } = await serviceNode(database));
  ({ url: second } = await serviceNode(database));
});

async function organization() {
  const org = await testOrganization(db);
  const { api_key: key } = await org.key();
  const [{ membrane_id }] = (await call(url, "GET", "/v1/membranes", { key })).json.membranes;
  const change = (body: object) => call(second, "PATCH", `/v1/membranes/${membrane_id}`, { key, body });
  expect((await change({ packs: ["account"] })).status).toBe(200);
  const submit = async (action: object, more: object = {}, query = "", membrane?: string) => {
    const intent = { agent: { id: "agent-1" }, action, ...more };
    const body = membrane === undefined ? { intent } : { intent, membrane_id: membrane };
    expect((await call(url, "POST", `/v1/intents${query}`, { key, body })).status).toBe(201);
  };
  const coverage = async (base = url, id = membrane_id) => {
    const { status, json } = await call(base, "GET", `/v1/membranes/${id}/coverage`, { key });
    expect(status).toBe(200);
    return json.coverage;
  };
  return { ...org, api_key: key, membrane_id, change, submit, coverage };
}

const named = (actions: readonly { verb: string; type: string; count: number; rules: string[] }[]) =>
  actions.map(({ verb, type, count, rules }) => [verb, type, count, rules.length > 0]);

describe("coverage", () => {
  test("lists actions that no rule names first, then by frequency, with the rules that name them", async () => {
    const { submit, coverage, membrane_id } = await organization();
    for (let n = 0; n < 3; n += 1) await submit({ verb: "pay", type: "Payment.Transfer" });
    for (let n = 0; n < 2; n += 1) await submit({ verb: "pay", type: "payments.transfer" });
    await submit({ verb: "look" }, { data_classes: ["PII", " pii", "a"] });
    const found = await coverage();
    expect(found).toMatchObject({ membrane_id, intents: 6, complete: true, every_action: [] });
    expect(Date.parse(found.to) - Date.parse(found.from)).toBe(31 * 86_400_000);
    expect(found.actions).toMatchObject([
      { verb: "pay", type: "payments.transfer", data_classes: [], count: 2, held: 0, rules: [] },
      { verb: "look", type: "other.unclassified", data_classes: ["a", "pii"], count: 1, held: 0, rules: [] },
      // In shadow mode also held, because the account is unknown.
      { verb: "pay", type: "payment.transfer", data_classes: [], count: 3, held: 3 },
    ]);
    expect(found.actions[2].rules).toEqual(["account.account-open", "account.sufficient-balance"]);
  });

  test("uses the current catalogue, policies and live rules, on every node", async () => {
    const { submit, coverage, change, api_key: key } = await organization();
    await submit({ verb: "wire", type: "treasury.wire" });
    expect(named((await coverage()).actions)).toEqual([["wire", "treasury.wire", 1, false]]);
    const policy = (name: string, metadata: object, spec: object = { match: { verbs: ["wire"] } }) => ({
      ...{ apiVersion: "countersign/v1", kind: "Policy", metadata: { name, ...metadata } },
      spec: { ...spec, when: "params.amount > 5", effect: "block", on_unknown: "skip" },
    });
    const activate = async (document: object, mode: string) => {
      const { json } = await call(second, "POST", "/v1/policies", { key, body: { policy: document } });
      const path = `/v1/policies/${json.policy.policy_id}/activate`;
      expect((await call(second, "POST", path, { key, body: { mode } })).status).toBe(200);
    };
    await activate(policy("tried", {}), "shadow");
    await activate(policy("over", { effective_until: "2020-01-01T00:00:00Z" }), "live");
    await activate(policy("to-come", { effective_from: "2100-01-01T00:00:00Z" }), "live");
    await activate(policy("all", {}, {}), "live");
    expect(await coverage()).toMatchObject({ every_action: ["all"], actions: [{ rules: [] }] });
    await activate(policy("wires", {}), "live");
    expect((await coverage()).actions).toMatchObject([{ type: "treasury.wire", rules: ["wires"] }]);
    expect((await change({ action_catalogue: [{ verb: "wire", type: "payment.transfer" }] })).status).toBe(200);
    expect((await coverage()).actions).toMatchObject([
      { type: "payment.transfer", rules: ["account.account-open", "account.sufficient-balance", "wires"] },
    ]);
  });

  test("covers one membrane, without test mode", async () => {
    const { submit, coverage, api_key: key, ...org } = await organization();
    const { json } = await call(url, "POST", "/v1/membranes", { key, body: { name: "other" } });
    await submit({ verb: "elsewhere" }, {}, "", json.membrane.membrane_id);
    await submit({ verb: "watched" }, {}, "?mode=shadow");
    const { api_key: test_key } = await org.key({ environment: "test" });
    const body = { intent: { agent: { id: "a" }, action: { verb: "tried" } } };
    expect((await call(url, "POST", "/v1/intents", { key: test_key, body })).json.decision.pipeline_mode).toBe("test");
    expect(named((await coverage()).actions)).toEqual([["watched", "other.unclassified", 1, false]]);
    expect(named((await coverage(url, json.membrane.membrane_id)).actions)).toEqual([
      ["elsewhere", "other.unclassified", 1, false],
    ]);
  });

  test("is empty without intents, ends at 200 kinds, and keeps those that no rule names", async () => {
    const { submit, coverage } = await organization();
    expect(await coverage()).toMatchObject({ intents: 0, complete: true, actions: [] });
    await submit({ verb: "pay", type: "payment.transfer" });
    await submit({ verb: "pay", type: "payment.transfer" });
    for (let n = 0; n < 199; n += 1) await submit({ verb: `verb-${n}` });
    expect(named((await coverage()).actions).slice(198)).toEqual([
      [expect.stringMatching(/^verb-/), "other.unclassified", 1, false],
      ["pay", "payment.transfer", 2, true],
    ]);
    await submit({ verb: "one-more" });
    const { actions, intents } = await coverage();
    expect([actions.length, intents]).toEqual([200, 202]);
    expect(named(actions).filter(([, , , covered]) => covered)).toEqual([]);
  });

  test.each([
    ["reviewer", 200],
    ["auditor", 200],
    ["operator", 200],
    ["agent", 403],
  ] as const)("%s: %i", async (role, status) => {
    const { key, membrane_id } = await organization();
    const path = `/v1/membranes/${membrane_id}/coverage`;
    const { api_key } = await key({ role });
    expect((await call(url, "GET", path, { key: api_key })).status).toBe(status);
  });

  test("of a missing membrane, or another organization's, is not found", async () => {
    const [one, another] = [await organization(), await organization()];
    for (const id of [another.membrane_id, "mem_00000000000000000000000000", "x"]) {
      const answer = await call(url, "GET", `/v1/membranes/${id}/coverage`, { key: one.api_key });
      expect([answer.status, answer.json.error.code]).toEqual([404, "not_found"]);
    }
  });
});
