/** Source: decision 0017. */
import { networkList } from "@countersign/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createIds } from "../../src/edge/ids.ts";
import { createHttpOut } from "../../src/edge/outgoing/http-out.ts";
import type { Clock, Mail } from "../../src/ports.ts";
import { insertPerson } from "../../src/store/people/people.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call, testOrganization } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { testDomains } from "../../src/testing/people/domains.ts";
import { client_id, client_secret, openIdProvider } from "../../src/testing/people/open-id-provider.ts";
import { cheapPasswords } from "../../src/testing/people/passwords.ts";

const database = await testDatabase();
const public_url = "https://countersign.example";
const provider = await openIdProvider(`${public_url}/sso/callback`);
const password = "correct horse battery staple";
const clock: Clock = { now_us: () => Date.now() * 1000 };
const httpOut = createHttpOut({ rules: { allow_http: true, allow_networks: networkList(["127.0.0.0/8"]) } });
afterAll(() => httpOut.close());
const { txtRecords, prove } = testDomains();
const mails: Mail[] = [];
let urls: string[];
let password_hash: string;
beforeAll(async () => {
  const passwords = cheapPasswords();
  const mailer = { delivers: true, send: async (mail: Mail) => void mails.push(mail) };
  const parts = { clock, passwords, httpOut, txtRecords, mailer, config: { public_url } };
  urls = [(await serviceNode(database, parts)).url, (await serviceNode(database, parts)).url];
  password_hash = await passwords.hash(password);
});

async function send(
  method: string,
  path: string,
  more: { key?: string; cookie?: string; body?: unknown } = {},
  node = 0,
) {
  const { cookie, ...rest } = more;
  const headers = cookie === undefined ? {} : { cookie };
  const answer = await call(urls[node] as string, method, path, { ...rest, headers });
  const [set] = answer.headers.get("set-cookie")?.split(";") ?? [];
  return { ...answer, code: answer.json?.error?.code, cookie: set };
}

let numbers = 0;

/** An organization with single sign-on for `domain`, and an admin with an address there. */
async function organization() {
  const domain = `removed-${++numbers}.example`;
  const { org_id, key: newKey } = await testOrganization(database.db);
  const { api_key: key } = await newKey();
  const person = async (email: string, role: "admin" | "reviewer" = "reviewer") => {
    const user_id = createIds(clock).next("user");
    const row = { org_id, user_id, email, role, password_hash, created_at: new Date().toISOString() };
    await database.db.system((query) => insertPerson(query, row));
    return user_id;
  };
  await person(`admin-${++numbers}@${domain}`, "admin");
  prove(domain, org_id);
  const client = { issuer: provider.issuer, client_id, client_secret };
  const body = { ...client, email_domains: [domain], default_role: "reviewer" };
  expect((await send("PUT", "/v1/auth/sso", { key, body })).status).toBe(200);
  const remove = (user_id: string, node = 0) => send("DELETE", `/v1/people/${user_id}`, { key }, node);
  const begun = async (email: string, sub = `subject-${++numbers}`) => {
    const { json, cookie } = await send("POST", "/v1/auth/sso/begin", { body: { org_id } });
    const account = { sub, email, email_verified: true };
    const { search } = await provider.signIn(json.single_sign_on.location, account);
    return (node = 0) =>
      send(
        "POST",
        "/v1/auth/sso/finish",
        { ...(cookie === undefined ? {} : { cookie }), body: { org_id, callback_query: search.slice(1) } },
        node,
      );
  };
  const signIn = async (email: string, sub?: string) => (await begun(email, sub))();
  return { org_id, domain, key, person, remove, begun, signIn };
}

async function invited(key: string, email: string): Promise<string> {
  const before = mails.length;
  const body = { email, role: "reviewer" };
  expect((await send("POST", "/v1/auth/invitations", { key, body })).status).toBe(201);
  const mail = () => mails.slice(before).find((each) => each.to === email && /^Join/.test(each.subject));
  await expect.poll(mail).toBeDefined();
  const [, token] = /\?token=([\w%.-]+)/.exec((mail() as Mail).text) ?? [];
  return decodeURIComponent(token as string);
}
const accept = (token: string) => send("POST", "/v1/auth/invitations/accept", { body: { token, password } });

