import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { limits } from "@countersign/contract";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../../../testing/database/database.ts";
import { letPass } from "../../../testing/database/passing-time.ts";
import { path, public_url, singleSignOnNodes } from "../../../testing/nodes/single-sign-on-nodes.ts";
import { client_id, client_secret, type ProviderAccount } from "../../../testing/people/open-id-provider.ts";

const database = await testDatabase();
const { send, prove, provider, next, person, organization, begin, finish, started, signIn, join, account } =
  await singleSignOnNodes(database);

describe("setting up", () => {
  test("shows where to register and where to sign in, and never the secret", async () => {
    const { org_id, key, domain, put } = await organization({ configured: false });
    expect((await send("GET", path, { key })).code).toBe("not_found");
    const answer = await put({ email_domains: [domain.toUpperCase(), domain] });
    expect(answer.json.single_sign_on).toMatchObject({
      issuer: `${provider.issuer}/`,
      client_id,
      email_domains: [domain],
      default_role: "reviewer",
      redirect_uri: `${public_url}/sso/callback/${org_id}`,
      login_url: `${public_url}/login?org_id=${org_id}`,
    });
    const read = await send("GET", path, { key });
    expect(read.json).toEqual(answer.json);
    const trail = await send("GET", "/v1/audit", { key });
    expect(trail.json.audit[0]).toMatchObject({ type: "sso_configured", data: { client_id } });
    const rows = await database.db.query("select * from single_sign_on where org_id = $1", [org_id]);
    for (const text of [answer.text, read.text, trail.text, JSON.stringify(rows)])
      expect(text).not.toContain(client_secret);
  });

  test.each([
    ["no domain", { email_domains: [] }, "/email_domains"],
    ["a domain that is none", { email_domains: ["-x"] }, "/email_domains/0"],
    ["everybody as admin", { default_role: "admin" }, "/default_role"],
    ["an issuer with a query", { issuer: "http://127.0.0.1:1/?a=b" }, "/issuer"],
    ["an issuer that is no URL", { issuer: "x" }, "/issuer"],
    ["an issuer inside", { issuer: "http://169.254.169.254/" }, "/issuer"],
    ["an issuer that does not answer", { issuer: "http://127.0.0.1:1/" }, "/issuer"],
    ["no secret", { client_secret: undefined }, "/client_secret"],
  ])("%s: 400", async (_, change, where) => {
    const { put } = await organization({ configured: false });
    const answer = await put(change);
    expect([answer.status, answer.json.error.details[0].path]).toEqual([400, where]);
  });

  test("the secret may be omitted only while it goes to the same client of the same issuer", async () => {
    const { put, org_id, domain } = await organization();
    expect((await put({ client_secret: undefined, default_role: "auditor" })).status).toBe(200);
    const joined = await join(org_id, account(domain));
    expect(joined.json.session.user.role).toBe("auditor");
    for (const change of [{ client_id: "other" }, { issuer: `${provider.issuer}/other` }]) {
      const answer = await put({ ...change, client_secret: undefined });
      expect(answer.json.error.details[0].path).toBe("/client_secret");
    }
  });

  test("removed: no login begins or finishes", async () => {
    const { org_id, key, domain } = await organization();
    const { callback, cookie } = await started(org_id, account(domain));
    expect((await send("DELETE", path, { key })).status).toBe(204);
    expect((await send("DELETE", path, { key })).code).toBe("not_found");
    expect((await finish(callback, cookie)).code).toBe("invalid_credentials");
    expect((await begin({ org_id })).code).toBe("not_found");
  });
});

