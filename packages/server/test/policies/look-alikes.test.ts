/** Source: docs/reference/policies.md. */
import { look_alike_reason } from "@countersign/contract";
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call, testOrganization } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);
let ask: (method: string, path: string, body?: unknown) => ReturnType<typeof call>;

beforeAll(async () => {
  const { api_key: key } = await (await testOrganization(database.db)).key();
  ask = (method, path, body) => call(url, method, `/v1${path}`, { key, ...(body === undefined ? {} : { body }) });
  const [{ membrane_id }] = (await ask("GET", "/membranes")).json.membranes;
  const action_catalogue = [{ verb: "send_money", type: "payment.transfer", data_classes: [] }];
  await ask("PATCH", `/membranes/${membrane_id}`, { packs: [], action_catalogue });
  const spec = { match: { actions: ["payment.transfer"] }, when: "true", effect: "block", override: "never" };
  const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "no-wires" }, spec };
  const { policy_id } = (await ask("POST", "/policies", { policy })).json.policy;
  await ask("POST", `/policies/${policy_id}/activate`, { mode: "live" });
});

test.each(["send-money", "SEND.MONEY", "send_m\u043eney", "s\u0435nd money"])(
  "%j, declared as harmless, does not pass a rule about send_money, and the decision names the difference",
  async (verb) => {
    const intent = { agent: { id: "a1" }, action: { verb, type: "data.read" } };
    const { status, json } = await ask("POST", "/intents", { intent });
    expect([status, json.decision.verdict]).toEqual([201, "block"]);
    expect(json.decision.reasons).toMatchObject([
      { policy: "no-wires", unknown_facts: [{ path: "action.verb", reason: "looks like send_money" }] },
      { policy: look_alike_reason, policy_id: null, message: expect.stringMatching(/"send_money".*U\+/) },
    ]);
  },
);

test("other names of the same rule pass and are not reported", async () => {
  const intent = { agent: { id: "a1" }, action: { verb: "send_mail", type: "data.read" } };
  expect((await ask("POST", "/intents", { intent })).json.decision).toMatchObject({ verdict: "approve", reasons: [] });
});

test("an agent id that looks like one with stored facts is reported", async () => {
  const document = { contract_version: "1", facts: { identity: { account_status: "active" } } };
  expect((await ask("PUT", "/context/agents/a-7", document)).status).toBe(200);
  const reasons = async (id: string) =>
    (await ask("POST", "/intents", { intent: { agent: { id }, action: { verb: "x" } } })).json.decision.reasons;
  expect(await reasons("a-7")).toEqual([]);
  expect(await reasons("\u0430-7")).toMatchObject([
    { policy: look_alike_reason, effect: "none", message: expect.stringMatching(/stored facts of "a-7" do not count/) },
  ]);
});