describe("a removed person who never signed in by the provider", () => {
  test("cannot return by signing in, however the address is written", async () => {
    const { org_id, domain, person, remove, signIn } = await organization();
    const user_id = await person(`Ada@${domain}`);
    expect((await remove(user_id)).status).toBe(204);
    for (const email of [`Ada@${domain}`, `ada@${domain}`, `ADA@${domain.toUpperCase()}`]) {
      const answer = await signIn(email);
      expect([answer.status, answer.code, answer.cookie], email).toEqual([403, "forbidden", undefined]);
      expect(answer.json.error.details[0].message).toMatch(/^This person was removed/);
    }
    expect(await database.db.query("select from people where org_id = $1", [org_id])).toHaveLength(1);
    const never = await signIn(`grace@${domain}`);
    expect(never.json.error.details[0].code).toBe("mailbox_asked");
  });

  test("returns with an accepted invitation, until removed again", async () => {
    const { org_id, domain, key, person, remove, signIn } = await organization();
    const email = `Ada@${domain}`;
    const kept = () => database.db.query("select email from removed_addresses where org_id = $1", [org_id]);
    await remove(await person(email));
    const token = await invited(key, `aDA@${domain}`);
    expect((await signIn(email)).code).toBe("forbidden");
    expect(await kept()).toEqual([{ email: `ada@${domain}` }]);
    const joined = await accept(token);
    expect(joined.status).toBe(200);
    expect(await kept()).toEqual([]);
    const { user_id } = joined.json.session.user;
    expect((await signIn(email, "ada-again")).json.session.user).toMatchObject({ user_id });
    expect((await remove(user_id)).status).toBe(204);
    expect((await signIn(email, "ada-again")).code).toBe("forbidden");
    expect((await signIn(email, "ada-with-another-account")).code).toBe("forbidden");
  });

  test("stays removed while an invitation is not accepted", async () => {
    const { domain, key, person, remove, signIn } = await organization();
    const email = `ada@${domain}`;
    await remove(await person(email));
    await invited(key, email);
    const [invitation] = (await send("GET", "/v1/auth/invitations", { key })).json.invitations;
    expect((await send("DELETE", `/v1/auth/invitations/${invitation.invitation_id}`, { key })).status).toBe(204);
    expect((await signIn(email)).code).toBe("forbidden");
  });

  test("is removed from that organization only: another organization's invitation does not change that", async () => {
    const mine = await organization();
    const other = await organization();
    const email = `ada@${mine.domain}`;
    await mine.remove(await mine.person(email));
    const back = await accept(await invited(other.key, email));
    expect((await mine.signIn(email)).code).toBe("already_exists");
    expect((await other.remove(back.json.session.user.user_id)).status).toBe(204);
    expect((await mine.signIn(email)).code).toBe("forbidden");
  });
});

describe("at the moment of the removal", () => {
  /** Runs both while the organization is locked; starts the second when the first is waiting. */
  async function inThisOrder<A, B>(org_id: string, first: () => Promise<A>, second: () => Promise<B>): Promise<[A, B]> {
    let started: [Promise<A>, Promise<B>] | undefined;
    await database.db.system(async (query) => {
      await query("select from org_heads where org_id = $1 for update", [org_id]);
      const waiting = async (count: number) =>
        expect
          .poll(
            async () =>
              (
                await database.db.query(
                  "select from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0",
                )
              ).length,
          )
          .toBe(count);
      const one = first();
      await waiting(1);
      started = [one, second()];
      await waiting(2);
    });
    return Promise.all(started as [Promise<A>, Promise<B>]);
  }

  test("refuses a first login after it, on another node", async () => {
    const { org_id, domain, person, remove, begun } = await organization();
    const email = `ada@${domain}`;
    const user_id = await person(email);
    const finish = await begun(email);
    const [removed, login] = await inThisOrder(
      org_id,
      () => remove(user_id),
      () => finish(1),
    );
    expect([removed.status, login.code, login.cookie]).toEqual([204, "forbidden", undefined]);
    expect(await database.db.query("select from people where org_id = $1", [org_id])).toHaveLength(1);
  });

  test("ends a first login before it, which is the last", async () => {
    const { org_id, domain, person, remove, begun, signIn } = await organization();
    const email = `ada@${domain}`;
    const user_id = await person(email);
    const finish = await begun(email);
    const [login, removed] = await inThisOrder(
      org_id,
      () => finish(1),
      () => remove(user_id),
    );
    expect([login.status, removed.status]).toEqual([200, 204]);
    expect((await send("GET", "/v1/me", { cookie: login.cookie as string })).status).toBe(401);
    expect((await signIn(email)).code).toBe("forbidden");
  });
});
