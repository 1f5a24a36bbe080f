/** Nodes with a public name, and organizations whose reviewers confirm rulings. */
import { Secret, TOTP } from "otpauth";
import { beforeAll, expect } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { insertPerson } from "../../store/people/people.ts";
import type { TestDatabase } from "../database/database.ts";
import { cheapPasswords } from "../people/passwords.ts";
import { activatePayPolicy, type Reviewed, reviewedOrganization } from "../people/review.ts";
import { type Lies, softwareAuthenticator } from "../people/software-authenticator.ts";
import { cookieCalls } from "./cookie-calls.ts";
import { call } from "./http-node.ts";
import { serviceNode } from "./service-node.ts";

const password = "correct horse battery staple";
const membrane_terms = { timeout_seconds: 3_600, on_timeout: "block", reviewers: [], quorum: 1 };

/** Two nodes. Call it at the top of a test file. */
export function signingNodes(database: TestDatabase) {
  const { db } = database;
  const ids = createIds(createClock());
  const origin = "https://countersign.example";
  let nodes: Awaited<ReturnType<typeof serviceNode>>[] = [];
  let password_hash = "";
  beforeAll(async () => {
    const passwords = cheapPasswords();
    const mailer = { delivers: true, send: async () => undefined };
    const parts = { passwords, mailer, config: { public_url: origin } };
    nodes = [await serviceNode(database, parts), await serviceNode(database, parts)];
    password_hash = await passwords.hash(password);
  });
  const urlOf = (node = 0) => nodes[node]?.url as string;
  const send = cookieCalls(urlOf);
  const logIn = async (email: string) =>
    (await send("POST", "/v1/auth/login", { body: { email, password } })).cookie as string;

  let numbers = 0;
  async function person({ org: { org_id } }: Reviewed) {
    const user_id = ids.next("user");
    const email = `person-${++numbers}@example.com`;
    const created_at = new Date().toISOString();
    const row = { org_id, user_id, email, role: "reviewer", password_hash, created_at } as const;
    await db.system((query) => insertPerson(query, row));
    return { user_id, email, cookie: await logIn(email), authenticator: softwareAuthenticator(origin) };
  }
  type Somebody = Awaited<ReturnType<typeof person>>;

  async function withPasskey(org: Reviewed, lies: Lies = {}) {
    const made = await person(org);
    const { cookie } = made;
    const { options } = (await send("POST", "/v1/auth/passkeys/registration/options", { cookie })).json;
    const credential = made.authenticator.create(options, lies);
    const answer = await send("POST", "/v1/auth/passkeys/registration", { cookie, body: { credential } });
    expect(answer.status).toBe(201);
    return made;
  }

  async function withAuthenticator(org: Reviewed) {
    const made = await person(org);
    const { secret } = (await send("POST", "/v1/auth/totp/enrol", { cookie: made.cookie })).json;
    /** The next period's code is valid, too, so no test fails at the end of a period. */
    const codeAt = (shift_seconds: number) =>
      new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + shift_seconds * 1_000 });
    const body = { code: codeAt(0) };
    const { cookie } = await send("POST", "/v1/auth/totp/confirm", { cookie: made.cookie, body });
    return { ...made, cookie: cookie as string, code: () => codeAt(30) };
  }

  /** The rule `wires` holds each payment. `membrane`: terms of the membrane. */
  async function organization(escalation: object, membrane: object = {}): Promise<Reviewed> {
    const settings = { packs: [], escalation: { ...membrane_terms, ...membrane } };
    const org = await reviewedOrganization(db, urlOf(), settings);
    await activatePayPolicy(urlOf(), org, "wires", { when: "true", escalation });
    return org;
  }

  async function held(org: Reviewed, content: object = { amount: 5 }) {
    const action = { type: "payment.transfer", verb: "pay" };
    const intent = { agent: { id: "agent-1" }, action, payload: { content } };
    const { decision } = (await call(urlOf(), "POST", "/v1/intents", { key: org.agent, body: { intent } })).json;
    return { path: `/v1/escalations/${decision.escalation_id}`, intent_id: decision.intent_id as string };
  }

  const begin = (path: string, { cookie }: { readonly cookie: string }, body: object = { outcome: "approve" }) =>
    send("POST", `${path}/confirmation`, { cookie, body });
  const vote = (path: string, { cookie }: { readonly cookie: string }, body: object = {}, node = 0) =>
    send("POST", `${path}/decision`, { cookie, body: { outcome: "approve", ...body }, node });

  /** Signs a ruling and returns the confirmation of the vote. */
  async function signed(path: string, who: Somebody, body: object = { outcome: "approve" }, lies: Lies = {}) {
    const { status, json } = await begin(path, who, body);
    expect(status).toBe(200);
    return { passkey: who.authenticator.get(json.options, lies) };
  }

  async function votesIn(org: Reviewed, intent_id: string, key = org.admin) {
    const { audit } = (await call(urlOf(), "GET", `/v1/intents/${intent_id}/audit`, { key })).json;
    return audit.filter(({ type }: { type: string }) => type === "voted").map(({ data }: { data: object }) => data);
  }

  return {
    ...{ db, origin, urlOf, send, logIn, person, withPasskey, withAuthenticator },
    organization,
    held,
    begin,
    vote,
    signed,
    votesIn,
  };
}

/** Matches an answer of `send`. */
export const refused = (code: string, detail: string, message: RegExp) => ({
  status: 403,
  code,
  json: { error: { details: [{ code: detail, message: expect.stringMatching(message) }] } },
});