describe("beginning", () => {
  test("by organization or by an address in its domain, in any case", async () => {
    const { org_id, domain } = await organization();
    for (const body of [{ org_id }, { email: `Somebody@${domain.toUpperCase()}` }]) {
      const answer = await begin(body);
      expect(answer.json.single_sign_on.location).toContain(provider.issuer);
      expect(answer.set).toMatch(
        /^__Host-countersign_sso_[0-9a-f]{16}=\w{43}; Max-Age=600; Path=\/; Secure; HttpOnly; SameSite=Lax$/,
      );
    }
    expect((await begin({})).code).toBe("invalid_request");
    expect((await begin({ org_id, email: `a@${domain}` })).code).toBe("invalid_request");
  });

  test("404 for an unknown domain or organization, and for a domain with two providers", async () => {
    const { domain, input } = await organization();
    const other = await organization({ configured: false });
    // Otherwise the second organization is refused.
    await database.db.query("update person_index set email = 'moved-' || org_id || '@x.test' where email = $1", [
      `admin@${domain}`,
    ]);
    prove(domain, other.org_id);
    expect((await other.put({ ...input })).status).toBe(200);
    const unknown = [{ email: "a@nowhere.example" }, { org_id: "org_00000000000000000000000000" }];
    for (const body of [...unknown, { email: `a@${domain}` }]) expect((await begin(body)).code).toBe("not_found");
    expect((await begin({ org_id: other.org_id })).status).toBe(200);
  });

  test("503 while the provider cannot be reached, with the reason", async () => {
    const { org_id, domain } = await organization();
    const { callback, cookie } = await started(org_id, account(domain));
    const gone = createServer();
    await new Promise<void>((resolve) => gone.listen(0, "127.0.0.1", resolve));
    const { port } = gone.address() as AddressInfo;
    await new Promise((resolve) => gone.close(resolve));
    await database.db.system((query) =>
      query("update single_sign_on set issuer = $2 where org_id = $1", [org_id, `http://127.0.0.1:${port}/`]),
    );
    const answer = await begin({ org_id });
    expect([answer.status, answer.code, answer.cookie]).toEqual([503, "unavailable", undefined]);
    expect(answer.json.error.details[0].message).toMatch(/^The provider gave no answer: /);
    expect((await finish(callback, cookie)).code).toBe("invalid_credentials");
  });

  test("from another page: 403, also at the end", async () => {
    const { org_id } = await organization();
    const headers = { origin: "https://evil.example" };
    expect((await send("POST", `${path}/begin`, { headers, body: { org_id } })).code).toBe("forbidden");
    const body = { org_id, callback_query: "code=a&state=b" };
    expect((await send("POST", `${path}/finish`, { headers, body })).code).toBe("forbidden");
  });
});

