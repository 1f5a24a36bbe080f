import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call, type TestOrganization, testOrganization } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);
let org: TestOrganization;
let admin: string;
let membrane_id: string;
const ask = (key: string, method: string, path: string, body?: object) =>
  call(url, method, `/v1${path}`, { key, ...(body === undefined ? {} : { body }) });
const blocked = (key: string, more: object = {}) =>
  ask(key, "POST", "/tools/blocked", { agent_id: "desk", verbs: ["delete_file", "read_file"], ...more });

beforeAll(async () => {
  org = await testOrganization(database.db);
  admin = (await org.key()).api_key;
  [{ membrane_id }] = (await ask(admin, "GET", "/membranes")).json.membranes;
  await ask(admin, "PATCH", `/membranes/${membrane_id}`, { packs: [] });
  const spec = { match: { verbs: ["delete_*"] }, when: "true", effect: "block" };
  const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "no-deleting" }, spec };
  const { policy_id } = (await ask(admin, "POST", "/policies", { policy })).json.policy;
  await ask(admin, "POST", `/policies/${policy_id}/activate`, { mode: "live" });
});

test("a tool that a rule always blocks is named with the rule; in shadow mode none is, and nothing is recorded", async () => {
  const none = { status: 200, json: { blocked: [] } };
  expect(await blocked(admin)).toMatchObject(none);
  await ask(admin, "POST", `/membranes/${membrane_id}/go-live`);
  const found = { status: 200, json: { blocked: [{ verb: "delete_file", policy: "no-deleting" }] } };
  expect(await blocked(admin)).toMatchObject(found);
  expect(await blocked((await org.key({ environment: "shadow" })).api_key)).toMatchObject(none);
  const other = (await (await testOrganization(database.db)).key()).api_key;
  expect(await blocked(other)).toMatchObject(none);
  expect(await blocked(other, { membrane_id })).toMatchObject({ status: 404 });
  expect((await ask(admin, "GET", "/intents")).json.intents).toEqual([]);
});

test("a key learns nothing about agents and membranes that it is not bound to", async () => {
  const bindings = { agent_ids: ["desk"], membrane_ids: [membrane_id] };
  const { json } = await ask(admin, "POST", "/api-keys", { role: "agent", name: "desk", bindings });
  expect(await blocked(json.api_key)).toMatchObject({ status: 200 });
  const refused = (path: string) => ({ status: 403, json: { error: { details: [{ path, code: "bound" }] } } });
  expect(await blocked(json.api_key, { agent_id: "clerk" })).toMatchObject(refused("/agent_id"));
  const second = (await ask(admin, "POST", "/membranes", { name: "second" })).json.membrane.membrane_id;
  expect(await blocked(json.api_key, { membrane_id: second })).toMatchObject(refused("/membrane_id"));
});
