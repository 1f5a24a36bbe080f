import { limits } from "@countersign/contract";
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { peopleNodes } from "../../src/testing/nodes/people-nodes.ts";

const database = await testDatabase();
let nodes: Awaited<ReturnType<typeof peopleNodes>>;
beforeAll(async () => {
  nodes = await peopleNodes(database);
});

type Made = Record<string, unknown>;
const remove = (cookie: string, user_id: string, made?: Made) =>
  nodes.send("DELETE", `/v1/people/${user_id}`, { cookie, ...(made === undefined ? {} : { body: { made } }) });
const demote = (cookie: string, user_id: string, role: string, made?: Made) =>
  nodes.send("PATCH", `/v1/people/${user_id}`, { cookie, body: { role, ...(made === undefined ? {} : { made }) } });
const newKey = async (by: { cookie: string } | { key: string }, role = "operator") =>
  (await nodes.send("POST", "/v1/api-keys", { ...by, body: { role, name: `a key of role ${role}` } })).json;
const newWebhook = async (cookie: string) =>
  (await nodes.send("POST", "/v1/escalations/webhooks", { cookie, body: { url: "https://receiver.example/hook" } }))
    .json.webhook;
const invite = async (cookie: string) =>
  (await nodes.send("POST", "/v1/auth/invitations", { cookie, body: { email: nodes.newAddress(), role: "reviewer" } }))
    .json.invitation;

/** An organization with two admins. The second made one thing of each kind, and a key that made a key. */
async function withMade() {
  const admin = await nodes.signedUp();
  const maker = await nodes.joined(admin.cookie, "admin");
  const first = await newKey({ cookie: maker.cookie }, "admin");
  const second = await newKey({ key: first.api_key });
  const webhook = await newWebhook(maker.cookie);
  const invitation = await invite(maker.cookie);
  return { admin, maker, first, second, webhook, invitation };
}

test("removing a person who made things answers 409 with the list, and changes nothing", async () => {
  const { admin, maker, first, second, webhook, invitation } = await withMade();
  const others = await newWebhook(admin.cookie);
  const ids = [first.key_id, second.key_id, webhook.id, invitation.invitation_id, others.id];
  const one_too_many = Object.fromEntries(ids.map((id) => [id, "revoke"]));
  for (const answer of [
    await remove(admin.cookie, maker.user_id),
    await remove(admin.cookie, maker.user_id, { [first.key_id]: "revoke" }),
    await remove(admin.cookie, maker.user_id, one_too_many),
    await demote(admin.cookie, maker.user_id, "operator"),
    await nodes.send("POST", "/v1/auth/leave", { cookie: maker.cookie }),
  ]) {
    expect([answer.status, answer.code]).toEqual([409, "state_conflict"]);
    expect(answer.json.error.details).toMatchObject([{ path: "/made", code: "undecided" }]);
    expect(answer.json.error.details[0].made).toMatchObject([
      { kind: "api_key", id: first.key_id, name: "a key of role admin", created_at: first.created_at },
      { kind: "api_key", id: second.key_id },
      { kind: "invitation", id: invitation.invitation_id, name: invitation.email },
      { kind: "webhook", id: webhook.id, name: webhook.url },
    ]);
  }
  expect((await nodes.send("GET", "/v1/me", { cookie: maker.cookie })).status).toBe(200);
  expect((await nodes.send("GET", "/v1/me", { key: first.api_key })).status).toBe(200);
});

