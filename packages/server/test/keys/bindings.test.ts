/** Source: decision 0041. */
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";

const database = await testDatabase();
let url: string;
let other_url: string;
let admin: string;
let bound_membrane: string;
let other_membrane: string;
beforeAll(async () => {
  // A trusted proxy on this machine reports the client's address.
  ({ url } = await serviceNode(database, { config: { trust_proxy: ["127.0.0.1"] } }));
  ({ url: other_url } = await serviceNode(database, { config: { trust_proxy: ["127.0.0.1"] } }));
  const made = await call(url, "POST", "/v1/onboarding/quickstart", {
    body: { org_name: "Acme", email: "you@example.com", description: "an agent" },
  });
  admin = made.json.api_key;
  bound_membrane = made.json.membrane_id;
  const second = await call(url, "POST", "/v1/membranes", { key: admin, body: { name: "second" } });
  other_membrane = second.json.membrane.membrane_id;
});

const create = (bindings: unknown, more: object = {}) =>
  call(url, "POST", "/v1/api-keys", { key: admin, body: { bindings, ...more } });
const keyOf = async (bindings: unknown, more: object = {}) => {
  const { status, json } = await create(bindings, more);
  expect(status, JSON.stringify(json)).toBe(201);
  return json as { api_key: string; key_id: string };
};
const bind = (key_id: string, bindings: unknown) =>
  call(url, "PATCH", `/v1/api-keys/${key_id}`, { key: admin, body: { bindings } });
const intent = (agent_id = "bot", more: object = {}) => ({
  intent: { agent: { id: agent_id }, action: { verb: "send_email" } },
  ...more,
});
interface Sent {
  readonly from?: string;
  readonly agent?: string;
  readonly membrane_id?: string;
  readonly query?: string;
  readonly base?: string;
  readonly once?: string;
}
const submit = (key: string, { from, agent, membrane_id, query = "", base = url, once }: Sent = {}) =>
  call(base, "POST", `/v1/intents${query}`, {
    key,
    body: intent(agent, membrane_id === undefined ? {} : { membrane_id }),
    headers: {
      ...(from === undefined ? {} : { "X-Forwarded-For": from }),
      ...(once === undefined ? {} : { "Idempotency-Key": once }),
    },
  });
const seen = ({ status, json }: Awaited<ReturnType<typeof call>>) =>
  status < 300 ? status : [status, json.error.code, json.error.details[0].path, json.error.details[0].code];
const bound = (path: string) => [403, "forbidden", path, "bound"];

describe("POST /v1/api-keys with bindings", () => {
  test("201 and the list show normalized bindings", async () => {
    const { status, json } = await create({
      membrane_ids: [bound_membrane, bound_membrane],
      agent_ids: ["Bot", "bot"],
      source_cidrs: ["10.0.0.7", "::ffff:10.1.0.0/112"],
    });
    const bindings = {
      membrane_ids: [bound_membrane],
      agent_ids: ["bot"],
      source_cidrs: ["10.0.0.7/32", "10.1.0.0/16"],
      forbid_shadow: false,
    };
    expect([status, json.bindings]).toEqual([201, bindings]);
    const listed = await call(url, "GET", "/v1/api-keys?limit=1", { key: admin });
    expect(listed.json.api_keys[0].bindings).toEqual(bindings);
  });

  test("a key without bindings, or with null, is unbound: it may ask for every mode, agent and membrane", async () => {
    for (const more of [{}, { bindings: null }]) {
      const { json } = await call(url, "POST", "/v1/api-keys", { key: admin, body: more });
      expect(json.bindings).toBeNull();
      expect(seen(await submit(json.api_key, { query: "?mode=shadow", membrane_id: other_membrane }))).toBe(201);
    }
  });

  test.each([
    ["/bindings/source_cidrs/1", { source_cidrs: ["10.0.0.0/8", "10.0.0.0/33"] }, {}],
    ["/bindings/source_cidrs/0", { source_cidrs: ["office"] }, {}],
    ["/bindings/membrane_ids/0", { membrane_ids: ["mem_00000000000000000000000000"] }, {}],
    ["/bindings/forbid_shadow", { forbid_shadow: true }, { environment: "shadow" }],
    ["/bindings/agent_ids", { agent_ids: ["a"] }, { scope: "agent", agent_id: "a" }],
    ["/bindings", {}, {}],
    ["/bindings", { forbid_shadow: false, agent_ids: null }, {}],
  ])("422 names %s, and no key is made", async (path, bindings, more) => {
    const count = async () => (await call(url, "GET", "/v1/api-keys", { key: admin })).json.api_keys.length;
    const before = await count();
    const { status, json } = await create(bindings, more);
    expect([status, json.error.code, json.error.details.map((each: { path: string }) => each.path)]).toEqual([
      ...[422, "invalid_binding", [path]],
    ]);
    expect(json.error.details[0].message).toMatch(/\w/);
    expect(await count()).toBe(before);
  });

  test("400 for an empty list, which would allow nothing", async () => {
    for (const name of ["membrane_ids", "agent_ids", "source_cidrs"])
      expect((await create({ [name]: [] })).json.error.code).toBe("invalid_request");
  });

  test("a membrane of another organization counts as missing", async () => {
    const stranger = await call(url, "POST", "/v1/onboarding/quickstart", {
      body: { org_name: "Other", email: "other@example.com", description: "an agent" },
    });
    const { status, json } = await create({ membrane_ids: [stranger.json.membrane_id] });
    expect([status, json.error.details[0].path]).toEqual([422, "/bindings/membrane_ids/0"]);
  });
});

