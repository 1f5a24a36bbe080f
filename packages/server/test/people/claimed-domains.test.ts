/** Source: decision 0017. */
import { expect, test } from "vitest";
import { checkDomains } from "../../src/operations/people/domain-proofs.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { letPass } from "../../src/testing/database/passing-time.ts";
import { password, path, singleSignOnNodes } from "../../src/testing/nodes/single-sign-on-nodes.ts";

const database = await testDatabase();
const {
  nodes,
  mails,
  send,
  mailedTo,
  prove,
  silence,
  txtRecords,
  next,
  person,
  organization,
  begin,
  finish,
  started,
  signIn,
  accept,
  join,
  account,
} = await singleSignOnNodes(database);

test("a domain needs a TXT record with the organization's id; an admin's mailbox proves nothing: 409", async () => {
  const { put, domain, org_id } = await organization({ configured: false });
  for (const email_domains of [[domain, "elsewhere.example"], [`sub.${domain}`], ["gmail.com"]])
    expect((await put({ email_domains })).code).toBe("state_conflict");
  prove(domain, "org_00000000000000000000000000");
  const refused = await put();
  expect(refused.json.error.details[0]).toMatchObject({ path: "/email_domains/0", code: "not_proven" });
  expect(refused.json.error.details[0].message).toContain(
    `_countersign.${domain} with the text countersign-organization=${org_id}`,
  );
  silence(domain);
  expect((await put()).json.error.details[0].code).toBe("not_proven");
  prove(domain, "org_00000000000000000000000000", org_id);
  expect((await put()).status).toBe(200);
});

test.each(["a person", "an invitation"])(
  "a proven domain in which another organization has %s is refused, and that organization gets one mail a day",
  async (what) => {
    const employer = await organization({ configured: false });
    const other = await organization({ configured: false });
    const email = `Employee@${employer.domain.toUpperCase()}`;
    if (what === "a person") await person(other.org_id, email, "reviewer");
    else {
      const body = { email, role: "reviewer" };
      expect((await send("POST", "/v1/auth/invitations", { key: other.key, body })).status).toBe(201);
    }
    for (let turn = 0; turn < 2; turn++)
      expect((await employer.put()).json.error.details[0]).toMatchObject({ code: "domain_taken" });
    expect((await send("GET", path, { key: employer.key })).code).toBe("not_found");
    const trail = await send("GET", "/v1/audit?type=sso_conflict", { key: other.key });
    expect(trail.json.audit).toMatchObject([{ data: { domain: employer.domain, claimed_by: employer.org_id } }]);
    const told = () => mails.filter(({ to, subject }) => to === `admin@${other.domain}` && /claims/.test(subject));
    await expect.poll(() => told().length).toBe(1);
  },
);

test("a domain stays with its organization, whomever others invite there later", async () => {
  const { put, domain } = await organization();
  const other = await organization({ configured: false });
  await person(other.org_id, `consultant@${domain}`);
  expect((await put({ default_role: "auditor" })).status).toBe(200);
});

test("a claim ends with its proof at the daily check: nobody signs in, and the admins get a mail", async () => {
  const [ended, kept, quiet] = [await organization(), await organization(), await organization()];
  prove(ended.domain);
  silence(quiet.domain);
  await letPass(database.db, 86_400);
  const check = async () => checkDomains((nodes[0] as (typeof nodes)[0]).runtime);
  while (await check());
  const domains = async ({ key }: typeof ended) => (await send("GET", path, { key })).json.single_sign_on.email_domains;
  expect([await domains(ended), await domains(kept), await domains(quiet)]).toEqual([
    ...[[], [kept.domain], [quiet.domain]],
  ]);
  expect((await signIn(ended.org_id, account(ended.domain))).code).toBe("forbidden");
  expect((await begin({ email: `a@${ended.domain}` })).code).toBe("not_found");
  const trail = await send("GET", "/v1/audit?type=sso_domain_ended", { key: ended.key });
  expect(trail.json.audit).toMatchObject([{ actor: { type: "system" }, data: { domain: ended.domain } }]);
  await expect
    .poll(() => mails.some(({ to, subject }) => to === `admin@${ended.domain}` && /ended/.test(subject)))
    .toBe(true);
  // A proof lapses if name servers do not answer for three days.
  await letPass(database.db, 2 * 86_400);
  while (await check());
  expect(await domains(quiet)).toEqual([]);
});