test("revoked things end with the person, each with an audit row", async () => {
  const { admin, maker, first, second, webhook, invitation } = await withMade();
  const ids = [first.key_id, second.key_id, webhook.id, invitation.invitation_id];
  const made = Object.fromEntries(ids.map((id) => [id, "revoke"]));
  expect((await remove(admin.cookie, maker.user_id, made)).status).toBe(204);
  for (const { api_key } of [first, second])
    expect((await nodes.send("GET", "/v1/me", { key: api_key }, nodes.other)).code).toBe("invalid_api_key");
  const { cookie } = admin;
  expect((await nodes.send("GET", "/v1/escalations/webhooks", { cookie })).json.webhooks).toEqual([]);
  expect((await nodes.send("GET", "/v1/auth/invitations", { cookie })).json.invitations).toEqual([]);
  const types = (await nodes.send("GET", "/v1/audit?limit=10", { cookie })).json.audit.map((row: Made) => row.type);
  expect(types.slice(0, 6).sort()).toEqual(
    ["invitation_revoked", "key_revoked", "key_revoked", "sessions_ended", "user_removed", "webhook_deleted"].sort(),
  );
});

test("kept things continue, and an invitation then belongs to the admin who kept it", async () => {
  const { admin, maker, first, second, webhook, invitation } = await withMade();
  const ids = [first.key_id, second.key_id, webhook.id, invitation.invitation_id];
  const made = Object.fromEntries(ids.map((id) => [id, "keep"]));
  expect((await demote(admin.cookie, maker.user_id, "operator", made)).status).toBe(200);
  const { cookie } = admin;
  expect((await nodes.send("GET", "/v1/me", { key: second.api_key })).status).toBe(200);
  expect((await nodes.send("GET", "/v1/escalations/webhooks", { cookie })).json.webhooks).toMatchObject([
    { id: webhook.id, active: true },
  ]);
  const senders = "select invited_by from invitations where invitation_id = $1";
  expect(await database.db.query(senders, [invitation.invitation_id])).toEqual([
    { invited_by: admin.session.user.user_id },
  ]);
});

test("a role with all former rights needs no choice, nor does removing a person who made nothing", async () => {
  const { admin, maker, first, second, webhook, invitation } = await withMade();
  const ids = [first.key_id, second.key_id, webhook.id, invitation.invitation_id];
  const made = Object.fromEntries(ids.map((id) => [id, "keep"]));
  expect((await demote(admin.cookie, maker.user_id, "operator", made)).status).toBe(200);
  const needless = await demote(admin.cookie, maker.user_id, "admin", made);
  expect([needless.status, needless.json.error.details]).toMatchObject([409, [{ code: "undecided", made: [] }]]);
  expect((await demote(admin.cookie, maker.user_id, "admin")).status).toBe(200);
  const other = await nodes.joined(admin.cookie, "reviewer");
  expect((await demote(admin.cookie, other.user_id, "operator")).status).toBe(200);
  expect((await demote(admin.cookie, other.user_id, "auditor")).status).toBe(200);
  expect((await remove(admin.cookie, other.user_id)).status).toBe(204);
});

test("keys and webhooks are listed with their creators", async () => {
  const { admin, maker, first, second, webhook } = await withMade();
  const { cookie } = admin;
  const keys = (await nodes.send("GET", "/v1/api-keys", { cookie })).json.api_keys;
  expect(keys).toMatchObject([
    { key_id: second.key_id, created_by: first.key_id },
    { key_id: first.key_id, created_by: maker.user_id },
  ]);
  expect(webhook.created_by).toBe(maker.user_id);
  expect((await nodes.send("GET", `/v1/escalations/webhooks/${webhook.id}`, { cookie })).json.webhook.created_by).toBe(
    maker.user_id,
  );
});

test.each([
  ["another word", { key_1: "delete" }],
  ["no word", { key_1: null }],
  [
    "too many ids",
    Object.fromEntries(Array.from({ length: limits.made_choices_max + 1 }, (_, n) => [`k${n}`, "keep"])),
  ],
])("an invalid choice is refused: %s", async (_, made) => {
  const { admin, maker } = await withMade();
  const answer = await remove(admin.cookie, maker.user_id, made);
  expect([answer.status, answer.code]).toEqual([400, "invalid_request"]);
  expect(answer.json.error.details[0].path).toMatch(/^\/made/);
});