describe("a submission with a bound key", () => {
  test("is refused for another membrane, named or not, and for one that does not exist", async () => {
    const { api_key } = await keyOf({ membrane_ids: [other_membrane] });
    expect(seen(await submit(api_key, { membrane_id: other_membrane }))).toBe(201);
    for (const membrane_id of [bound_membrane, undefined, "mem_unknown"])
      expect(seen(await submit(api_key, membrane_id === undefined ? {} : { membrane_id }))).toEqual(
        bound("/membrane_id"),
      );
  });

  test("is refused for another agent in any spelling", async () => {
    const { api_key } = await keyOf({ agent_ids: ["Bot-1", "second"] });
    for (const agent of ["bot-1", "BOT-1", "ｂｏｔ-1", "second"])
      expect(seen(await submit(api_key, { agent }))).toBe(201);
    for (const agent of ["bot-11", "bot", "b\u043Et-1", "other"])
      expect(seen(await submit(api_key, { agent })), agent).toEqual(bound("/intent/agent/id"));
  });

  test("is refused in shadow mode if the key forbids it, in a batch as a whole", async () => {
    const { api_key } = await keyOf({ forbid_shadow: true });
    expect(seen(await submit(api_key))).toBe(201);
    expect(seen(await submit(api_key, { query: "?mode=shadow" }))).toEqual(bound("/mode"));
    const batch = { key: api_key, body: { intents: [intent()] } };
    expect((await call(url, "POST", "/v1/intents/batch", batch)).json.succeeded).toBe(1);
    expect(seen(await call(url, "POST", "/v1/intents/batch?mode=shadow", batch))).toEqual(bound("/mode"));
  });

  test("is refused item by item in a batch", async () => {
    const { api_key } = await keyOf({ membrane_ids: [bound_membrane], agent_ids: ["bot"] });
    const intents = [intent(), intent("other"), intent("bot", { membrane_id: other_membrane }), intent("BOT")];
    const { json } = await call(url, "POST", "/v1/intents/batch", { key: api_key, body: { intents } });
    const results = json.results.map(
      ({ success, error }: { success: boolean; error?: { details: { path: string }[] } }) =>
        success ? true : error?.details[0]?.path,
    );
    expect(results).toEqual([true, "/intents/1/intent/agent/id", "/intents/2/membrane_id", true]);
  });

  test("keeps its bindings through a rotation", async () => {
    const { api_key, key_id } = await keyOf({ agent_ids: ["bot"], forbid_shadow: true });
    const rotated = await call(url, "POST", `/v1/api-keys/${key_id}/rotate`, { key: api_key });
    expect(seen(await submit(rotated.json.api_key, { agent: "other" }))).toEqual(bound("/intent/agent/id"));
    expect(seen(await submit(rotated.json.api_key, { query: "?mode=shadow" }))).toEqual(bound("/mode"));
  });
});

describe("a key that is bound to networks", () => {
  test("is refused from everywhere else, for every request", async () => {
    const { api_key, key_id } = await keyOf({ source_cidrs: ["10.1.0.0/16", "2001:db8::/32"] }, { role: "admin" });
    const from = (address: string, method: string, path: string) =>
      call(url, method, path, { key: api_key, headers: { "X-Forwarded-For": address } });
    for (const address of ["10.1.2.3", "::ffff:10.1.2.3", "2001:db8::1", "8.8.8.8, 10.1.2.3"])
      expect((await from(address, "GET", "/v1/usage")).status, address).toBe(200);
    for (const address of ["10.2.0.1", "::ffff:10.2.0.1", "2001:db9::1", "10.1.2.3, 8.8.8.8", "nonsense"]) {
      expect(seen(await from(address, "GET", "/v1/usage")), address).toEqual(bound(""));
      expect(seen(await from(address, "GET", "/v1/api-keys")), address).toEqual(bound(""));
      expect(seen(await from(address, "POST", `/v1/api-keys/${key_id}/rotate`)), address).toEqual(bound(""));
      expect(seen(await submit(api_key, { from: address })), address).toEqual(bound(""));
    }
    expect(seen(await submit(api_key, { from: "10.1.2.3" }))).toBe(201);
    expect(seen(await submit(api_key))).toEqual(bound(""));
  });
});