test("a claim that is proven again while the daily check runs does not end", async () => {
  const { org_id, domain, key, put } = await organization();
  prove(domain);
  await letPass(database.db, 86_400);
  const { runtime } = nodes[0] as (typeof nodes)[0];
  const read = async (name: string) => {
    const texts = await txtRecords.read(name);
    if (!name.endsWith(`.${domain}`)) return texts;
    prove(domain, org_id);
    expect((await put()).status).toBe(200);
    return texts;
  };
  while (await checkDomains({ ...runtime, txtRecords: { read } }));
  expect((await send("GET", path, { key })).json.single_sign_on.email_domains).toEqual([domain]);
  expect((await send("GET", "/v1/audit?type=sso_domain_ended", { key })).json.audit).toEqual([]);
});

test("nobody becomes a member without accepting by mail; two first logins at once send one mail", async () => {
  const { org_id, domain, key } = await organization();
  const ada = account(domain);
  const [a, b] = [await started(org_id, ada), await started(org_id, ada)];
  const answers = await Promise.all([finish(a.callback, a.cookie, 0), finish(b.callback, b.cookie, 1)]);
  expect(answers.map(({ status, cookie }) => [status, cookie])).toEqual([
    [403, undefined],
    [403, undefined],
  ]);
  expect((await send("GET", "/v1/people", { key })).json.people).toHaveLength(1);
  expect((await send("GET", "/v1/auth/invitations", { key })).json.invitations).toMatchObject([
    { email: ada.email, role: "reviewer" },
  ]);
  await mailedTo(ada.email as string);
  expect(mails.filter(({ to }) => to === ada.email)).toHaveLength(1);
});

test("an account may omit the password only if the provider signs in the domain's people", async () => {
  const { domain, key } = await organization();
  for (const email of [`someone@${domain}`, `someone-${next()}@elsewhere.example`]) {
    expect((await send("POST", "/v1/auth/invitations", { key, body: { email, role: "reviewer" } })).status).toBe(201);
    const token = await mailedTo(email);
    const without = await accept(token);
    expect(without.status).toBe(email.endsWith(domain) ? 200 : 400);
    if (without.status === 400) expect((await accept(token, { password })).status).toBe(200);
  }
});

test("an invitation's role applies at the first login by the provider; there is one invitation, which ends with its sender", async () => {
  const { org_id, domain, key } = await organization();
  const ada = account(domain);
  const body = { email: ada.email?.toUpperCase(), role: "operator" };
  expect((await send("POST", "/v1/auth/invitations", { key, body })).status).toBe(201);
  const sender = "select invited_by from invitations where org_id = $1";
  const before = await database.db.query(sender, [org_id]);
  await letPass(database.db, 60);
  expect((await join(org_id, ada)).json.session.user.role).toBe("operator");
  const bob = account(domain);
  expect((await send("POST", "/v1/auth/invitations", { key, body: { ...body, email: bob.email } })).status).toBe(201);
  await letPass(database.db, 60);
  expect((await signIn(org_id, bob)).code).toBe("forbidden");
  expect(await database.db.query(sender, [org_id])).toEqual(before);
  const [{ invitation_id }] = (await send("GET", "/v1/auth/invitations", { key })).json.invitations;
  expect((await send("DELETE", `/v1/auth/invitations/${invitation_id}`, { key })).status).toBe(204);
  const tokens = await database.db.query("select from person_tokens where org_id = $1 and kind = 'invitation'", [
    org_id,
  ]);
  expect(tokens).toEqual([]);
});
