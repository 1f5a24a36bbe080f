/** Source: docs/reference/reviews.md. */
import { beforeAll, describe, expect, test } from "vitest";
import { createIds } from "../../src/edge/ids.ts";
import { insertNewKey } from "../../src/operations/keys/create-key.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { peopleNodes } from "../../src/testing/nodes/people-nodes.ts";
import { deadlineIn } from "../../src/testing/people/review.ts";

const database = await testDatabase();
const { db } = database;
let nodes: Awaited<ReturnType<typeof peopleNodes>>;
beforeAll(async () => {
  nodes = await peopleNodes(database);
});

/** A reviewer's key without a creator, which is a separate person. */
function keyOfAnotherPerson(org_id: string) {
  const key = { org_id, name: null, environment: "live", scope: "org", role: "reviewer", agent_id: null } as const;
  const runtime = { clock: nodes.clock, ids: createIds(nodes.clock) };
  return db.system((query) => insertNewKey(runtime, query, { ...key, created_by: null, actor: "system" }));
}

async function organization() {
  const admin = await nodes.signedUp();
  const { cookie } = admin;
  const ask = (method: string, path: string, body?: unknown, as: string = cookie) => {
    return nodes.send(method, path, { cookie: as, ...(body === undefined ? {} : { body }) });
  };
  const { membranes } = (await ask("GET", "/v1/membranes")).json;
  const { membrane_id } = membranes[0];
  await ask("PATCH", `/v1/membranes/${membrane_id}`, { packs: [] });
  await ask("POST", `/v1/membranes/${membrane_id}/go-live`, {});
  const maker = await nodes.joined(cookie, "admin");
  const { api_key: agent } = (await ask("POST", "/v1/api-keys", { role: "agent" }, maker.cookie)).json;
  const rule = async (name: string, escalation: object, verb = name) => {
    const spec = { match: { verbs: [verb] }, when: "true", effect: "escalate", escalation };
    const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name }, spec };
    const { policy_id } = (await ask("POST", "/v1/policies", { policy })).json.policy;
    expect((await ask("POST", `/v1/policies/${policy_id}/activate`, { mode: "live" })).status).toBe(200);
    return policy_id as string;
  };
  const held = async (verb: string, more: { on_behalf_of?: string; content?: object } = {}, key = agent) => {
    const { on_behalf_of, content = {} } = more;
    const intent = {
      agent: { id: "desk", ...(on_behalf_of === undefined ? {} : { on_behalf_of }) },
      action: { verb },
      payload: { content },
    };
    const { decision } = (await nodes.send("POST", "/v1/intents", { key, body: { intent } })).json;
    return `/v1/escalations/${decision.escalation_id}`;
  };
  const vote = (path: string, as: { cookie: string }, body: object = { outcome: "approve" }) =>
    ask("POST", `${path}/decision`, body, as.cookie);
  const read = async (path: string) => (await ask("GET", path)).json.escalation;
  const join = (role: string) => nodes.joined(cookie, role);
  const remove = (person: { user_id: string }) => ask("DELETE", `/v1/people/${person.user_id}`);
  return { ...admin, membrane_id, maker, ask, rule, held, vote, read, join, remove };
}

