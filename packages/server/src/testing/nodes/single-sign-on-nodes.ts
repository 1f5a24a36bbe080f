import { networkList } from "@countersign/core";
import { afterAll, expect } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { createHttpOut } from "../../edge/outgoing/http-out.ts";
import type { Mail } from "../../ports.ts";
import { insertPerson } from "../../store/people/people.ts";
import type { TestDatabase } from "../database/database.ts";
import { testDomains } from "../people/domains.ts";
import { client_id, client_secret, openIdProvider, type ProviderAccount } from "../people/open-id-provider.ts";
import { cheapPasswords } from "../people/passwords.ts";
import { call, testOrganization } from "./http-node.ts";
import { serviceNode } from "./service-node.ts";

export const public_url = "https://countersign.example";
export const password = "correct horse battery staple";
export const path = "/v1/auth/sso";

type Sent = { cookie?: string | undefined; key?: string; body?: unknown; headers?: object; node?: number };

async function nodesWithMails(database: TestDatabase) {
  const httpOut = createHttpOut({ rules: { allow_http: true, allow_networks: networkList(["127.0.0.0/8"]) } });
  afterAll(() => httpOut.close());
  const domains = testDomains();
  const mails: Mail[] = [];
  const mailer = { delivers: true, send: async (mail: Mail) => void mails.push(mail) };
  const { txtRecords } = domains;
  const clock = createClock();
  const parts = { clock, passwords: cheapPasswords(), httpOut, txtRecords, mailer, config: { public_url } };
  const nodes = [await serviceNode(database, parts), await serviceNode(database, parts)] as const;

  async function send(method: string, path: string, { cookie, key, body, headers = {}, node = 0 }: Sent = {}) {
    const answer = await call(nodes[node]?.url as string, method, path, {
      ...(key === undefined ? {} : { key }),
      ...(body === undefined ? {} : { body }),
      headers: { ...headers, ...(cookie === undefined ? {} : { cookie }) },
    });
    const set = answer.headers.get("set-cookie");
    return { ...answer, code: answer.json?.error?.code, set, cookie: set?.split(";")[0] };
  }

  async function mailedTo(email: string): Promise<string> {
    const mail = () => mails.findLast(({ to, subject }) => to === email && /^Join/.test(subject));
    await expect.poll(mail).toBeDefined();
    const [, token] = /\?token=([\w%.-]+)/.exec((mail() as Mail).text) ?? [];
    return decodeURIComponent(token as string);
  }

  return { ...domains, clock, passwords: parts.passwords, nodes, mails, send, mailedTo };
}

export async function singleSignOnNodes(database: TestDatabase, id_token_claims = false) {
  const provider = await openIdProvider(`${public_url}/sso/callback`, id_token_claims);
  const own = await nodesWithMails(database);
  const { send, clock, prove, mailedTo } = own;
  const password_hash = await own.passwords.hash(password);
  let numbers = 0;
  const next = () => ++numbers;

  async function person(org_id: string, email: string, role: "admin" | "reviewer" = "admin"): Promise<string> {
    const user_id = createIds(clock).next("user");
    const row = { org_id, user_id, email, role, password_hash, created_at: new Date().toISOString() };
    await database.db.system((query) => insertPerson(query, row));
    return user_id;
  }

  /** With an admin in its proven domain. */
  async function organization({ configured = true }: { configured?: boolean } = {}) {
    const domain = `company-${next()}.example`;
    const { org_id, key: newKey } = await testOrganization(database.db);
    await person(org_id, `admin@${domain}`);
    prove(domain, org_id);
    const { api_key: key } = await newKey();
    const client = { issuer: provider.issuer, client_id, client_secret };
    const input = { ...client, email_domains: [domain], default_role: "reviewer" };
    const put = (change: object = {}) => send("PUT", path, { key, body: { ...input, ...change } });
    if (configured) expect((await put()).status).toBe(200);
    return { org_id, domain, key, input, put };
  }

  const begin = (body: object) => send("POST", `${path}/begin`, { body });
  const finish = (callback: URL, cookie: string | undefined, node = 0) =>
    send("POST", `${path}/finish`, {
      cookie,
      body: { org_id: callback.pathname.split("/").at(-1), callback_query: callback.search.slice(1) },
      node,
    });

  async function started(org_id: string, account: ProviderAccount) {
    const answer = await begin({ org_id });
    expect(answer.status).toBe(200);
    return { callback: await provider.signIn(answer.json.single_sign_on.location, account), cookie: answer.cookie };
  }

  async function signIn(org_id: string, account: ProviderAccount) {
    const { callback, cookie } = await started(org_id, account);
    return finish(callback, cookie);
  }

  const accept = (token: string, more: object = {}) =>
    send("POST", "/v1/auth/invitations/accept", { body: { token, ...more } });

  /** First sign-in: the invited person accepts by mail, then the provider's answer counts. */
  async function join(org_id: string, account: ProviderAccount) {
    const asked = await signIn(org_id, account);
    expect([asked.status, asked.json.error?.details[0].code]).toEqual([403, "mailbox_asked"]);
    expect((await accept(await mailedTo(account.email as string))).status).toBe(200);
    return signIn(org_id, account);
  }

  const account = (domain: string, more: Partial<ProviderAccount> = {}): ProviderAccount => {
    const sub = `subject-${next()}`;
    return { sub, email: `${sub}@${domain}`, email_verified: true, ...more };
  };

  return { ...own, provider, next, person, organization, begin, finish, started, signIn, accept, join, account };
}
