/** Source: docs/decisions/0067-signed-rulings.md. */
import { limits } from "@countersign/contract";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { refused, signingNodes } from "../../src/testing/nodes/signing-nodes.ts";
import { activatePayPolicy } from "../../src/testing/people/review.ts";

const nodes = signingNodes(await testDatabase());
const { urlOf, send, person, withPasskey, withAuthenticator } = nodes;
const { organization, held, vote, signed, votesIn } = nodes;

describe("a code", () => {
  test("confirms one vote, and the entry says so without the code", async () => {
    const org = await organization({ confirm: "totp" });
    const ann = await withAuthenticator(org);
    const [one, two] = [await held(org), await held(org, { amount: 6 })];
    expect(await vote(one.path, ann)).toMatchObject(
      refused("confirmation_required", "totp", /code of your authenticator/),
    );
    const confirmation = { totp: ann.code() };
    const done = await vote(one.path, ann, { confirmation });
    expect([done.status, done.json.escalation.votes[0].confirmed]).toEqual([200, "totp"]);
    const [data] = await votesIn(org, one.intent_id);
    expect(data.confirmation).toEqual({ totp: true });
    expect(await vote(two.path, ann, { confirmation })).toMatchObject(
      refused("confirmation_invalid", "not_allowed", /wrong or was used before/),
    );
  });

  test("that is wrong five times ends the session, and counts although the vote is refused", async () => {
    const org = await organization({ confirm: "totp" });
    const ann = await withAuthenticator(org);
    const { path } = await held(org);
    const right = ann.code();
    const wrong = right === "000000" ? "111111" : "000000";
    const body = { outcome: "approve", confirmation: { totp: wrong } };
    const headers = { "Idempotency-Key": "a wrong code" };
    // A request that is sent again is the same attempt.
    for (let attempt = 1; attempt <= limits.session_mfa_failures_max + 1; attempt += 1)
      expect((await send("POST", `${path}/decision`, { cookie: ann.cookie, body, headers })).code).toBe(
        "confirmation_invalid",
      );
    for (let attempt = 2; attempt <= limits.session_mfa_failures_max; attempt += 1)
      expect((await vote(path, ann, body)).code).toBe("confirmation_invalid");
    expect((await vote(path, ann, { confirmation: { totp: right } })).code).toBe("missing_api_key");
  });

  test("does not do where a passkey is asked for; a passkey does where a code is asked for", async () => {
    const strict = await organization({ confirm: "passkey" });
    const ann = await withAuthenticator(strict);
    const one = await held(strict);
    expect(await vote(one.path, ann, { confirmation: { totp: ann.code() } })).toMatchObject(
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

  test("of a membrane that asks while a review waits, for the vote that would close it", async () => {
    const org = await organization({});
    const { path } = await held(org);
    const ann = await withAuthenticator(org);
    const change = { escalation: { confirm: "totp" } };
    await call(urlOf(), "PATCH", `/v1/membranes/${org.membrane_id}`, { key: org.admin, body: change });
    expect((await vote(path, ann)).code).toBe("confirmation_required");
    const done = await vote(path, ann, { confirmation: { totp: ann.code() } });
    expect(done.json.escalation).toMatchObject({ status: "decided", votes: [{ confirmed: "totp" }] });
  });

  test("but nobody confirms a vote before the turn of its panel, or for another change than others approved", async () => {
    const org = await organization({ confirm: "totp", after: "first" });
    await activatePayPolicy(urlOf(), org, "first", { when: "true", escalation: { reviewers: ["role:admin"] } });
    const ann = await withAuthenticator(org);
    const { path } = await held(org);
    expect((await vote(path, ann)).json.error.details).toMatchObject([{ code: "before_turn" }]);
    // Nothing was used up.
    expect((await vote(path, ann, { confirmation: { totp: ann.code() } })).code).toBe("state_conflict");
    const two = await organization({ confirm: "totp", quorum: 2 });
    const [ben, cleo] = [await withAuthenticator(two), await withAuthenticator(two)];
    const held_by_two = await held(two);
    expect((await vote(held_by_two.path, ben, { confirmation: { totp: ben.code() } })).status).toBe(200);
    const modifications = [{ op: "replace", path: "/amount", value: 4 }];
    expect((await vote(held_by_two.path, cleo, { outcome: "approve_modified", modifications })).code).toBe(
      "state_conflict",
    );
    expect((await vote(held_by_two.path, cleo, { confirmation: { totp: cleo.code() } })).status).toBe(200);
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