describe("a vote counts at the close only if its person still may vote", () => {
  test("the approval of a person who was removed does not count, the record says so, and the review goes on", async () => {
    const org = await organization();
    const [ann, ben, cas] = [await org.join("reviewer"), await org.join("reviewer"), await org.join("reviewer")];
    await org.rule("two", { reviewers: ["role:reviewer"], quorum: 2 });
    const path = await org.held("two");
    await org.vote(path, ann);
    expect((await org.remove(ann)).status).toBe(204);
    const lapsed = { because: "removed", panels: ["two"] };
    expect(await org.read(path)).toMatchObject({
      quorum: { approvals: 0 },
      panels: [{ approvals: 0, approved_by: [], status: "open" }],
      votes: [{ reviewer: ann.user_id, lapsed }],
    });
    const { escalations } = (await org.ask("GET", "/v1/escalations?status=pending")).json;
    expect(escalations[0]).toMatchObject({ quorum: { approvals: 0 }, votes: [{ lapsed }] });
    expect((await org.vote(path, ben)).json.escalation).toMatchObject({
      status: "pending",
      quorum: { required: 2, approvals: 1 },
    });
    expect((await org.vote(path, cas)).json.escalation).toMatchObject({
      status: "decided",
      quorum: { required: 2, approvals: 2, rejections: 0 },
      votes: [{ reviewer: ann.user_id, lapsed }, { reviewer: ben.user_id }, { reviewer: cas.user_id }],
    });
    const { audit } = (await org.ask("GET", "/v1/audit?type=voted&limit=10")).json;
    const said = audit.map((each: { data: { lapsed?: unknown } }) => each.data.lapsed).filter(Boolean);
    expect(said).toEqual([[{ reviewer: ann.user_id, ...lapsed }]]);
  });

  test("the second tier of a panel opens if the panel's approval no longer counts", async () => {
    const org = await organization();
    const [ann, ben] = [await org.join("admin"), await org.join("operator")];
    // biome-ignore lint/suspicious/noThenProperty: the word of the policy language.
    const tier = { then: { after: "30m", reviewers: ["role:operator"] } };
    await org.rule("tiered", { reviewers: ["role:admin"], timeout: "1h", ...tier });
    await org.rule("pair", { reviewers: ["role:admin"], timeout: "1h", quorum: 2 }, "tiered");
    const path = await org.held("tiered");
    await org.vote(path, ann);
    await deadlineIn(db, [path.replace("/v1/escalations/", "")], "10 minutes");
    expect((await org.vote(path, ben)).json.error.code).toBe("forbidden");
    await org.remove(ann);
    const panels = (record: { panels: { policy: string; approved_by: string[] }[] }) =>
      Object.fromEntries(record.panels.map(({ policy, approved_by }) => [policy, approved_by]));
    expect(panels((await org.vote(path, ben)).json.escalation)).toEqual({ tiered: [ben.user_id], pair: [] });
  });

  test("a demoted person's approval counts only where the panel accepts the current role, and the person may vote again later", async () => {
    const org = await organization();
    const ann = await org.join("operator");
    const [ben, cas] = [await org.join("operator"), await org.join("reviewer")];
    await org.rule("mixed", { reviewers: ["role:operator", "role:reviewer"], quorum: 3 });
    await org.rule("high", { reviewers: ["role:operator"], quorum: 2 });
    for (const verb of ["mixed", "high"]) {
      const path = await org.held(verb);
      await org.vote(path, ann);
      await org.ask("PATCH", `/v1/people/${ann.user_id}`, { role: "reviewer" });
      const kept = verb === "mixed";
      const record = (await org.vote(path, ben)).json.escalation;
      expect(record.quorum.approvals).toBe(kept ? 2 : 1);
      expect(record.votes[0].lapsed).toEqual(kept ? undefined : { because: "role_changed", panels: ["high"] });
      await org.ask("PATCH", `/v1/people/${ann.user_id}`, { role: "operator" });
      const login = { email: ann.email, password: "correct horse battery staple" };
      ann.cookie = (await nodes.send("POST", "/v1/auth/login", { body: login })).cookie as string;
      const last = await org.vote(path, kept ? cas : ann);
      expect(last.json.escalation).toMatchObject({ status: "decided", resolution: { outcome: "approve" } });
    }
  });

  test("the approval of a key counts while the key's person has a valid key or an account that may vote", async () => {
    const org = await organization();
    const [ann, ben] = [await org.join("reviewer"), await org.join("admin")];
    await org.rule("two", { reviewers: ["role:reviewer"], quorum: 2 });
    const key = await keyOfAnotherPerson(org.session.org_id);
    const own = (await org.ask("POST", "/v1/api-keys", { role: "reviewer" }, ben.cookie)).json;
    const byKey = (path: string, api_key: string) =>
      nodes.send("POST", `${path}/decision`, { key: api_key, body: { outcome: "approve" } });
    const revoke = (key_id: string) => org.ask("DELETE", `/v1/api-keys/${key_id}`);
    const [alone, with_account] = [await org.held("two"), await org.held("two")];
    expect((await byKey(alone, key.api_key)).json.escalation.quorum.approvals).toBe(1);
    expect((await byKey(with_account, own.api_key)).json.escalation.votes[0].reviewer).toBe(ben.user_id);
    await revoke(key.key_id);
    await revoke(own.key_id);
    expect((await org.vote(alone, ann)).json.escalation).toMatchObject({
      status: "pending",
      votes: [{ lapsed: { because: "key_ended" } }, {}],
    });
    expect((await org.vote(with_account, ann)).json.escalation.status).toBe("decided");
  });

  test("an approval before a reassignment counts with the voter's role at that time", async () => {
    const org = await organization();
    const [ann, ben, cas] = [await org.join("operator"), await org.join("operator"), await org.join("operator")];
    await org.rule("high", { reviewers: ["role:operator"], quorum: 2 });
    const path = await org.held("high");
    await org.vote(path, ann);
    const reviewers = [{ type: "user", id: ben.user_id }];
    expect((await org.ask("POST", `${path}/reassign`, { reviewers })).status).toBe(200);
    await org.ask("PATCH", `/v1/people/${ann.user_id}`, { role: "reviewer" });
    expect((await org.vote(path, ben)).json.escalation.status).toBe("pending");
    const others = [ben, cas].map(({ user_id }) => ({ type: "user", id: user_id }));
    expect((await org.ask("POST", `${path}/reassign`, { reviewers: others })).status).toBe(200);
    expect((await org.vote(path, cas)).json.escalation.status).toBe("decided");
  });
});

