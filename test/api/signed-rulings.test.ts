/** Source: docs/decisions/0067-signed-rulings.md. */
import { createHash } from "node:crypto";
import { limits } from "@countersign/contract";
import { verifyReceipt } from "@countersign/sdk/verify";
import { describe, expect, test } from "vitest";
import { verifyIn } from "../../packages/server/src/operations/audit/verify-organization.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { letPass } from "../../packages/server/src/testing/database/passing-time.ts";
import { call } from "../../packages/server/src/testing/nodes/http-node.ts";
import { refused, signingNodes } from "../../packages/server/src/testing/nodes/signing-nodes.ts";
import type { Reviewed } from "../../packages/server/src/testing/people/review.ts";
import type { Lies } from "../../packages/server/src/testing/people/software-authenticator.ts";

const nodes = signingNodes(await testDatabase());
const { db, origin, urlOf, send, logIn, person, withPasskey } = nodes;
const { organization, held, begin, vote, signed, votesIn } = nodes;

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
    const [for_agent] = await votesIn(org, intent_id, org.agent);
    expect([for_agent.outcome, Object.hasOwn(for_agent, "confirmation")]).toEqual(["approve", false]);

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

  test("confirms a vote that is sent twice once, and the second answer is the first", async () => {
    const org = await organization({ confirm: "passkey" });
    const ann = await withPasskey(org);
    const { path, intent_id } = await held(org);
    const body = { outcome: "approve", confirmation: await signed(path, ann) };
    const headers = { "Idempotency-Key": "one vote" };
    const answers = [];
    for (let n = 0; n < 2; n += 1)
      answers.push(await send("POST", `${path}/decision`, { cookie: ann.cookie, body, headers, node: n }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers[1]?.json).toEqual(answers[0]?.json);
    expect(await votesIn(org, intent_id)).toHaveLength(1);
  });

  test("leaves a receipt that is valid after the action was erased", async () => {
    const org = await organization({ confirm: "passkey" });
    const ann = await withPasskey(org);
    const { path, intent_id } = await held(org);
    await vote(path, ann, { confirmation: await signed(path, ann) });
    const erased = await call(urlOf(), "DELETE", `/v1/intents/${intent_id}/content`, { key: org.admin });
    expect(erased.status).toBeLessThan(300);
    await expect
      .poll(async () => (await receiptOf(org, intent_id)).text, { timeout: 60_000, interval: 500 })
      .not.toContain("client_data_json");
    const { verdict, text } = await receiptOf(org, intent_id);
    expect([verdict.ok, text.includes('"passkeys"')]).toEqual([true, false]);
  });

  test("or a code confirms: the receipt says which one proves nothing to strangers", async () => {
    const org = await organization({ confirm: "totp" });
    const ann = await nodes.withAuthenticator(org);
    const { path, intent_id } = await held(org);
    expect((await vote(path, ann, { confirmation: { totp: ann.code() } })).status).toBe(200);
    expect((await receiptOf(org, intent_id)).verdict).toMatchObject({
      ok: true,
      not_proved: expect.arrayContaining([expect.stringMatching(/^That somebody entered a code for these rulings/)]),
    });
  });

  test("is proved by the receipts of a period, too, each with the registrations of its own votes", async () => {
    const org = await organization({ confirm: "passkey" });
    const [ann, ben] = [await withPasskey(org), await withPasskey(org)];
    const one = await held(org);
    await vote(one.path, ann, { confirmation: await signed(one.path, ann) });
    const two = await held(org, { amount: 6 });
    await vote(two.path, ben, { confirmation: await signed(two.path, ben) });
    const unsigned = await held(org, { amount: 7 });
    for (const { intent_id } of [one, two]) await receiptOf(org, intent_id);
    const exported = await fetch(`${urlOf()}/v1/exports/receipts`, { headers: { "X-API-Key": org.admin } });
    const text = await exported.text();
    const receipts = text.trim().split("\n");
    const people = new Map<string, string[]>();
    for (const receipt of receipts) {
      const { intent_id, keys } = JSON.parse(receipt) as { intent_id: string; keys: string[] };
      const verdict = await verifyReceipt(receipt, { keys });
      if (!verdict.ok) throw new Error(verdict.reason);
      const signers = verdict.proved.flatMap((line) => /^The passkey that (\S+) registered/.exec(line)?.[1] ?? []);
      people.set(intent_id, signers);
    }
    expect(people.get(one.intent_id)).toEqual([ann.user_id]);
    expect(people.get(two.intent_id)).toEqual([ben.user_id]);
    expect(people.get(unsigned.intent_id)).toEqual([]);
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

    const elsewhere = await logIn(ann.email);
    const own = await sign();
    expect(await vote(path, { cookie: elsewhere }, { confirmation: own })).toMatchObject(used);
    expect((await vote(path, ann, { confirmation: own })).status).toBe(200);
  });

  test.each<[what: string, Lies]>([
    ["a device that did not verify its user", { user_verified: false }],
    ["a page of another site", { origin: "https://evil.example" }],
    ["a page in a frame", { framed_by: "https://evil.example" }],
    ["a passkey with an old count of uses", { counter: 1 }],
    ["a passkey that nobody registered", {}],
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
