/** Source: decision 0041. */
import { expect, test } from "vitest";
import { announceExpiry } from "../../src/operations/keys/announce-expiry.ts";
import { countExpiringKeys } from "../../src/store/keys/key-expiry.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";

const database = await testDatabase();
const { url, metrics } = await serviceNode(database);

async function organization() {
  const body = { org_name: "Acme", email: "you@example.com", description: "an agent" };
  const { json } = await call(url, "POST", "/v1/onboarding/quickstart", { body });
  const { api_key: admin, membrane_id } = json;
  const create = async (more: object) =>
    (await call(url, "POST", "/v1/api-keys", { key: admin, body: more })).json as { api_key: string; key_id: string };
  const list = async () => (await call(url, "GET", "/v1/api-keys", { key: admin })).json.api_keys as Listed[];
  const warnings = async (key_id: string) => (await list()).find((key) => key.key_id === key_id)?.warnings;
  const submit = (key: string, agent_id: string, more: object = {}) =>
    call(url, "POST", "/v1/intents", {
      key,
      body: { intent: { agent: { id: agent_id }, action: { verb: "v" } }, ...more },
    });
  const goLive = () => call(url, "POST", `/v1/membranes/${membrane_id}/go-live`, { key: admin });
  return { ...json, admin, membrane_id, create, list, warnings, submit, goLive };
}
interface Listed {
  readonly key_id: string;
  readonly warnings: string[];
  readonly expires_in_days: number | null;
}

test("list, overview and going live warn of an unbound agent key while a membrane is live", async () => {
  const { admin, create, warnings, goLive, membrane_id } = await organization();
  const unbound = await create({ name: "loose" });
  const bound = [
    await create({ bindings: { forbid_shadow: true } }),
    await create({ scope: "agent", agent_id: "a" }),
    await create({ role: "reviewer" }),
  ];
  expect(await warnings(unbound.key_id)).toEqual([]);
  const { next_steps } = (await goLive()).json;
  expect(next_steps.at(-1)).toMatch(new RegExp(`Bind these agent keys: ${unbound.key_id}\\.`));
  expect(await warnings(unbound.key_id)).toEqual(["unbound"]);
  for (const { key_id } of bound) expect(await warnings(key_id)).toEqual([]);
  const overview = async () => (await call(url, "GET", "/v1/overview", { key: admin })).json.overview.keys;
  expect(await overview()).toMatchObject([
    { key_id: unbound.key_id, name: "loose", role: "agent", warnings: ["unbound"] },
  ]);
  await call(url, "POST", `/v1/membranes/${membrane_id}/return-to-shadow`, { key: admin, body: { reason: "Again." } });
  expect(await warnings(unbound.key_id)).toEqual([]);
  expect(await overview()).toEqual([]);
  await goLive();
  await call(url, "DELETE", `/v1/api-keys/${unbound.key_id}`, { key: admin });
  expect(await warnings(unbound.key_id)).toEqual([]);
});

test("an admin key gets a warning once it submits, not for other uses", async () => {
  const { admin, key_id, warnings, submit } = await organization();
  expect(await warnings(key_id)).toEqual([]);
  await submit(admin, "a");
  expect(await warnings(key_id)).toEqual(["admin_submits"]);
  await database.db.query("update api_keys set last_submitted_at = now() - interval '31 days' where key_id = $1", [
    key_id,
  ]);
  expect(await warnings(key_id)).toEqual([]);
  const intents = [{ intent: { agent: { id: "a" }, action: { verb: "v" } } }];
  // The minute of the last use is already written.
  await call(url, "POST", "/v1/intents/batch", { key: admin, body: { intents } });
  expect(await warnings(key_id)).toEqual(["admin_submits"]);
});