describe("a review that nobody can decide", () => {
  test("is in the list of policies, in the record and on the overview, and admins get one mail", async () => {
    const org = await organization();
    const ann = await org.join("reviewer");
    const policy_id = await org.rule("of-ann", { reviewers: [`user:${ann.user_id}`] });
    const path = await org.held("of-ann");
    const listed = async () =>
      (await org.ask("GET", "/v1/policies")).json.policies.map(
        (each: Record<string, unknown>) => each["nobody_can_decide"],
      );
    const overview = async () => (await org.ask("GET", "/v1/overview")).json.overview.nobody_can_decide;
    const mails = () => nodes.mails.filter(({ to, subject }) => to === org.email && /Nobody can decide/.test(subject));
    expect(await listed()).toEqual([undefined]);
    expect(await overview()).toEqual([]);
    expect((await org.read(path)).nobody_can_decide).toBeUndefined();

    await org.remove(ann);
    expect(await listed()).toEqual([expect.stringContaining("nobody is left who may approve")]);
    expect(await overview()).toMatchObject([{ policy_id, policy: "of-ann", membrane: expect.any(String) }]);
    expect((await org.read(path)).nobody_can_decide).toContain(
      `The panel of-ann needs 1 more approval by ${ann.user_id}`,
    );
    await expect.poll(() => mails().length, { timeout: 30_000 }).toBe(1);
    expect(mails()[0]?.text).toContain("Rule: of-ann");

    // The same state is not mailed twice. Another rule is mailed.
    await org.remove(await org.join("reviewer"));
    await org.rule("of-ann-too", { reviewers: [`user:${ann.user_id}`], quorum: 1 });
    await expect.poll(() => mails().length, { timeout: 30_000 }).toBe(2);
    expect(mails()[1]?.text).not.toContain("Rule: of-ann (");
  });

  test("includes a review that only its submitter, or only its party, could approve", async () => {
    const org = await organization();
    const ann = await org.join("reviewer");
    await org.rule("of-maker", { reviewers: [`user:${org.maker.user_id}`] });
    await org.rule("of-ann", { reviewers: [`user:${ann.user_id}`] });
    expect((await org.read(await org.held("of-maker"))).nobody_can_decide).toContain("of-maker");
    expect((await org.read(await org.held("of-ann", { on_behalf_of: ann.email }))).nobody_can_decide).toContain(
      "of-ann",
    );
  });
});