test('"*" revokes or keeps everything unnamed, also things that the list did not have', async () => {
  const { admin, maker, first, second, webhook, invitation } = await withMade();
  const later = await newKey({ cookie: maker.cookie });
  const choices = { [later.key_id]: "keep", [invitation.invitation_id]: "keep", key_ended: "revoke", "*": "revoke" };
  expect((await demote(admin.cookie, maker.user_id, "operator", choices)).status).toBe(200);
  const accepted = async ({ api_key }: Made) => (await nodes.send("GET", "/v1/me", { key: `${api_key}` })).status;
  expect([await accepted(first), await accepted(second), await accepted(later)]).toEqual([401, 401, 200]);
  const { cookie } = admin;
  expect((await nodes.send("GET", `/v1/escalations/webhooks/${webhook.id}`, { cookie })).status).toBe(404);
  expect((await nodes.send("GET", "/v1/auth/invitations", { cookie })).json.invitations).toMatchObject([
    { invitation_id: invitation.invitation_id },
  ]);
  expect((await remove(cookie, maker.user_id, { "*": "keep" })).status).toBe(204);
  expect(await accepted(later)).toBe(200);
});

test('with "*" neither a long list of things nor an empty one prevents the removal', async () => {
  const { admin, maker, webhook } = await withMade();
  const { cookie } = admin;
  await database.db.query(
    `insert into api_keys (org_id, key_id, key_sha256, lineage_id, environment, scope, role, created_by, created_at, expires_at, lifetime_seconds, person)
     select $1, 'key_' || $2 || n, sha256(($2 || n)::bytea), 'key_' || $2 || n, 'live', 'org', 'operator', $2, now(), now() + interval '1 day', 86400, $2
     from generate_series(1, $3::integer) n`,
    [admin.session.org_id, maker.user_id, limits.made_choices_max],
  );
  const listed = (await remove(cookie, maker.user_id)).json.error.details[0];
  expect([listed.made.length, listed.message]).toEqual([
    limits.made_choices_max,
    expect.stringContaining('"*" is needed'),
  ]);
  expect((await demote(cookie, maker.user_id, "admin", { "*": "revoke" })).status).toBe(200);
  expect((await nodes.send("GET", `/v1/escalations/webhooks/${webhook.id}`, { cookie })).status).toBe(200);
  expect((await remove(cookie, maker.user_id, { "*": "revoke" })).status).toBe(204);
  const left = "select from api_keys where created_by = $1 and revoked_at is null";
  expect(await database.db.query(left, [maker.user_id])).toEqual([]);
  const idle = await nodes.joined(cookie, "reviewer");
  expect((await remove(cookie, idle.user_id, { "*": "revoke" })).status).toBe(204);
});

test.each(["the key", "a key that the key made", "a rotation of the key"])(
  "a kept invitation stays if %s both makes the request and is revoked",
  async (which) => {
    const { admin, maker, first, invitation } = await withMade();
    let calling = first;
    if (which === "a key that the key made") calling = await newKey({ key: first.api_key }, "admin");
    if (which === "a rotation of the key")
      calling = (await nodes.send("POST", `/v1/api-keys/${first.key_id}/rotate`, { key: first.api_key })).json;
    const body = { made: { [invitation.invitation_id]: "keep", "*": "revoke" } };
    const answer = await nodes.send("DELETE", `/v1/people/${maker.user_id}`, { key: calling.api_key, body });
    expect(answer.status).toBe(204);
    const { cookie } = admin;
    expect((await nodes.send("GET", "/v1/me", { key: calling.api_key })).status).toBe(401);
    expect((await nodes.send("GET", "/v1/auth/invitations", { cookie })).json.invitations).toMatchObject([
      { invitation_id: invitation.invitation_id },
    ]);
    const senders = "select invited_by from invitations where invitation_id = $1";
    expect(await database.db.query(senders, [invitation.invitation_id])).toEqual([{ invited_by: "system" }]);
  },
);
