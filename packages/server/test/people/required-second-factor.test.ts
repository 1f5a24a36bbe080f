/** Source: docs/decisions/0061. */
import { operationRows } from "@countersign/contract";
import { Secret, TOTP } from "otpauth";
import { beforeAll, expect, test } from "vitest";
import { slackCaller } from "../../src/operations/channels/slack-requests.ts";
import { writeChatLink } from "../../src/store/channels/chat-links.ts";
import { insertPasskey } from "../../src/store/people/passkeys.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { password, peopleNodes } from "../../src/testing/nodes/people-nodes.ts";

const database = await testDatabase();
const { db } = database;
let nodes: Awaited<ReturnType<typeof peopleNodes>>;
beforeAll(async () => {
  nodes = await peopleNodes(database);
});

const logIn = (email: string) => nodes.send("POST", "/v1/auth/login", { body: { email, password } });
const require = (cookie: string, second_factor_required = true) =>
  nodes.send("PATCH", "/v1/organization", { cookie, body: { second_factor_required } });
const missing = async (cookie: string) =>
  (await nodes.send("GET", "/v1/me", { cookie })).json.caller.second_factor_missing;

/** Returns the new cookie. */
async function setUp(cookie: string): Promise<string> {
  const { secret } = (await nodes.send("POST", "/v1/auth/totp/enrol", { cookie })).json;
  const body = { code: new TOTP({ secret: Secret.fromBase32(secret) }).generate() };
  const confirmed = await nodes.send("POST", "/v1/auth/totp/confirm", { cookie, body });
  expect(confirmed.status).toBe(200);
  return confirmed.cookie as string;
}

/** An organization that requires a second factor, with its admin and a member who has none. */
async function requiring() {
  const admin = await nodes.signedUp();
  const member = await nodes.joined(admin.cookie, "reviewer");
  const cookie = await setUp(admin.cookie);
  expect((await require(cookie)).json.organization.second_factor_required).toBe(true);
  return { org_id: admin.session.org_id as string, cookie, member };
}

async function addPasskey(org_id: string, user_id: string): Promise<void> {
  const passkey = { passkey_id: `passkey-of-${user_id}`, public_key: Buffer.from("x"), counter: 0, transports: [] };
  const owner = { org_id, user_id, name: "Key", created_at: new Date().toISOString() };
  await db.system((query) => insertPasskey(query, { ...passkey, ...owner }));
}

test("a session without a second factor can only set one up, and then do everything, also one that began earlier", async () => {
  const { member } = await requiring();
  const { cookie } = await logIn(member.email);
  for (const each of [member.cookie, cookie as string]) {
    expect((await nodes.send("GET", "/v1/escalations", { cookie: each }, nodes.other)).code).toBe(
      "second_factor_required",
    );
    expect(await missing(each)).toBe(true);
  }
  const after = await setUp(member.cookie);
  expect([await missing(after), (await nodes.send("GET", "/v1/escalations", { cookie: after })).status]).toEqual([
    false,
    200,
  ]);
});

test("every operation that takes a session refuses it, but for those that set up a second factor", async () => {
  const { member } = await requiring();
  const taking = operationRows.filter(([, { auth, form }]) => auth !== "none" && form !== true);
  const open: string[] = [];
  for (const [id, { method, path }] of taking) {
    const { code } = await nodes.send(method, path.replaceAll(/\{\w+\}/g, "x"), { cookie: member.cookie });
    if (code !== "second_factor_required") open.push(id);
  }
  expect(open.sort()).toEqual([
    "beginPasskeyRegistration",
    "confirmTotp",
    "enrolTotp",
    "finishPasskeyRegistration",
    "getCaller",
    "listPasskeys",
  ]);
});

test("only a signed-in admin with a second factor can require one; keys go on without", async () => {
  const admin = await nodes.signedUp();
  const body = { role: "admin", name: "ci" };
  const key = (await nodes.send("POST", "/v1/api-keys", { cookie: admin.cookie, body })).json.api_key as string;
  expect((await require(admin.cookie)).code).toBe("state_conflict");
  const change = { key, body: { second_factor_required: true } };
  expect((await nodes.send("PATCH", "/v1/organization", change)).code).toBe("state_conflict");
  const cookie = await setUp(admin.cookie);
  expect((await require(cookie)).status).toBe(200);
  expect((await nodes.send("GET", "/v1/organization", { key })).json.organization.second_factor_required).toBe(true);
  expect((await require(cookie, false)).status).toBe(200);
});

test("a stolen password adds no second factor beside a passkey", async () => {
  const { org_id, member } = await requiring();
  await addPasskey(org_id, member.user_id);
  const { cookie } = await logIn(member.email);
  const sent = { cookie: cookie as string, body: { password } };
  const { status, json } = await nodes.send("POST", "/v1/auth/totp/enrol", sent);
  expect([status, json.error.details[0].message]).toEqual([403, expect.stringContaining("with your passkey")]);
});

test("who switches the authenticator off must set up a second factor again", async () => {
  const { member } = await requiring();
  const { secret } = (await nodes.send("POST", "/v1/auth/totp/enrol", { cookie: member.cookie })).json;
  const code = (seconds: number) =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + seconds * 1_000 });
  const confirmed = await nodes.send("POST", "/v1/auth/totp/confirm", {
    cookie: member.cookie,
    body: { code: code(0) },
  });
  const cookie = confirmed.cookie as string;
  expect((await nodes.send("POST", "/v1/auth/totp/disable", { cookie, body: { code: code(30) } })).status).toBe(204);
  expect(await missing(cookie)).toBe(true);
});

test("a vote from Slack needs a person with an authenticator or a passkey", async () => {
  const { org_id, member } = await requiring();
  const account = { team_id: "T1", chat_user_id: "U1" };
  await db.system((query) => writeChatLink(query, org_id, member.user_id, account));
  await expect(slackCaller({ db }, org_id, account)).rejects.toMatchObject({ code: "second_factor_required" });
  await addPasskey(org_id, member.user_id);
  expect(await slackCaller({ db }, org_id, account)).toMatchObject({ user_id: member.user_id });
});