describe("a party of the action", () => {
  test("cannot be its only approver, however the name is written, unless the membrane says so", async () => {
    const org = await organization();
    const [ben, cas] = [await org.join("reviewer"), await org.join("reviewer")];
    await org.rule("expense", { reviewers: ["role:reviewer"] });
    const action_catalogue = [{ verb: "Expense", type: "payment.expense", party: "payee.email" }];
    await org.ask("PATCH", `/v1/membranes/${org.membrane_id}`, { action_catalogue });
    const address = ben.email;
    const wide = address.replace("p", "ｐ").toUpperCase();
    const parties = [
      { on_behalf_of: address },
      { on_behalf_of: ` ${wide} ` },
      { on_behalf_of: ben.user_id },
      { content: { payee: { email: wide } } },
    ];
    for (const party of parties) {
      const path = await org.held("expense", party);
      const first = (await org.vote(path, ben)).json.escalation;
      expect(first).toMatchObject({ status: "pending", votes: [{ party: true }] });
      expect(first.panels[0].missing).toBe(
        `1 more approval by any reviewer, one of them not ${ben.user_id}, because the action is for that person`,
      );
      expect((await org.vote(path, cas)).json.escalation.status).toBe("decided");
    }
    const other = await org.held("expense", { on_behalf_of: cas.email, content: { payee: { name: address } } });
    expect((await org.vote(other, ben)).json.escalation.status).toBe("decided");
    await org.ask("PATCH", `/v1/membranes/${org.membrane_id}`, { escalation: { party_needs_another: false } });
    const path = await org.held("expense", { on_behalf_of: address });
    expect((await org.vote(path, ben)).json.escalation.status).toBe("decided");
  });

  test("includes a person whom a reviewer's change pays", async () => {
    const org = await organization();
    const ben = await org.join("reviewer");
    await org.rule("pay", { reviewers: ["role:reviewer"] });
    const action_catalogue = [{ verb: "pay", type: "payment.transfer", party: "payee" }];
    await org.ask("PATCH", `/v1/membranes/${org.membrane_id}`, { action_catalogue });
    const path = await org.held("pay", { content: { payee: "shop" } });
    const modifications = [{ op: "replace", path: "/payee", value: ben.email }];
    const voted = await org.vote(path, ben, { outcome: "approve_modified", modifications });
    expect(voted.json.escalation).toMatchObject({ status: "pending", votes: [{ party: true }] });
  });

  test("the only person of an organization may rule on its agent's actions on that person's behalf", async () => {
    const admin = await nodes.signedUp();
    const ask = (method: string, path: string, body?: unknown, key?: string) =>
      nodes.send(method, path, { body, ...(key === undefined ? { cookie: admin.cookie } : { key }) });
    const { membrane_id } = (await ask("GET", "/v1/membranes")).json.membranes[0];
    await ask("PATCH", `/v1/membranes/${membrane_id}`, { packs: [], default_verdict: "escalate" });
    await ask("POST", `/v1/membranes/${membrane_id}/go-live`, {});
    const { api_key } = (await ask("POST", "/v1/api-keys", { role: "agent" })).json;
    const intent = { agent: { id: "desk", on_behalf_of: admin.email }, action: { verb: "book" } };
    const { escalation_id } = (await ask("POST", "/v1/intents", { intent }, api_key)).json.decision;
    const voted = await ask("POST", `/v1/escalations/${escalation_id}/decision`, { outcome: "approve" });
    expect(voted.json.escalation).toMatchObject({ status: "decided", self_reviewed: true });
  });
});

