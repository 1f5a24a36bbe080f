import { beforeAll, expect, test } from "vitest";
import { createIds } from "../../src/edge/ids.ts";
import { newPasswordLink } from "../../src/operations/people/passwords.ts";
import { insertPasskey } from "../../src/store/people/passkeys.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { password, peopleNodes } from "../../src/testing/nodes/people-nodes.ts";

const database = await testDatabase();
let nodes: Awaited<ReturnType<typeof peopleNodes>>;
beforeAll(async () => {
  nodes = await peopleNodes(database);
});

const post = (path: string, body: object, cookie?: string) =>
  nodes.send("POST", `/v1/auth/${path}`, { body, ...(cookie !== undefined && { cookie }) });

async function withLink() {
  const person = await nodes.signedUp();
  await post("password/forgot", { email: person.email });
  return { ...person, link: await nodes.mailed(person.email, /^Set a new/) };
}

async function addPasskey({ session }: Awaited<ReturnType<typeof withLink>>, name: string): Promise<string> {
  const passkey_id = `key-${session.user.user_id}`;
  const row = { passkey_id, org_id: session.org_id, user_id: session.user.user_id, name, public_key: Buffer.alloc(1) };
  const created_at = new Date().toISOString();
  await database.db.system((query) => insertPasskey(query, { ...row, counter: 0, transports: [], created_at }));
  return passkey_id;
}

test("a link ends with the next change of the password", async () => {
  const { cookie, link } = await withLink();
  const change = { current_password: password, password: "another good password" };
  expect((await post("password", change, cookie)).status).toBe(200);
  expect((await post("password/reset", { token: link, password })).code).toBe("not_found");
});

test("a request from before a password change creates no link", async () => {
  const { email, cookie } = await nodes.signedUp();
  const ids = createIds(nodes.clock);
  const linkAskedAt = (asked_at: string) =>
    database.db.system((query) => newPasswordLink({ ids }, query, email, { again: true, asked_at }));
  const before = new Date().toISOString();
  expect(await linkAskedAt(before)).not.toBeNull();
  const change = { current_password: password, password: "another good password" };
  expect((await post("password", change, cookie)).status).toBe(200);
  expect(await linkAskedAt(before)).toBeNull();
  expect(await linkAskedAt(new Date(Date.now() + 60_000).toISOString())).not.toBeNull();
});

test("a reset mentions passkeys, which stay unless it removes them", async () => {
  for (const remove_passkeys of [false, true]) {
    const person = await withLink();
    const { link: token, email } = person;
    const passkey_id = await addPasskey(person, "my laptop");
    const seen = await post("password/reset/passkeys", { token });
    expect(seen.json.passkeys).toMatchObject([{ passkey_id, name: "my laptop" }]);
    expect((await post("password/reset", { token, password, remove_passkeys })).status).toBe(204);
    expect((await post("password/reset/passkeys", { token })).code).toBe("not_found");
    const cookie = (await post("login", { email, password })).cookie as string;
    const left = await nodes.send("GET", "/v1/auth/passkeys", { cookie });
    expect(left.json.passkeys).toHaveLength(remove_passkeys ? 0 : 1);
    const trail = await nodes.send("GET", "/v1/audit?type=passkey_deleted", { cookie });
    expect(trail.json.audit).toHaveLength(remove_passkeys ? 1 : 0);
    const told = () => nodes.mails.find(({ to, subject }) => to === email && /^How you sign in/.test(subject))?.text;
    await expect.poll(told).toBeDefined();
    expect(/still sign in to your account: 1/.test(told() ?? "")).toBe(!remove_passkeys);
  }
});
