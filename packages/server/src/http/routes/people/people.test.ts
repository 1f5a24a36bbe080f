import { limits } from "@countersign/contract";
import { beforeAll, describe, expect, test } from "vitest";
import type { Mail } from "../../../ports.ts";
import { testDatabase } from "../../../testing/database/database.ts";
import { testOrganization } from "../../../testing/nodes/http-node.ts";
import { password, peopleNodes, type Sent } from "../../../testing/nodes/people-nodes.ts";
import { blockedBody } from "../../../testing/people/review.ts";

const database = await testDatabase();
let nodes: Awaited<ReturnType<typeof peopleNodes>>;
beforeAll(async () => {
  nodes = await peopleNodes(database);
});

describe("invitations and roles", () => {
  test("an invited person joins with the role, once; the list and the link change accordingly", async () => {
    const admin = await nodes.signedUp();
    const email = nodes.newAddress();
    const body = { email, role: "reviewer" };
    const first = await nodes.send("POST", "/v1/auth/invitations", { cookie: admin.cookie, body });
    await nodes.mailed(email, /^Join/);
    const old = await nodes.mailed(email, /^Join/);
    const second = await nodes.send("POST", "/v1/auth/invitations", { cookie: admin.cookie, body });
    await expect.poll(() => nodes.count(email)).toBe(2);
    const list = await nodes.send("GET", "/v1/auth/invitations", { cookie: admin.cookie });
    expect(list.json.invitations).toMatchObject([
      { invitation_id: second.json.invitation.invitation_id, email, role: "reviewer" },
    ]);
    const { invitation_id } = first.json.invitation;
    expect(invitation_id).not.toBe(second.json.invitation.invitation_id);
    const { audit } = (await nodes.send("GET", "/v1/audit?type=invitation_revoked", { cookie: admin.cookie })).json;
    expect(audit).toMatchObject([{ data: { invitation_id, email } }]);
    const accept = (token: string) => nodes.send("POST", "/v1/auth/invitations/accept", { body: { token, password } });
    expect((await accept(old)).code).toBe("not_found");
    const token = await nodes.mailed(email, /^Join/);
    expect((await accept(token)).json.session.user).toMatchObject({ email, role: "reviewer" });
    expect((await accept(token)).code).toBe("not_found");
    expect((await nodes.send("POST", "/v1/auth/invitations", { cookie: admin.cookie, body })).code).toBe(
      "already_exists",
    );
    expect((await nodes.send("GET", "/v1/people", { cookie: admin.cookie })).json.people).toMatchObject([
      { email, role: "reviewer" },
      { email: admin.email, role: "admin" },
    ]);
  });

  test("an Idempotency-Key returns the first invitation again and sends no second mail", async () => {
    const { cookie } = await nodes.signedUp();
    const email = nodes.newAddress();
    const invite = (role: string, base = nodes.url) =>
      nodes.send(
        "POST",
        "/v1/auth/invitations",
        { cookie, body: { email, role }, headers: { "Idempotency-Key": "i-1" } },
        base,
      );
    const first = await invite("reviewer");
    const again = await invite("reviewer", nodes.other);
    expect([first.status, again.status, again.headers.get("idempotent-replayed"), again.text]).toEqual([
      201,
      200,
      "true",
      first.text,
    ]);
    expect((await invite("operator")).code).toBe("idempotency_conflict");
    const token = await nodes.mailed(email, /^Join/);
    expect((await nodes.send("POST", "/v1/auth/invitations/accept", { body: { token, password } })).status).toBe(200);
    expect(nodes.count(email)).toBe(1);
  });

  test("an admin key invites the first person of an organization that has only keys", async () => {
    const org = await testOrganization(database.db);
    const key = (await org.key()).api_key;
    const email = nodes.newAddress();
    expect((await nodes.send("POST", "/v1/auth/invitations", { key, body: { email, role: "admin" } })).status).toBe(
      201,
    );
    const token = await nodes.mailed(email, /^Join/);
    const accepted = await nodes.send("POST", "/v1/auth/invitations/accept", { body: { token, password } });
    expect(accepted.json.session.org_id).toBe(org.org_id);
  });

  test("a withdrawn or week-old invitation is not valid", async () => {
    const { cookie } = await nodes.signedUp();
    const [first, second] = [nodes.newAddress(), nodes.newAddress()];
    const invite = (email: string) =>
      nodes.send("POST", "/v1/auth/invitations", { cookie, body: { email, role: "agent" } });
    const { invitation_id } = (await invite(first)).json.invitation;
    const token = await nodes.mailed(first, /^Join/);
    const path = `/v1/auth/invitations/${invitation_id}`;
    expect((await nodes.send("DELETE", path, { cookie: (await nodes.signedUp()).cookie })).status).toBe(404);
    expect((await nodes.send("DELETE", path, { cookie })).status).toBe(204);
    expect((await nodes.send("DELETE", path, { cookie })).status).toBe(404);
    expect((await nodes.send("POST", "/v1/auth/invitations/accept", { body: { token, password } })).code).toBe(
      "not_found",
    );
    await invite(second);
    const late = await nodes.mailed(second, /^Join/);
    await nodes.advance(limits.invitation_link_seconds);
    expect((await nodes.send("POST", "/v1/auth/invitations/accept", { body: { token: late, password } })).code).toBe(
      "not_found",
    );
  });

  test("an address with an account elsewhere cannot join a second organization", async () => {
    const [one, two] = [await nodes.signedUp(), await nodes.signedUp()];
    const body = { email: two.email, role: "admin" };
    expect((await nodes.send("POST", "/v1/auth/invitations", { cookie: one.cookie, body })).status).toBe(201);
    const token = await nodes.mailed(two.email, /^Join/);
    expect((await nodes.send("POST", "/v1/auth/invitations/accept", { body: { token, password } })).code).toBe(
      "already_exists",
    );
  });

  test("roles apply from the next request; the last admin stays; other organizations see nobody", async () => {
    const admin = await nodes.signedUp();
    const person = await nodes.joined(admin.cookie, "operator");
    const path = `/v1/people/${person.user_id}`;
    const stranger = await nodes.signedUp();
    expect((await nodes.send("PATCH", path, { cookie: stranger.cookie, body: { role: "agent" } })).status).toBe(404);
    expect((await nodes.send("DELETE", path, { cookie: stranger.cookie })).status).toBe(404);
    expect((await nodes.send("PATCH", path, { cookie: person.cookie, body: { role: "admin" } })).code).toBe(
      "forbidden",
    );
    const changed = await nodes.send("PATCH", path, { cookie: admin.cookie, body: { role: "reviewer" } });
    expect(changed.json.user.role).toBe("reviewer");
    expect((await nodes.send("GET", "/v1/me", { cookie: person.cookie })).status).toBe(401);
    const login = await nodes.send("POST", "/v1/auth/login", { body: { email: person.email, password } });
    expect(login.json.session.user.role).toBe("reviewer");
    expect((await nodes.send("POST", "/v1/api-keys", { cookie: login.cookie as string, body: {} })).code).toBe(
      "forbidden",
    );

    const own = `/v1/people/${admin.session.user.user_id}`;
    expect((await nodes.send("PATCH", own, { cookie: admin.cookie, body: { role: "agent" } })).code).toBe(
      "state_conflict",
    );
    expect((await nodes.send("DELETE", own, { cookie: admin.cookie })).code).toBe("state_conflict");
    expect((await nodes.send("DELETE", path, { cookie: admin.cookie })).status).toBe(204);
    expect((await nodes.send("GET", "/v1/me", { cookie: login.cookie as string })).status).toBe(401);
    expect((await nodes.send("POST", "/v1/auth/login", { body: { email: person.email, password } })).status).toBe(401);
    const trail = await nodes.send("GET", "/v1/audit?limit=200", { cookie: admin.cookie });
    const types = trail.json.audit.map((row: { type: string }) => row.type);
    for (const type of [
      "user_joined",
      "user_invited",
      "user_role_changed",
      "user_removed",
      "sessions_ended",
      "session_began",
    ])
      expect(types).toContain(type);
  });

  test("of two admins who remove each other at once, one stays", async () => {
    const one = await nodes.signedUp();
    const two = await nodes.joined(one.cookie, "admin");
    const answers = await Promise.all([
      nodes.send("DELETE", `/v1/people/${two.user_id}`, { cookie: one.cookie }),
      nodes.send("DELETE", `/v1/people/${one.session.user.user_id}`, { cookie: two.cookie }, nodes.other),
    ]);
    const done = answers.filter(({ status }) => status === 204);
    expect(done).toHaveLength(1);
  });
});