describe("finishing", () => {
  test("creates a person with the default role after the mailbox has accepted, and finds it at the next login", async () => {
    const { org_id, domain } = await organization();
    const ada = account(domain);
    const first = await join(org_id, ada);
    expect(first.json.session).toMatchObject({
      org_id,
      mfa_required: false,
      user: { email: ada.email, role: "reviewer" },
    });
    expect(first.set).toMatch(/^__Host-countersign_session=/);
    const me = await send("GET", "/v1/me", { cookie: first.cookie });
    expect(me.json.caller).toMatchObject({ type: "user", role: "reviewer", org_id });
    expect((await send("POST", "/v1/api-keys", { cookie: first.cookie, body: {} })).code).toBe("forbidden");
    const next = await signIn(org_id, { ...ada, email: `renamed@${domain}` });
    expect(next.json.session.user).toMatchObject({ user_id: first.json.session.user.user_id, email: ada.email });
    const joined = await database.db.query("select from audit where org_id = $1 and type = 'user_joined'", [org_id]);
    expect(joined).toHaveLength(1);
  });

  test("takes the provider's name for a person without one, and not a name that reads like an address", async () => {
    const { org_id, domain } = await organization();
    const ada = { ...account(domain), name: " Ada Lovelace " };
    const joined = await join(org_id, ada);
    expect(joined.json.session.user.name).toBe("Ada Lovelace");
    expect((await signIn(org_id, { ...ada, name: "Somebody Else" })).json.session.user.name).toBe("Ada Lovelace");
    const eve = { ...account(domain), name: ada.email as string };
    expect((await join(org_id, eve)).json.session.user.name).toBeNull();
    const known = await person(org_id, `known@${domain}`);
    const first = await signIn(org_id, account(domain, { email: `known@${domain}`, name: "Kim" }));
    expect(first.json.session.user).toMatchObject({ user_id: known, name: "Kim" });
    const trail = await database.db.query("select data from audit where org_id = $1 and type = 'user_name_changed'", [
      org_id,
    ]);
    expect(trail).toEqual([{ data: { user_id: known, from: null, to: "Kim", by: "provider" } }]);
  });

  test("finds the person with the address, with its role; a second factor is still required", async () => {
    const { org_id, domain } = await organization();
    const user_id = await person(org_id, `Boss@${domain}`);
    const boss = account(domain, { email: `boss@${domain}` });
    expect((await signIn(org_id, boss)).json.session.user).toMatchObject({ user_id, role: "admin" });
    await database.db.system((query) =>
      query("update people set totp_sealed = 'x', totp_confirmed_at = now() where user_id = $1", [user_id]),
    );
    const answer = await signIn(org_id, boss);
    expect(answer.json.session).toMatchObject({ mfa_required: true, user: null });
    expect((await send("GET", "/v1/me", { cookie: answer.cookie })).status).toBe(401);
    // The same address, but another person.
    const other = await signIn(org_id, account(domain, { email: `boss@${domain}` }));
    expect(other.code).toBe("forbidden");
  });

  test.each<[string, (domain: string) => Partial<ProviderAccount>]>([
    ["that the provider has not verified", () => ({ email_verified: false })],
    ["of another domain", () => ({ email: "a@elsewhere.example" })],
    ["of a domain that only ends alike", (domain) => ({ email: `a@not${domain}` })],
  ])("an address %s: 403, and no person is created", async (_, change) => {
    const { org_id, domain } = await organization();
    const answer = await signIn(org_id, account(domain, change(domain)));
    expect([answer.status, answer.code, answer.cookie]).toEqual([403, "forbidden", undefined]);
    const people = await database.db.query("select from people where org_id = $1", [org_id]);
    expect(people).toHaveLength(1);
  });

  test.each<[string, (domain: string) => Partial<ProviderAccount>]>([
    ["an address that only folds to another person's", (domain) => ({ email: `\u212Aim@${domain}` })],
    ["an address with NUL", (domain) => ({ email: `a\0b@${domain}` })],
    ["half a surrogate pair", (domain) => ({ email: `a\ud800@${domain}` })],
    ["a name in front", (domain) => ({ email: `kim <kim@${domain}` })],
    ["a subject beyond 255 characters", () => ({ sub: `${next()}${"0123456789".repeat(26)}` })],
    ["a subject that is not ASCII", () => ({ sub: `\ud800 ${next()}` })],
  ])("%s: 403, and nobody is signed in", async (_, change) => {
    const { org_id, domain } = await organization();
    await person(org_id, `kim@${domain}`);
    const answer = await signIn(org_id, account(domain, change(domain)));
    expect([answer.status, answer.code, answer.cookie]).toEqual([403, "forbidden", undefined]);
  });

  test.each([
    ["its person's", false],
    ["a removed and newly invited person's", true],
  ])("while %s password is set: the organization does not wait for both", async (_, anew) => {
    const { org_id, domain, key } = await organization();
    const ada = account(domain);
    let { user_id } = (await join(org_id, ada)).json.session.user;
    if (anew) {
      expect((await send("DELETE", `/v1/people/${user_id}`, { key })).status).toBe(204);
      user_id = await person(org_id, ada.email as string);
    }
    const { callback, cookie } = await started(org_id, ada);
    let finished: ReturnType<typeof finish> | undefined;
    await database.db.system(async (query) => {
      await query("select from people where user_id = $1 for update", [user_id]);
      const [me] = await query<{ pid: number }>("select pg_backend_pid() as pid");
      finished = finish(callback, cookie);
      const waiting = "select from pg_locks where not granted and $1::integer = any(pg_blocking_pids(pid))";
      await expect.poll(async () => (await database.db.query(waiting, [me?.pid])).length).toBeGreaterThan(0);
      await query("select from org_heads where org_id = $1 for update nowait", [org_id]);
    });
    expect((await finished)?.status).toBe(200);
  });

  test("never signs in without an address (403), or to another organization's person (409), and that organization is notified", async () => {
    const { org_id, key } = await organization();
    expect((await signIn(org_id, { sub: `nameless-${next()}` })).code).toBe("forbidden");
    const attacker = await organization({ configured: false });
    expect((await attacker.put()).status).toBe(200);
    const email = `insider@${attacker.domain}`;
    await person(org_id, email);
    const answer = await signIn(attacker.org_id, account(attacker.domain, { email }));
    expect([answer.code, answer.cookie]).toEqual(["already_exists", undefined]);
    const trail = await send("GET", "/v1/audit?type=sso_conflict", { key });
    expect(trail.json.audit).toMatchObject([{ data: { domain: attacker.domain, claimed_by: attacker.org_id } }]);
  });

  test("a removed person cannot return by signing in, until invited", async () => {
    const { org_id, domain, key } = await organization();
    const ada = account(domain);
    const { user_id } = (await join(org_id, ada)).json.session.user;
    expect((await send("DELETE", `/v1/people/${user_id}`, { key })).status).toBe(204);
    expect((await signIn(org_id, ada)).code).toBe("forbidden");
    const again = await person(org_id, ada.email as string, "reviewer");
    expect((await signIn(org_id, ada)).json.session.user.user_id).toBe(again);
  });

  test("two tabs of one browser sign in at once", async () => {
    const { org_id, domain } = await organization();
    const [ada, bob] = [account(domain), account(domain)];
    for (const each of [ada, bob]) await person(org_id, each.email as string);
    const tabs = await Promise.all([ada, bob].map((each) => started(org_id, each)));
    const cookies = tabs.map(({ cookie }) => cookie).join("; ");
    for (const { callback } of tabs) expect((await finish(callback, cookies)).status).toBe(200);
    // A browser keeps one cookie of each name.
    expect(new Set(tabs.map(({ cookie }) => cookie?.split("=")[0])).size).toBe(2);
  });

  test("is valid once, in the browser that began it, for ten minutes", async () => {
    const { org_id, domain } = await organization();
    const one = await started(org_id, account(domain));
    const ada = account(domain);
    await person(org_id, ada.email as string);
    const two = await started(org_id, ada);
    expect((await finish(one.callback, undefined)).code).toBe("invalid_credentials");
    expect((await finish(one.callback, two.cookie)).code).toBe("invalid_credentials");
    // The wrong browser has used the login up.
    expect((await finish(one.callback, one.cookie)).code).toBe("invalid_credentials");
    const answers = await Promise.all([0, 1].map((node) => finish(two.callback, two.cookie, node)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401]);
    const late = await started(org_id, account(domain));
    await letPass(database.db, limits.sso_login_seconds);
    expect((await finish(late.callback, late.cookie)).code).toBe("invalid_credentials");
  });

  test("is refused if single sign-on was removed during the login", async () => {
    const { org_id, domain, key } = await organization();
    const { callback, cookie } = await started(org_id, account(domain));
    const removal = provider.onNext("POST /token", () => send("DELETE", path, { key }));
    expect((await finish(callback, cookie)).code).toBe("invalid_credentials");
    expect((await removal).status).toBe(204);
    expect(await database.db.query("select from people where org_id = $1", [org_id])).toHaveLength(1);
  });

  test("is refused if the provider refuses, and after the provider was changed", async () => {
    const { org_id, domain, put } = await organization();
    const { callback, cookie } = await started(org_id, account(domain));
    callback.searchParams.set("code", "junk");
    const refused = await finish(callback, cookie);
    expect(refused.code).toBe("invalid_credentials");
    expect(refused.json.error.details).toMatchObject([
      { code: "not_through", message: "The provider answered invalid_grant." },
    ]);
    const changed = await started(org_id, account(domain));
    expect((await put({ client_id: "other" })).status).toBe(200);
    expect((await finish(changed.callback, changed.cookie)).code).toBe("invalid_credentials");
  });
});

test("no organization reads or uses another's provider", async () => {
  const [mine, other] = [await organization(), await organization({ configured: false })];
  expect((await send("GET", path, { key: other.key })).code).toBe("not_found");
  expect((await send("DELETE", path, { key: other.key })).code).toBe("not_found");
  expect((await begin({ org_id: mine.org_id })).status).toBe(200);
});
