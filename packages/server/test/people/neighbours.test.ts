import { Secret, TOTP } from "otpauth";
import { beforeAll, expect, test } from "vitest";
import { writeChatLink } from "../../src/store/channels/chat-links.ts";
import { writePushDevice } from "../../src/store/channels/push-devices.ts";
import { insertPasskey } from "../../src/store/people/passkeys.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { password, peopleNodes } from "../../src/testing/nodes/people-nodes.ts";

const database = await testDatabase();
const { db } = database;
let nodes: Awaited<ReturnType<typeof peopleNodes>>;
beforeAll(async () => {
  nodes = await peopleNodes(database);
});

/** A person with every kind of sign-in state. */
async function somebody(admin: Awaited<ReturnType<typeof nodes.signedUp>>) {
  const { email, cookie, user_id } = await nodes.joined(admin.cookie, "operator");
  const { secret } = (await nodes.send("POST", "/v1/auth/totp/enrol", { cookie })).json;
  const timestamp = Date.now() - 30_000;
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp });
  const on = await nodes.send("POST", "/v1/auth/totp/confirm", { cookie, body: { code } });
  const codes: string[] = on.json.recovery_codes;
  const passkey_id = `passkey-of-${user_id}`;
  const passkey = { passkey_id, public_key: Buffer.from("x"), counter: 0, transports: [] };
  const created_at = new Date().toISOString();
  const owner = { org_id: admin.session.org_id, user_id, name: "Key", created_at };
  await db.system((query) => insertPasskey(query, { ...passkey, ...owner }));
  await db.system((query) => writeChatLink(query, owner.org_id, user_id, { team_id: "T1", chat_user_id: user_id }));
  const endpoint_sha256 = Buffer.from(user_id).toString("hex");
  const device = { device_id: `device-of-${user_id}`, endpoint_sha256, subscription_sealed: "x" };
  await db.system((query) => writePushDevice(query, { ...owner, ...device }));
  const verify = async (given: string) => {
    const login = await nodes.send("POST", "/v1/auth/login", { body: { email, password } });
    return nodes.send("POST", "/v1/auth/mfa/verify", { cookie: login.cookie as string, body: { code: given } });
  };
  const second = await verify(codes[0] as string);
  expect([second.status, (await verify("000000")).status]).toEqual([200, 401]);
  const absence = { until: new Date(Date.now() + 3_600_000).toISOString(), delegate: admin.session.user.user_id };
  expect(
    (await nodes.send("PUT", `/v1/people/${user_id}/absence`, { cookie: on.cookie as string, body: absence })).status,
  ).toBe(200);
  await nodes.send("POST", "/v1/auth/password/forgot", { body: { email } });
  const link = await nodes.mailed(email, /^Set a new/);
  const { session_id } = second.json.session;
  return { email, user_id, cookie: on.cookie as string, codes, passkey_id, session_id, verify, link };
}

/** Every row that names the person, without the time of the last request. */
async function rowsOf(user_id: string): Promise<Record<string, unknown>> {
  const tables = await db.query<{ name: string }>(
    "select table_name::text as name from information_schema.columns where table_schema = 'public' and column_name = 'user_id'",
  );
  const found: Record<string, unknown> = {};
  const read = async (name: string, where: string) => {
    const rows = await db.query<{ row: Record<string, unknown> }>(
      `select to_jsonb(t) - 'last_seen_at' as row from ${name} t where ${where} order by t::text collate "C"`,
      [user_id],
    );
    expect(rows.length, name).toBeGreaterThan(0);
    found[name] = rows.map(({ row }) => row);
  };
  for (const { name } of tables) if (name !== "sso_identities") await read(name, "user_id = $1");
  await read("person_tokens", "subject ->> 'user_id' = $1");
  await read("session_index", "session_id in (select session_id from sessions where user_id = $1)");
  return found;
}

test("one person's changes never read, use, change or end anything of another", async () => {
  const admin = await nodes.signedUp();
  const [ann, bob] = [await somebody(admin), await somebody(admin)];
  const before = await rowsOf(bob.user_id);
  const own = (cookie: string) => async (method: string, path: string, body?: object) =>
    nodes.send(method, `/v1/auth/${path}`, { cookie, ...(body && { body }) });
  let as = own(ann.cookie);

  const sessions = (await as("GET", "sessions")).json.sessions.map((each: { session_id: string }) => each.session_id);
  expect(sessions).toHaveLength(2);
  expect(sessions).not.toContain(bob.session_id);
  expect((await as("GET", "passkeys")).json.passkeys).toMatchObject([{ passkey_id: ann.passkey_id }]);

  const changed = await as("POST", "password", { current_password: password, password: "quite another one" });
  as = own(changed.cookie as string);
  const steps: [string, number, () => Promise<{ status: number }>][] = [
    ["ends another's session", 404, () => as("DELETE", `sessions/${bob.session_id}`)],
    ["deletes another's passkey", 404, () => as("DELETE", `passkeys/${bob.passkey_id}`)],
    ["uses another's recovery code", 401, () => as("POST", "totp/disable", { code: bob.codes[1] })],
    ["changes its settings", 200, () => as("PATCH", "profile", { notify: false })],
    ["deletes its passkey", 204, () => as("DELETE", `passkeys/${ann.passkey_id}`)],
    ["ends a login", 204, () => as("POST", "logout")],
    ["sets a password by mail", 404, () => as("POST", "password/reset", { token: ann.link, password })],
  ];
  for (const [step, status, take] of steps) {
    expect([(await take()).status, step]).toEqual([status, step]);
    expect(await rowsOf(bob.user_id), step).toEqual(before);
  }
  const links = () => nodes.mails.filter(({ to, subject }) => to === ann.email && /^Set a new/.test(subject)).length;
  const mailed = links();
  await nodes.send("POST", "/v1/auth/password/forgot", { body: { email: ann.email } });
  await expect.poll(links).toBe(mailed + 1);
  const token = await nodes.mailed(ann.email, /^Set a new/);
  expect((await as("POST", "password/reset", { token, password })).status).toBe(204);
  as = own((await ann.verify(ann.codes[2] as string)).cookie as string);
  const replaced = (await as("POST", "recovery-codes", { code: ann.codes[3] })).json.recovery_codes;
  expect((await as("POST", "totp/disable", { code: replaced[0] })).status).toBe(204);
  expect((await as("DELETE", "sessions")).status).toBe(204);
  const person = `/v1/people/${ann.user_id}`;
  const by = { cookie: admin.cookie };
  expect((await nodes.send("PATCH", person, { ...by, body: { role: "reviewer" } })).status).toBe(200);
  expect((await nodes.send("DELETE", person, by)).status).toBe(204);
  expect(await rowsOf(bob.user_id)).toEqual(before);
  expect((await own(bob.cookie)("GET", "session")).json.session.user).toMatchObject({ role: "operator", notify: true });
});

test("another person's wrong codes lock nobody out", async () => {
  const admin = await nodes.signedUp();
  const [ann, bob] = [await somebody(admin), await somebody(admin)];
  await db.query("update sessions set mfa_failures = 1000 where user_id = $1 and mfa_pending", [bob.user_id]);
  expect((await bob.verify("000000")).code).toBe("rate_limit_exceeded");
  expect((await ann.verify("000000")).code).toBe("invalid_credentials");
});