describe("a person and its keys are one person", () => {
  const payment = { agent: { id: "a" }, action: { type: "payment.transfer", verb: "pay" } };
  async function live(cookie: string, settings: object): Promise<void> {
    const [membrane] = (await nodes.send("GET", "/v1/membranes", { cookie })).json.membranes;
    const path = `/v1/membranes/${membrane.membrane_id}`;
    expect((await nodes.send("PATCH", path, { cookie, body: settings })).status).toBe(200);
    await nodes.send("POST", `${path}/go-live`, { cookie });
  }

  test("the creator of the agent's key cannot decide on its action, other reviewers can; the agent gets the decision at once", async () => {
    const admin = await nodes.signedUp();
    const reviewer = await nodes.joined(admin.cookie, "reviewer");
    const [membrane] = (await nodes.send("GET", "/v1/membranes", { cookie: admin.cookie })).json.membranes;
    const path = `/v1/membranes/${membrane.membrane_id}`;
    await nodes.send("PATCH", path, { cookie: admin.cookie, body: { packs: [], default_verdict: "escalate" } });
    await nodes.send("POST", `${path}/go-live`, { cookie: admin.cookie });
    const key = (await nodes.send("POST", "/v1/api-keys", { cookie: admin.cookie, body: {} })).json.api_key;
    const intent = { agent: { id: "a" }, action: { type: "payment.transfer", verb: "pay" } };
    const held = (await nodes.send("POST", "/v1/intents", { key, body: { intent } })).json;
    const decide = (cookie: string) =>
      nodes.send("POST", `/v1/escalations/${held.decision.escalation_id}/decision`, {
        cookie,
        body: { outcome: "approve" },
      });
    expect((await decide(admin.cookie)).code).toBe("self_review");
    await expect
      .poll(() => nodes.mails.some((mail) => mail.to === reviewer.email && /waits for your review/.test(mail.subject)))
      .toBe(true);
    const mail = nodes.mails.findLast((each) => each.to === reviewer.email && /review/.test(each.subject)) as Mail;
    expect(mail.text).toContain(`/escalations/${held.decision.escalation_id}`);

    const waiting = nodes.send("GET", `/v1/intents/${held.intent_id}/decision?wait=30`, { key });
    expect((await decide(reviewer.cookie)).status).toBe(200);
    expect((await waiting).json.decision).toMatchObject({ outcome: "approve" });

    const unsubscribe = new URL(mail.unsubscribe_url as string);
    // The text's link opens the console. A mail program sends a POST to the header's link.
    const link = `${unsubscribe.origin}/unsubscribe${unsubscribe.search}`;
    expect([mail.text, mail.html]).toEqual([expect.stringContaining(link), expect.stringContaining(`href="${link}"`)]);
    expect((await nodes.send("POST", `/v1/unsubscribe?token=junk`)).code).toBe("not_found");
    const stopped = await fetch(`${nodes.url}${unsubscribe.pathname}${unsubscribe.search}`, {
      method: "POST",
      headers: { "Content-Type": "application/x-www-form-urlencoded" },
      body: "List-Unsubscribe=One-Click",
    });
    expect(stopped.status).toBe(204);
    const people = (await nodes.send("GET", "/v1/people?role=reviewer", { cookie: admin.cookie })).json.people;
    expect(people).toMatchObject([{ email: reviewer.email, notify: false }]);

    // The trail records who got no mail, and why. A change without effect is not recorded.
    const again = await nodes.send("POST", `/v1/unsubscribe${unsubscribe.search}`, {});
    expect(again.status).toBe(204);
    for (const notify of [false, true, true]) {
      const changed = await nodes.send("PATCH", "/v1/auth/profile", { cookie: reviewer.cookie, body: { notify } });
      expect(changed).toMatchObject({ status: 200, json: { user: { user_id: reviewer.user_id, notify } } });
    }
    const { audit } = (await nodes.send("GET", "/v1/audit?type=notifications_changed", { cookie: admin.cookie })).json;
    expect(audit).toMatchObject([
      { actor: { id: reviewer.user_id }, data: { notify: true, by: "session" } },
      { actor: { id: reviewer.user_id }, data: { notify: false, by: "link" } },
    ]);
  });

  test("a person and every key made with its keys, directly or not, are one: no deciding on its agents, one vote, one override", async () => {
    const admin = await nodes.signedUp();
    const { cookie } = admin;
    const reviewer = await nodes.joined(cookie, "reviewer");
    const make = async (by: Sent, role: string): Promise<Sent> => ({
      key: (await nodes.send("POST", "/v1/api-keys", { ...by, body: { role } })).json.api_key,
    });
    const first = await make({ cookie }, "admin");
    const sibling = await make({ cookie }, "operator");
    const second = await make(first, "admin");
    const agent = await make(second, "agent");
    const escalation = { timeout_seconds: 600, on_timeout: "block", reviewers: [], quorum: 2 };
    await live(cookie, { packs: ["security"], default_verdict: "escalate", escalation });
    const submit = async (by: Sent, body: object) => (await nodes.send("POST", "/v1/intents", { ...by, body })).json;
    const approve = (escalation_id: string, by: Sent) =>
      nodes.send("POST", `/v1/escalations/${escalation_id}/decision`, { ...by, body: { outcome: "approve" } });

    const own = (await submit(agent, { intent: payment })).decision.escalation_id;
    for (const by of [{ cookie }, first, sibling, second])
      expect((await approve(own, by)).code, JSON.stringify(by)).toBe("self_review");
    expect((await approve(own, reviewer)).json.escalation.quorum).toMatchObject({ approvals: 1 });

    const other = (await submit(reviewer, { intent: payment })).decision.escalation_id;
    for (const by of [{ cookie }, second, sibling]) {
      const { votes, status } = (await approve(other, by)).json.escalation;
      expect([votes, status]).toMatchObject([[{ reviewer: admin.session.user.user_id }], "pending"]);
    }

    const blocked = (await submit(agent, blockedBody)).intent_id;
    const override = (by: Sent) =>
      nodes.send("POST", `/v1/intents/${blocked}/override`, { ...by, body: { reason: "seen" } });
    expect((await override({ cookie })).status).toBe(202);
    for (const by of [first, sibling, second]) expect((await override(by)).code).toBe("state_conflict");
    const colleague = await nodes.joined(cookie, "operator");
    expect((await override(colleague)).json.override.status).toBe("active");
  });

  test("the creator of the agent's key in the console may override its block; the submitter may not, with any of its keys", async () => {
    const admin = await nodes.signedUp();
    const { cookie } = admin;
    await live(cookie, { packs: [], default_verdict: "block" });
    const made = async (role: string) =>
      (await nodes.send("POST", "/v1/api-keys", { cookie, body: { role } })).json.api_key as string;
    const [agent, operator] = [await made("operator"), await made("operator")];
    const blocked = async (by: Sent, verb: string) => {
      const intent = { ...payment, action: { ...payment.action, verb } };
      return (await nodes.send("POST", "/v1/intents", { ...by, body: { intent } })).json.intent_id as string;
    };
    const override = (intent_id: string, by: Sent) =>
      nodes.send("POST", `/v1/intents/${intent_id}/override`, { ...by, body: { reason: "seen" } });
    const its_own = await blocked({ key: agent }, "pay");
    expect((await override(its_own, { key: agent })).code).toBe("self_review");
    expect((await override(its_own, { cookie })).status).toBe(201);
    expect((await override(await blocked({ key: agent }, "refund"), { key: operator })).status).toBe(201);
    const by_hand = await blocked({ cookie }, "book");
    for (const by of [{ cookie }, { key: operator }]) expect((await override(by_hand, by)).code).toBe("self_review");
  });

  test("a reassigned review is reported by mail to the new reviewer only", async () => {
    const { cookie } = await nodes.signedUp();
    const reviewer = await nodes.joined(cookie, "reviewer");
    const colleague = await nodes.joined(cookie, "reviewer");
    await live(cookie, { packs: [], default_verdict: "escalate" });
    const held = (await nodes.send("POST", "/v1/intents", { cookie, body: { intent: payment } })).json;
    const { escalation_id } = held.decision;
    const told = (email: string) =>
      nodes.mails.filter((mail) => mail.to === email && mail.text.includes(escalation_id)).length;
    await expect.poll(() => [told(reviewer.email), told(colleague.email)]).toEqual([1, 1]);
    const body = { reviewers: [{ type: "user", id: colleague.user_id }] };
    const path = `/v1/escalations/${escalation_id}/reassign`;
    expect((await nodes.send("POST", path, { cookie, body })).status).toBe(200);
    await expect.poll(() => told(colleague.email)).toBe(2);
    expect(told(reviewer.email)).toBe(1);
  });

  test("a reviewer of a later turn gets one mail when the turn comes, with the rule's name", async () => {
    const { cookie } = await nodes.signedUp();
    const first = await nodes.joined(cookie, "reviewer");
    const second = await nodes.joined(cookie, "reviewer");
    const third = await nodes.joined(cookie, "reviewer");
    await live(cookie, { packs: [] });
    for (const [name, user, after] of [
      ["look", first],
      ["money", second, "look"],
      ["law", third, "money"],
    ] as const) {
      const escalation = { reviewers: [`user:${user.user_id}`], ...(after === undefined ? {} : { after }) };
      const spec = { when: "true", effect: "escalate", escalation };
      const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name }, spec };
      const saved = await nodes.send("POST", "/v1/policies", { cookie, body: { policy } });
      const path = `/v1/policies/${saved.json.policy.policy_id}/activate`;
      expect((await nodes.send("POST", path, { cookie, body: { mode: "live" } })).status).toBe(200);
    }
    const held = (await nodes.send("POST", "/v1/intents", { cookie, body: { intent: payment } })).json;
    const { escalation_id } = held.decision;
    const told = () =>
      [first, second, third].map(({ email }) =>
        nodes.mails.flatMap((mail) => {
          const [, rule] = /You are asked for: (.*)/.exec(mail.text) ?? [];
          return mail.to === email && mail.text.includes(escalation_id) ? [rule] : [];
        }),
      );
    const approve = (by: Sent) =>
      nodes.send("POST", `/v1/escalations/${escalation_id}/decision`, { ...by, body: { outcome: "approve" } });
    await expect.poll(told).toEqual([["look"], [], []]);
    await approve(first);
    await expect.poll(told).toEqual([["look"], ["money"], []]);
    await approve(second);
    await expect.poll(told).toEqual([["look"], ["money"], ["law"]]);
    expect((await approve(third)).json.escalation.status).toBe("decided");
  });

  test("if a membrane names no reviewers, everybody who may decide gets a mail, except the submitter", async () => {
    const admin = await nodes.signedUp();
    const colleague = await nodes.joined(admin.cookie, "admin");
    const reviewer = await nodes.joined(admin.cookie, "reviewer");
    const auditor = await nodes.joined(admin.cookie, "auditor");
    const [membrane] = (await nodes.send("GET", "/v1/membranes", { cookie: admin.cookie })).json.membranes;
    const path = `/v1/membranes/${membrane.membrane_id}`;
    const escalation = { ...membrane.escalation, reviewers: [] };
    const body = { packs: [], default_verdict: "escalate", escalation };
    expect((await nodes.send("PATCH", path, { cookie: admin.cookie, body })).status).toBe(200);
    await nodes.send("POST", `${path}/go-live`, { cookie: admin.cookie });
    const intent = { agent: { id: "a" }, action: { type: "payment.transfer", verb: "pay" } };
    const key = (await nodes.send("POST", "/v1/api-keys", { cookie: admin.cookie, body: {} })).json.api_key;
    for (const by of [{ cookie: admin.cookie }, { key }]) {
      const held = (await nodes.send("POST", "/v1/intents", { ...by, body: { intent } })).json;
      const told = (email: string) =>
        nodes.mails.some((mail) => mail.to === email && mail.text.includes(held.decision.escalation_id));
      await expect.poll(() => told(reviewer.email) && told(colleague.email)).toBe(true);
      for (const { email } of [auditor, admin]) expect(told(email)).toBe(false);
    }
  });
});
