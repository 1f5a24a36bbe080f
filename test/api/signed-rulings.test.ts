/** Source: docs/decisions/0067-signed-rulings.md. */
import { createHash } from "node:crypto";
import { limits } from "@countersign/contract";
import { verifyReceipt } from "@countersign/sdk/verify";
import { Secret, TOTP } from "otpauth";
import { beforeAll, describe, expect, test } from "vitest";
import { createClock } from "../../packages/server/src/edge/clock.ts";
import { createIds } from "../../packages/server/src/edge/ids.ts";
import { verifyIn } from "../../packages/server/src/operations/audit/verify-organization.ts";
import { insertPerson } from "../../packages/server/src/store/people/people.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { letPass } from "../../packages/server/src/testing/database/passing-time.ts";
import { cookieCalls } from "../../packages/server/src/testing/nodes/cookie-calls.ts";
import { call } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { cheapPasswords } from "../../packages/server/src/testing/people/passwords.ts";
import {
  activatePayPolicy,
  type Reviewed,
  reviewedOrganization,
} from "../../packages/server/src/testing/people/review.ts";
import { type Lies, softwareAuthenticator } from "../../packages/server/src/testing/people/software-authenticator.ts";

const database = await testDatabase();
const { db } = database;
const ids = createIds(createClock());
const origin = "https://countersign.example";
const password = "correct horse battery staple";
let nodes: Awaited<ReturnType<typeof serviceNode>>[];
let password_hash: string;
beforeAll(async () => {
  const passwords = cheapPasswords();
  const mailer = { delivers: true, send: async () => undefined };
  const parts = { passwords, mailer, config: { public_url: origin } };
  nodes = [await serviceNode(database, parts), await serviceNode(database, parts)];
  password_hash = await passwords.hash(password);
});
const urlOf = (node = 0) => nodes[node]?.url as string;
const send = cookieCalls(urlOf);

let numbers = 0;
async function person({ org: { org_id } }: Reviewed, role: "reviewer" | "admin" = "reviewer") {
  const user_id = ids.next("user");
  const email = `person-${++numbers}@example.com`;
  const created_at = new Date().toISOString();
  await db.system((query) => insertPerson(query, { org_id, user_id, email, role, password_hash, created_at }));
  const { cookie } = await send("POST", "/v1/auth/login", { body: { email, password } });
  return { user_id, email, cookie: cookie as string, authenticator: softwareAuthenticator(origin) };
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

const codeAt = (secret: string, shift_seconds: number) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + shift_seconds * 1_000 });

async function withAuthenticator(org: Reviewed) {
  const made = await person(org);
  const { secret } = (await send("POST", "/v1/auth/totp/enrol", { cookie: made.cookie })).json;
  const body = { code: codeAt(secret, -30) };
  const { cookie } = await send("POST", "/v1/auth/totp/confirm", { cookie: made.cookie, body });
  return { ...made, cookie: cookie as string, secret: secret as string };
}

const membrane_terms = { timeout_seconds: 3_600, on_timeout: "block", reviewers: [], quorum: 1 };

async function organization(escalation: object, membrane: object = {}): Promise<Reviewed> {
  const org = await reviewedOrganization(db, urlOf(), { packs: [], escalation: { ...membrane_terms, ...membrane } });
  await activatePayPolicy(urlOf(), org, "wires", { when: "true", escalation });
  return org;
}