test("suggested bindings are the agents and membranes of the key and its rotations, and allow the same submissions", async () => {
  const { admin, create, submit, membrane_id, key_id: admin_id } = await organization();
  const second = await call(url, "POST", "/v1/membranes", { key: admin, body: { name: "second" } });
  const other = second.json.membrane.membrane_id;
  const first = await create({});
  const observed = async (key_id: string) =>
    (await call(url, "GET", `/v1/api-keys/${key_id}/observed-bindings`, { key: admin })).json.observed;
  expect(await observed(first.key_id)).toMatchObject({ decisions: 0, complete: true, bindings: null });
  await submit(first.api_key, "Bot");
  const key = (await call(url, "POST", `/v1/api-keys/${first.key_id}/rotate`, { key: first.api_key })).json;
  await submit(key.api_key, "bot");
  await submit(key.api_key, "second", { membrane_id: other });
  await submit(admin, "foreign");
  const found = await observed(key.key_id);
  expect(found.decisions).toBe(3);
  expect(found.bindings).toEqual({
    membrane_ids: [membrane_id, other].sort(),
    agent_ids: [expect.stringMatching(/^bot$/i), "second"],
    source_cidrs: null,
    forbid_shadow: true,
  });
  expect((await observed(admin_id)).bindings.agent_ids).toEqual(["foreign"]);
  const bind = { key: admin, body: { bindings: found.bindings } };
  expect((await call(url, "PATCH", `/v1/api-keys/${key.key_id}`, bind)).status).toBe(200);
  expect((await submit(key.api_key, "BOT")).status).toBe(201);
  expect((await submit(key.api_key, "foreign")).status).toBe(403);
  expect((await call(url, "GET", "/v1/api-keys/key_unknown/observed-bindings", { key: admin })).status).toBe(404);
});

test("admins get one mail 14 days, 3 days and 1 day before a key expires; the list and a metric show it, too", async () => {
  const { org_id, create, list } = await organization();
  await database.db.query(
    `insert into people (org_id, user_id, email, role, created_at)
     select $1, 'usr_' || r, r || '@example.com', r, now() from unnest(array['admin', 'reviewer']) as r`,
    [org_id],
  );
  const { key_id } = await create({ name: "deploy", expires_in_days: 20 });
  const runtime = {
    db: database.db,
    ids: { next: (kind: string) => `${kind}_${crypto.randomUUID()}` },
    sealer: { seal: (text: string) => text },
    mails: { wake: () => undefined },
    log: { error: (_: unknown, message: string) => expect.fail(message) },
  } as unknown as Parameters<typeof announceExpiry>[0];
  const announce = async () => {
    await announceExpiry(runtime, []);
    const rows = await database.db.query<{ kind: string; sealed: string }>("delete from mails returning kind, sealed");
    return rows.map(({ kind, sealed }) => ({ kind, ...JSON.parse(sealed) }));
  };
  const left = (days: number) =>
    database.db.query("update api_keys set expires_at = now() + make_interval(secs => $2) where key_id = $1", [
      ...[key_id, days * 86_400 - 60],
    ]);
  await announce();
  for (const days of [14, 3, 1]) {
    await left(days);
    expect(await announce()).toMatchObject([
      { kind: "key_expiry", to: "admin@example.com", keys: [{ key_id, name: "deploy" }], more: 0 },
    ]);
    expect(await announce()).toEqual([]);
    expect((await list())[0]).toMatchObject({ key_id, warnings: ["expires_soon"], expires_in_days: days - 1 });
    const counted = await countExpiringKeys(database.db);
    expect([14, 3, 1].map((within) => counted[within])).toEqual([14, 3, 1].map((within) => (days <= within ? 1 : 0)));
    expect(await metrics.text()).toContain(`countersign_keys_expiring{within_days="${days}"} 1`);
  }
  // A key made for two days is announced only on its last day.
  await create({ expires_in_days: 2 });
  expect(await announce()).toEqual([]);
  await left(-1);
  expect((await list())[1]).toMatchObject({ key_id, warnings: [], expires_in_days: null });
});