describe("an absence with a delegate", () => {
  const until = new Date(Date.now() + 86_400_000).toISOString();

  test("lets the delegate named by an admin vote for the absent person; both have one vote together", async () => {
    const org = await organization();
    const [ann, ben, cas] = [await org.join("reviewer"), await org.join("reviewer"), await org.join("reviewer")];
    const reviewers = [ann, cas].map(({ user_id }) => `user:${user_id}`);
    await org.rule("named", { reviewers, quorum: 2 });
    await org.rule("high", { reviewers: ["role:operator"] });
    const set = await org.ask("PUT", `/v1/people/${ann.user_id}/absence`, { until, delegate: ben.user_id });
    expect(set.json.absence).toMatchObject({ delegate: ben.user_id, may_vote: true });
    const { people } = (await org.ask("GET", "/v1/people")).json;
    expect(people.find((each: { user_id: string }) => each.user_id === ann.user_id).absence).toEqual(set.json.absence);

    const path = await org.held("named");
    expect((await org.vote(path, ben)).json.escalation).toMatchObject({
      status: "pending",
      votes: [{ reviewer: ben.user_id, in_place_of: [ann.user_id] }],
      panels: [{ approvals: 1, missing: `1 more approval by ${cas.user_id}` }],
    });
    expect((await org.vote(path, ann)).json.escalation).toMatchObject({
      status: "pending",
      panels: [{ approvals: 1 }],
    });
    expect((await org.vote(path, cas)).json.escalation.status).toBe("decided");
    expect((await org.vote(await org.held("high"), ben)).status).toBe(403);
    const asked = (whom: { email: string }) =>
      nodes.mails.some(({ to, text }) => to === whom.email && text.includes("You are asked for: named"));
    const next = await org.held("named");
    await expect.poll(() => asked(ben) && asked(cas), { timeout: 30_000 }).toBe(true);
    expect(asked(ann)).toBe(false);

    // The end of an absence also ends the delegate's votes and rights.
    await org.vote(next, ben);
    await db.system((query) =>
      query("update absences set starts_at = starts_at - interval '2 days', ends_at = ends_at - interval '2 days'"),
    );
    expect((await org.read(next)).votes[0].lapsed).toEqual({ because: "absence_ended", panels: ["named"] });
    expect((await org.vote(await org.held("named"), ben)).status).toBe(403);
  });

  test("set by the absent person gives the delegate no additional vote", async () => {
    const org = await organization();
    const [ann, ben] = [await org.join("reviewer"), await org.join("reviewer")];
    await org.rule("named", { reviewers: [`user:${ann.user_id}`] });
    const own = (as: string, delegate: string) =>
      org.ask("PUT", `/v1/people/${ann.user_id}/absence`, { until, delegate }, as);
    expect((await own(ben.cookie, ben.user_id)).status).toBe(403);
    expect((await own(ann.cookie, ann.user_id)).status).toBe(400);
    expect((await own(ann.cookie, ben.user_id)).json.absence.may_vote).toBe(false);
    expect((await org.vote(await org.held("named"), ben)).status).toBe(403);
    expect((await org.ask("DELETE", `/v1/people/${ann.user_id}/absence`, undefined, ann.cookie)).status).toBe(204);
    expect((await org.ask("DELETE", `/v1/people/${ann.user_id}/absence`, undefined, ann.cookie)).status).toBe(404);
  });

  test("never covers the absent person's own actions, and counts as a party's vote if the absent person is the party", async () => {
    const org = await organization();
    const [ann, ben] = [await org.join("admin"), await org.join("reviewer")];
    await org.rule("named", { reviewers: [`user:${ann.user_id}`] });
    await org.ask("PUT", `/v1/people/${ann.user_id}/absence`, { until, delegate: ben.user_id });
    const { api_key } = (await org.ask("POST", "/v1/api-keys", { role: "agent" }, ann.cookie)).json;
    expect((await org.vote(await org.held("named", {}, api_key), ben)).status).toBe(403);
    const voted = await org.vote(await org.held("named", { on_behalf_of: ann.email }), ben);
    expect(voted.json.escalation).toMatchObject({ status: "pending", votes: [{ party: true }] });
  });
});