async function held(org: Reviewed, content: object = { amount: 5 }) {
  const action = { type: "payment.transfer", verb: "pay" };
  const intent = { agent: { id: "agent-1" }, action, payload: { content } };
  const { decision } = (await call(urlOf(), "POST", "/v1/intents", { key: org.agent, body: { intent } })).json;
  return { path: `/v1/escalations/${decision.escalation_id}`, ...(decision as { intent_id: string }) };
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
const votesIn = async (org: Reviewed, intent_id: string, key = org.admin) => {
  const { audit } = (await call(urlOf(), "GET", `/v1/intents/${intent_id}/audit`, { key })).json;
  return audit.filter(({ type }: { type: string }) => type === "voted").map(({ data }: { data: object }) => data);
};
async function receiptOf(org: Reviewed, intent_id: string) {
  await expect
    .poll(async () => (await call(urlOf(), "GET", `/v1/intents/${intent_id}/receipt`, { key: org.admin })).status, {
      timeout: 60_000,
    })
    .toBe(200);
  const { text } = await call(urlOf(), "GET", `/v1/intents/${intent_id}/receipt`, { key: org.admin });
  const { keys } = JSON.parse(text) as { keys: string[] };
  return { text, verdict: await verifyReceipt(text, { keys }) };
}
const refused = (code: string, detail: string, message: RegExp) => ({
  status: 403,
  code,
  json: { error: { details: [{ code: detail, message: expect.stringMatching(message) }] } },
});

describe("a passkey", () => {
  test("signs the canonical ruling, and a stranger finds the signature and the registration in the receipt", async () => {
    const org = await organization({ confirm: "passkey" });
    const ann = await withPasskey(org);
    const { path, intent_id } = await held(org);
    const read = (await send("GET", path, { cookie: ann.cookie })).json.escalation;
    expect(read.panels).toMatchObject([{ policy: "wires", confirm: "passkey" }]);
    expect(await vote(path, ann)).toMatchObject(refused("confirmation_required", "passkey", /sign this ruling/));

    const begun = (await begin(path, ann)).json;
    expect(JSON.parse(begun.ruling)).toMatchObject({
      format: "countersign.ruling.v1",
      org_id: org.org.org_id,
      escalation_id: path.split("/").at(-1),
      intent_id,
      outcome: "approve",
      person: ann.user_id,
      changed_sha256: null,
    });
    expect(begun.options.challenge).toBe(createHash("sha256").update(begun.ruling).digest("base64url"));
    expect(begun.options).toMatchObject({ userVerification: "required", allowCredentials: [{ type: "public-key" }] });
    const passkey = ann.authenticator.get(begun.options);
    const done = await vote(path, ann, { confirmation: { passkey } });
    expect([done.status, done.json.escalation.status]).toEqual([200, "decided"]);
    expect(done.json.escalation.votes).toMatchObject([{ reviewer: ann.user_id, confirmed: "passkey" }]);

    const { clientDataJSON, authenticatorData, signature } = passkey.response;
    const recorded = { client_data_json: clientDataJSON, authenticator_data: authenticatorData, signature };
    const confirmation = { ruling: begun.ruling, passkey: { credential_id: passkey.id, ...recorded } };
    expect(await votesIn(org, intent_id)).toMatchObject([{ outcome: "approve", person: ann.user_id, confirmation }]);
    // Agents learn nothing about how people confirm.
    expect(await votesIn(org, intent_id, org.agent)).not.toContainEqual(expect.objectContaining({ confirmation }));

    const { verdict, text } = await receiptOf(org, intent_id);
    const told = `signed the ruling "approve" of entry .* on this action, at ${origin}. It verified its user.`;
    expect(verdict).toMatchObject({
      ok: true,
      proved: expect.arrayContaining([
        expect.stringMatching(new RegExp(`^The passkey that ${ann.user_id} registered at entry [0-9]+ ${told}$`)),
      ]),
      not_proved: expect.arrayContaining([`Who held the device with the passkey of ${ann.user_id}.`]),
    });
    expect(JSON.parse(text).passkeys).toHaveLength(1);
    const found = await db.tenant(org.org.org_id, (query) => verifyIn(query, org.org.org_id));
    // The test wrote the row of the person itself.
    expect(found).toMatchObject({ total: 1, differences: [{ table: "people", id: ann.user_id, problem: "unknown" }] });
  });

  test("signs a reviewer's change, which the receipt shows unless a rule hides a part of it", async () => {
    const org = await organization({ confirm: "passkey" });
    const ann = await withPasskey(org);
    const modifications = [{ op: "replace", path: "/amount", value: 4 }];
    const change = { outcome: "approve_modified", modifications };
    for (const content of [{ amount: 5 }, { amount: 5, password: "hunter2 and more" }]) {
      const { path, intent_id } = await held(org, content);
      const confirmation = await signed(path, ann, change);
      const done = await vote(path, ann, { ...change, confirmation });
      expect([done.status, done.json.escalation.status]).toEqual([200, "decided"]);
      const [{ confirmation: recorded }] = await votesIn(org, intent_id);
      const { verdict } = await receiptOf(org, intent_id);
      const hidden = Object.hasOwn(content, "password");
      expect(recorded.changed?.text).toBe(hidden ? undefined : '{"amount":4}');
      expect(JSON.stringify(recorded)).not.toContain("hunter2");
      expect(verdict).toMatchObject({
        ok: true,
        proved: expect.arrayContaining([expect.stringContaining('signed the ruling "approve_modified"')]),
      });
      const unshown = expect.stringContaining("How the people changed the action");
      if (hidden) expect(verdict).toMatchObject({ not_proved: expect.arrayContaining([unshown]) });
      else expect(verdict).not.toMatchObject({ not_proved: expect.arrayContaining([unshown]) });
    }
  });

  test("signs a block, too", async () => {
    const org = await organization({ confirm: "passkey" });
    const ann = await withPasskey(org);
    const { path, intent_id } = await held(org);
    expect((await vote(path, ann, { outcome: "block" })).code).toBe("confirmation_required");
    const confirmation = await signed(path, ann, { outcome: "block" });
    expect((await vote(path, ann, { outcome: "block", confirmation })).json.escalation.resolution.outcome).toBe(
      "block",
    );
    expect((await receiptOf(org, intent_id)).verdict).toMatchObject({ ok: true });
  });

  test("confirms one vote, on one of two nodes, for five minutes, in the session that began it", async () => {
    const org = await organization({ confirm: "passkey", quorum: 2 });
    // Passkeys that a phone shares with others do not count their uses.
    const ann = await withPasskey(org, { counter: 0 });
    const sign = () => signed(path, ann, undefined, { counter: 0 });
    const { path } = await held(org);
    const confirmation = await sign();
    const answers = await Promise.all([0, 1].map((node) => vote(path, ann, { confirmation }, node)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 403]);
    const used = refused("confirmation_invalid", "not_allowed", /used before, is older than 5 minutes/);
    expect(await vote(path, ann, { confirmation })).toMatchObject(used);

    const late = await sign();
    await letPass(db, limits.ruling_challenge_seconds);
    expect(await vote(path, ann, { confirmation: late })).toMatchObject(used);

    const { cookie: elsewhere = "" } = await send("POST", "/v1/auth/login", { body: { email: ann.email, password } });
    const own = await sign();
    expect(await vote(path, { cookie: elsewhere as string }, { confirmation: own })).toMatchObject(used);
    expect((await vote(path, ann, { confirmation: own })).status).toBe(200);
  });

  test.each<[what: string, Lies]>([
    ["a device that did not verify its user", { user_verified: false }],
    ["a page of another site", { origin: "https://evil.example" }],
    ["a page in a frame", { framed_by: "https://evil.example" }],
    ["a passkey with an old count of uses", { counter: 1 }],
    ["a passkey that nobody registered", { credential_id: undefined }],
  ])("does not confirm from %s", async (what, lies) => {
    const org = await organization({ confirm: "passkey" });
    const ann = await withPasskey(org);
    const { path } = await held(org);
    const confirmation = await signed(path, ann, undefined, lies);
    const passkey = what.includes("nobody") ? { ...confirmation.passkey, id: "AAAA" } : confirmation.passkey;
    expect(await vote(path, ann, { confirmation: { passkey } })).toMatchObject(
      refused("confirmation_invalid", "not_allowed", /signature is not valid or was used before|a passkey of yours/),
    );
    expect((await send("GET", path, { cookie: ann.cookie })).json.escalation.votes).toEqual([]);
  });

  test("does not confirm another outcome, another change, another case, or for another person", async () => {
    const org = await organization({ confirm: "passkey" });
    const [ann, ben] = [await withPasskey(org), await withPasskey(org)];
    const [one, two] = [await held(org), await held(org, { amount: 6 })];
    const other = refused("confirmation_invalid", "not_allowed", /^You confirmed another ruling/);
    const approval = await signed(one.path, ann);
    expect(await vote(one.path, ann, { outcome: "block", confirmation: approval })).toMatchObject(other);
    expect(await vote(two.path, ann, { confirmation: approval })).toMatchObject(other);
    const change = (value: number) => ({
      outcome: "approve_modified",
      modifications: [{ op: "replace", path: "/amount", value }],
    });
    const four = await signed(one.path, ann, change(4));
    expect(await vote(one.path, ann, { ...change(3), confirmation: four })).toMatchObject(other);
    expect(await vote(one.path, ben, { confirmation: approval })).toMatchObject(
      refused("confirmation_invalid", "not_allowed", /not the answer of a passkey of yours/),
    );
    expect((await vote(one.path, ann, { ...change(4), confirmation: four })).status).toBe(200);
  });

  test("is missing: the answer leads to the settings; an API key cannot confirm, and cannot begin to", async () => {
    const org = await organization({ confirm: "passkey" });
    const ann = await person(org);
    const { path } = await held(org);
    const none = refused("confirmation_required", "no_passkey", /Add one in your settings/);
    expect(await vote(path, ann)).toMatchObject(none);
    expect(await begin(path, ann)).toMatchObject(none);
    const post = (to: string, body: object) => call(urlOf(), "POST", `${path}/${to}`, { key: org.reviewer, body });
    const by_key = await post("decision", { outcome: "approve" });
    expect([by_key.status, by_key.json.error.code]).toEqual([403, "confirmation_required"]);
    expect(by_key.json.error.details).toMatchObject([
      { code: "not_allowed", message: expect.stringContaining("An API key cannot confirm") },
    ]);
    const proof = await post("decision", { outcome: "approve", confirmation: { totp: "123456" } });
    expect([proof.status, proof.json.error.code]).toEqual([403, "forbidden"]);
    expect((await post("confirmation", { outcome: "approve" })).json.error.code).toBe("forbidden");
    const agent = await call(urlOf(), "POST", `${path}/confirmation`, { key: org.agent, body: { outcome: "approve" } });
    expect(agent.status).toBe(403);
  });

  test("is asked for last, so that nobody signs a vote that another check refuses", async () => {
    const org = await organization({ confirm: "passkey", pace: { min_seconds: 20 } });
    const ann = await withPasskey(org);
    const { path } = await held(org);
    expect((await vote(path, ann)).code).toBe("reason_required");
    expect((await vote(path, ann, { comment: "I know it" })).code).toBe("confirmation_required");
    // A refused vote uses up nothing.
    const confirmation = await signed(path, ann);
    expect((await vote(path, ann, { confirmation })).code).toBe("reason_required");
    expect((await vote(path, ann, { comment: "I know it", confirmation })).status).toBe(200);
  });

  test("may be deleted later: the receipt stays valid", async () => {
    const org = await organization({ confirm: "passkey" });
    const ann = await withPasskey(org);
    const { path, intent_id } = await held(org);
    const confirmation = await signed(path, ann);
    await vote(path, ann, { confirmation });
    await send("DELETE", `/v1/auth/passkeys/${confirmation.passkey.id}`, { cookie: ann.cookie });
    const { verdict } = await receiptOf(org, intent_id);
    expect(verdict).toMatchObject({
      ok: true,
      proved: expect.arrayContaining([expect.stringContaining("The passkey")]),
    });
    const again = await held(org, { amount: 7 });
    expect((await begin(again.path, ann)).code).toBe("confirmation_required");
  });
});

describe("a code", () => {
  test("confirms one vote, and the entry says so without the code", async () => {
    const org = await organization({ confirm: "totp" });
    const ann = await withAuthenticator(org);
    const [one, two] = [await held(org), await held(org, { amount: 6 })];
    expect(await vote(one.path, ann)).toMatchObject(
      refused("confirmation_required", "totp", /code of your authenticator/),
    );
    const confirmation = { totp: codeAt(ann.secret, 0) };
    const done = await vote(one.path, ann, { confirmation });
    expect([done.status, done.json.escalation.votes[0].confirmed]).toEqual([200, "totp"]);
    const [data] = await votesIn(org, one.intent_id);
    expect(data.confirmation).toEqual({ totp: true });
    expect(await vote(two.path, ann, { confirmation })).toMatchObject(
      refused("confirmation_invalid", "not_allowed", /wrong or was used before/),
    );
    expect((await receiptOf(org, one.intent_id)).verdict).toMatchObject({
      not_proved: expect.arrayContaining([expect.stringMatching(/^That somebody entered a code for these rulings/)]),
    });
  });

  test("that is wrong five times ends the session, and counts although the vote is refused", async () => {
    const org = await organization({ confirm: "totp" });
    const ann = await withAuthenticator(org);
    const { path } = await held(org);
    const right = codeAt(ann.secret, 0);
    const wrong = right === "000000" ? "111111" : "000000";
    for (let attempt = 1; attempt <= limits.session_mfa_failures_max; attempt += 1)
      expect((await vote(path, ann, { confirmation: { totp: wrong } })).code).toBe("confirmation_invalid");
    expect((await vote(path, ann, { confirmation: { totp: right } })).code).toBe("missing_api_key");
  });

  test("does not do where a passkey is asked for; a passkey does where a code is asked for", async () => {
    const strict = await organization({ confirm: "passkey" });
    const ann = await withAuthenticator(strict);
    const one = await held(strict);
    expect(await vote(one.path, ann, { confirmation: { totp: codeAt(ann.secret, 0) } })).toMatchObject(
      refused("confirmation_required", "no_passkey", /Add one/),
    );
    const mild = await organization({ confirm: "totp" });
    const [ben, cleo] = [await withPasskey(mild), await person(mild)];
    const two = await held(mild);
    expect(await vote(two.path, cleo)).toMatchObject(
      refused("confirmation_required", "no_authenticator", /Set one up/),
    );
    expect(await vote(two.path, cleo, { confirmation: { totp: "123456" } })).toMatchObject(
      refused("confirmation_required", "no_authenticator", /Set one up/),
    );
    expect(await vote(two.path, ben)).toMatchObject(refused("confirmation_required", "passkey", /sign this ruling/));
    const confirmation = await signed(two.path, ben);
    expect((await vote(two.path, ben, { confirmation })).json.escalation.votes[0].confirmed).toBe("passkey");
  });

  test("and a signature in one vote are refused", async () => {
    const org = await organization({ confirm: "totp" });
    const ann = await withPasskey(org);
    const { path } = await held(org);
    for (const confirmation of [{}, { ...(await signed(path, ann)), totp: "123456" }])
      expect((await vote(path, ann, { confirmation })).code).toBe("invalid_request");
  });
});

describe("the strictest counts", () => {
  test("of several rules and the membrane, and stays after a reassignment", async () => {
    const org = await organization({}, { confirm: "totp" });
    await activatePayPolicy(urlOf(), org, "large", {
      when: "params.amount > 10.0",
      escalation: { confirm: "passkey" },
    });
    const ann = await withPasskey(org);
    const small = await held(org, { amount: 5 });
    const large = await held(org, { amount: 50 });
    const confirms = async (path: string) =>
      (await send("GET", path, { cookie: ann.cookie })).json.escalation.panels.map(
        ({ confirm }: { confirm: string }) => confirm,
      );
    expect(await confirms(small.path)).toEqual(["totp"]);
    expect((await confirms(large.path)).sort()).toEqual(["passkey", "totp"]);
    const reviewers = [{ type: "role", id: "reviewer" }];
    await call(urlOf(), "POST", `${large.path}/reassign`, { key: org.operator, body: { reviewers } });
    expect(await confirms(large.path)).toEqual(["passkey"]);
    expect((await vote(large.path, ann)).code).toBe("confirmation_required");
  });

  test("of a rule that came later: the vote that would close the review needs its confirmation", async () => {
    const org = await organization({});
    const { path } = await held(org);
    const ann = await withPasskey(org);
    await activatePayPolicy(urlOf(), org, "later", { when: "true", escalation: { confirm: "passkey" } });
    expect((await vote(path, ann)).code).toBe("confirmation_required");
    const confirmation = await signed(path, ann);
    expect((await vote(path, ann, { confirmation })).json.escalation.status).toBe("decided");
  });

  test("so no time limit approves, and no grant", async () => {
    const org = await organization(
      { confirm: "totp", grants: { times_max: 5, hours_max: 5 } },
      { on_timeout: "approve" },
    );
    const { path, intent_id } = await held(org);
    const ann = await person(org);
    expect((await send("GET", path, { cookie: ann.cookie })).json.escalation.on_timeout).toBe("block");
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const scope = { agent_id: "agent-1", verb: "pay" };
    const body = { intent_id, scope, times: 1, until, reason: "similar" };
    const grant = await send("POST", "/v1/grants", { cookie: ann.cookie, body });
    expect(grant).toMatchObject({
      status: 403,
      json: { error: { details: [{ message: expect.stringMatching(/confirm each ruling/) }] } },
    });
  });
});
