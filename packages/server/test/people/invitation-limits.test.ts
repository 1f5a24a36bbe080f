import { limits } from "@countersign/contract";
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { testOrganization } from "../../src/testing/nodes/http-node.ts";
import { password, peopleNodes } from "../../src/testing/nodes/people-nodes.ts";

const database = await testDatabase();
let nodes: Awaited<ReturnType<typeof peopleNodes>>;
beforeAll(async () => {
  nodes = await peopleNodes(database);
});

const max = limits.open_invitations_per_organization_max;
const invite = (cookie: string, email: string, base = nodes.url) =>
  nodes.send("POST", "/v1/auth/invitations", { cookie, body: { email, role: "reviewer" } }, base);

/** An organization with this many open invitations and some expired ones. */
async function organizationWith(open: number) {
  const admin = await nodes.signedUp();
  const fill = (kind: string, count: number, ends: string) =>
    database.db.system((query) =>
      query(
        `insert into invitations (org_id, invitation_id, email, role, token_sha256, invited_by, created_at, expires_at)
         select $1, 'inv_' || $2 || n, $2 || n || '@example.com', 'reviewer', sha256(($1 || $2 || n)::bytea), 'usr_filler', now(),
           $4::timestamptz from generate_series(1, $3::integer) as n`,
        [admin.session.org_id, kind, count, ends],
      ),
    );
  const in_a_day = new Date(Date.now() + 86_400_000).toISOString();
  const a_second_ago = new Date(Date.now() - 1_000).toISOString();
  await fill("open", open, in_a_day);
  await fill("expired", 5, a_second_ago);
  return admin;
}

test("accepts one below the limit, none at the limit, not counting expired ones; refused ones send no mail", async () => {
  const { cookie } = await organizationWith(max - 1);
  expect((await invite(cookie, nodes.newAddress())).status).toBe(201);
  const refused = nodes.newAddress();
  const answer = await invite(cookie, refused);
  expect([answer.status, answer.code]).toEqual([409, "already_exists"]);
  expect(answer.json.error.details[0].message).toContain(String(max));
  // Another organization's mail is sent after the time at which a refused one would have been.
  const other = nodes.newAddress();
  expect((await invite((await organizationWith(0)).cookie, other)).status).toBe(201);
  await nodes.mailed(other, /^Join/);
  expect(nodes.count(refused)).toBe(0);
  const trail = await nodes.send("GET", "/v1/audit?type=user_invited&limit=200", { cookie });
  expect(trail.json.audit).toHaveLength(1);
});

test("at the limit an address can be invited again, because this replaces its first invitation", async () => {
  const { cookie } = await organizationWith(max);
  expect((await invite(cookie, "OPEN1@example.com")).status).toBe(201);
  expect((await invite(cookie, nodes.newAddress())).code).toBe("already_exists");
});

test("each accepted, withdrawn or expired invitation makes room for one", async () => {
  const { cookie, session } = await organizationWith(max - 1);
  const email = nodes.newAddress();
  expect((await invite(cookie, email)).status).toBe(201);
  const full = async () => expect((await invite(cookie, nodes.newAddress())).code).toBe("already_exists");
  const room = async () => expect((await invite(cookie, nodes.newAddress())).status).toBe(201);
  await full();
  const token = await nodes.mailed(email, /^Join/);
  expect((await nodes.send("POST", "/v1/auth/invitations/accept", { body: { token, password } })).status).toBe(200);
  await room();
  await full();
  expect((await nodes.send("DELETE", "/v1/auth/invitations/inv_open1", { cookie })).status).toBe(204);
  await room();
  await full();
  await database.db.query(
    "update invitations set expires_at = clock_timestamp() where org_id = $1 and invitation_id = 'inv_open2'",
    [session.org_id],
  );
  await room();
  await full();
});

test("of several at once on two nodes exactly as many are accepted as there is room for", async () => {
  const { cookie } = await organizationWith(max - 2);
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, n) => invite(cookie, nodes.newAddress(), n % 2 ? nodes.other : nodes.url)),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 409, 409, 409, 409]);
});

const strangersKey = async () => (await (await testOrganization(database.db)).key()).api_key;

const inviteBy = (key: string, email = nodes.newAddress(), base = nodes.url) =>
  nodes.send("POST", "/v1/auth/invitations", { key, body: { email, role: "admin" } }, base);

test("an organization without people may send few invitations a day, withdrawn ones included; later more", async () => {
  const key = await strangersKey();
  const invited: string[] = [];
  for (let n = 0; n < limits.unconfirmed_invitations_per_organization_max; n += 1) {
    invited.push(nodes.newAddress());
    const sent = await inviteBy(key, invited.at(-1), n % 2 ? nodes.other : nodes.url);
    expect(sent.status).toBe(201);
    const { invitation_id } = sent.json.invitation;
    if (n > 0) expect((await nodes.send("DELETE", `/v1/auth/invitations/${invitation_id}`, { key })).status).toBe(204);
  }
  const refused = await inviteBy(key);
  expect([refused.status, refused.code]).toEqual([409, "already_exists"]);
  expect(refused.json.error.details[0].message).toContain("Until somebody has joined");
  const token = await nodes.mailed(invited[0] as string, /^Join/);
  expect((await nodes.send("POST", "/v1/auth/invitations/accept", { body: { token, password } })).status).toBe(200);
  expect((await inviteBy(key)).status).toBe(201);
});

test("organizations without people share the daily budget of one client address, which renews the next day", async () => {
  const counts = (sql: string) => database.db.query(`update stranger_invitations set ${sql} where sender like 'ip %'`);
  expect((await inviteBy(await strangersKey())).status).toBe(201);
  await counts(`sent = ${limits.unconfirmed_invitations_per_source_max - 1}`);
  expect((await inviteBy(await strangersKey())).status).toBe(201);
  const refused = await inviteBy(await strangersKey());
  expect([refused.status, refused.json.error.details[0].message]).toEqual([
    409,
    `Organizations that nobody has joined send at most ${limits.unconfirmed_invitations_per_source_max} invitations a day from one address.`,
  ]);
  await counts("day = day - 1");
  expect((await inviteBy(await strangersKey())).status).toBe(201);
});