describe("PATCH /v1/api-keys/{key_id}", () => {
  test("takes effect on every node with the next submission, even if the key is cached", async () => {
    const { api_key, key_id } = await keyOf(null);
    const sent = { base: other_url, from: "10.1.2.3" };
    const narrow = [
      [{ agent_ids: ["other"] }, "/intent/agent/id"],
      [{ membrane_ids: [other_membrane] }, "/membrane_id"],
      [{ source_cidrs: ["192.0.2.0/24"] }, ""],
    ] as const;
    for (const [bindings, path] of narrow) {
      expect(seen(await submit(api_key, sent))).toBe(201);
      expect((await bind(key_id, bindings)).status).toBe(200);
      expect(seen(await submit(api_key, sent))).toEqual(bound(path));
      // Widens again while the node has the narrow bindings in memory.
      expect((await bind(key_id, null)).status).toBe(200);
    }
    expect(seen(await submit(api_key, { ...sent, query: "?mode=shadow" }))).toBe(201);
    await bind(key_id, { forbid_shadow: true });
    expect(seen(await submit(api_key, { ...sent, query: "?mode=shadow" }))).toEqual(bound("/mode"));
  });

  test("also applies to a repetition of an answered request", async () => {
    const { api_key, key_id } = await keyOf(null);
    expect(seen(await submit(api_key, { base: other_url, once: "a" }))).toBe(201);
    expect(seen(await submit(api_key, { base: other_url, once: "a" }))).toBe(200);
    await bind(key_id, { agent_ids: ["other"] });
    expect(seen(await submit(api_key, { base: other_url, once: "a" }))).toEqual(bound("/intent/agent/id"));
    await bind(key_id, { source_cidrs: ["192.0.2.0/24"] });
    expect(seen(await submit(api_key, { base: other_url, once: "a" }))).toEqual(bound(""));
  });

  test("is audited, and refuses revoked or unknown keys, wrong bindings, and callers who are not admins", async () => {
    const { api_key, key_id } = await keyOf(null);
    const { json } = await bind(key_id, { forbid_shadow: true });
    expect(json.api_key).toMatchObject({ key_id, bindings: { forbid_shadow: true, agent_ids: null } });
    const trail = await call(url, "GET", "/v1/audit?type=key_bindings_changed", { key: admin });
    expect(trail.json.audit[0].data).toMatchObject({ key_id, bindings: json.api_key.bindings });
    expect(seen(await bind(key_id, { source_cidrs: ["x"] }))).toEqual([
      ...[422, "invalid_binding", "/bindings/source_cidrs/0", "not_allowed"],
    ]);
    const by_agent = await call(url, "PATCH", `/v1/api-keys/${key_id}`, { key: api_key, body: { bindings: null } });
    expect(by_agent.status).toBe(403);
    expect((await bind("key_unknown", null)).status).toBe(404);
    await call(url, "DELETE", `/v1/api-keys/${key_id}`, { key: admin });
    expect((await bind(key_id, null)).json.error.code).toBe("state_conflict");
  });
});

describe("claims, reports and withdrawals with a key that was bound elsewhere afterwards", () => {
  test("answer 403, and reading still works", async () => {
    const { api_key, key_id } = await keyOf(null);
    const { intent_id } = (await submit(api_key)).json;
    await bind(key_id, { agent_ids: ["other"] });
    const about = `/v1/intents/${intent_id}`;
    const claim = { key: api_key, body: { nonce: "n".repeat(32) } };
    const report = { key: api_key, body: { status: "executed" } };
    expect(seen(await call(url, "POST", `${about}/claim`, claim))).toEqual(bound(""));
    expect(seen(await call(url, "POST", `${about}/observations`, report))).toEqual(bound(""));
    expect((await call(url, "GET", about, { key: api_key })).status).toBe(200);
    await bind(key_id, { membrane_ids: [bound_membrane], agent_ids: ["bot"] });
    expect((await call(url, "POST", `${about}/claim`, claim)).status).toBe(200);
    expect((await call(url, "POST", `${about}/observations`, report)).status).toBe(201);
  });
});
