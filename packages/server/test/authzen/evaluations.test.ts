/** Source: docs/decisions/0049-authzen.md */
import { describe, expect, test } from "vitest";
import { call } from "../../src/testing/nodes/http-node.ts";
import { activatePolicy } from "../../src/testing/people/policies.ts";
import { access, decisions, testGateway } from "./gateway.ts";

const { database, url, decide_only, org, post, evaluate, list } = await testGateway();

const named = (evaluation: object, id: string, more: object = {}) => ({
  ...evaluation,
  context: { approval: { id }, ...more },
});
const rule = async (escalation_id: string, ruling: object = { outcome: "approve" }) => {
  const ruled = await post(`/v1/escalations/${escalation_id}/decision`, ruling, org.reviewer);
  expect(ruled.status, ruled.text).toBe(200);
};
const pending = async (): Promise<number> =>
  (await call(url, "GET", "/v1/escalations?status=pending&limit=200", { key: org.reviewer })).json.escalations.length;
/** All rows of the organization that a decision can write. */
const rows = async (): Promise<unknown> => {
  const tables = ["ledger", "idempotency_keys", "escalations", "events", "counter_entries", "overrides", "grant_uses"];
  const counted = tables.map((name) => `(select count(*)::integer from ${name} where org_id = $1) as ${name}`);
  const spent = "(select count(*)::integer from overrides where org_id = $1 and consumed_by is not null) as spent";
  return database.db.query(`select ${counted.join()}, ${spent}`, [org.org.org_id]);
};
const intent = async (intent_id: string) =>
  (await call(url, "GET", `/v1/intents/${intent_id}`, { key: org.admin })).json;

describe("a recorded evaluation", () => {
  test("is an intent: subject, action and resource are agent, verb and target, and properties are parameters", async () => {
    const evaluation = {
      subject: { type: "user", id: "alice", properties: { role: "clerk" } },
      action: { name: "read", properties: { fields: ["name"] } },
      resource: { type: "account", id: "a-1", properties: { owner: "bob" } },
      context: { ip: "10.0.0.9", facts: { security: { active_security_incident: false } } },
    };
    const { decision, context } = await evaluate(evaluation);
    expect([decision, context.verdict]).toEqual([true, "approve"]);
    const { intent: recorded, facts } = await intent(context.intent_id);
    expect(recorded).toMatchObject({
      agent: { id: "alice", framework: "authzen" },
      action: { verb: "read", target: { type: "account", identifier: "a-1" } },
      payload: {
        content: {
          fields: ["name"],
          authzen: {
            subject: { type: "user", properties: { role: "clerk" } },
            resource: { type: "account", id: "a-1", properties: { owner: "bob" } },
          },
        },
      },
    });
    expect(facts.environmental.request_context.value).toEqual({ ip: "10.0.0.9" });
    expect(facts.security.active_security_incident.value).toBe(false);
  });

  test("and identical ones are one intent, whatever the order and the unknown members", async () => {
    const { subject, action, resource } = access("read");
    const first = await evaluate({ subject, action, resource, context: { a: 1, b: 2 } });
    const before = await rows();
    const second = await evaluate({
      trace: 7,
      resource,
      context: { b: 2, a: 1 },
      subject: { ...subject, x: 1 },
      action,
    });
    expect(second).toEqual(first);
    expect(await rows()).toEqual(before);
    const other = await evaluate({ subject, action, resource, context: { a: 1, b: 3 } });
    expect(other.context.intent_id).not.toBe(first.context.intent_id);
  });

  test("of another key is another intent", async () => {
    const evaluation = access("read");
    const { api_key } = await org.org.key({ role: "agent" });
    const [first, other] = [await evaluate(evaluation), await evaluate(evaluation, api_key)];
    expect(other.context.intent_id).not.toBe(first.context.intent_id);
  });

  test("and identical ones reserve once, also at the same time", async () => {
    const evaluation = access("draw");
    const at_once = await Promise.all(Array.from({ length: 8 }, () => evaluate(evaluation)));
    expect(new Set(at_once.map(({ context }) => context.intent_id)).size).toBe(1);
    expect(decisions([...at_once, await evaluate(evaluation)])).toEqual(Array(9).fill(true));
    // The limit is one, so another evaluation of the same account has no room.
    expect(await evaluate({ ...evaluation, context: { call: 2 } })).toMatchObject({
      decision: false,
      context: { verdict: "block", reasons: [{ policy: "one-a-day" }] },
    });
  });

  test("is decided again: a new policy counts at once, and its end too", async () => {
    const evaluation = access("publish");
    const first = await evaluate(evaluation);
    const policy_id = await activatePolicy(url, org, "no-publishing", {
      ...{ match: { verbs: ["publish"] }, when: "true", effect: "block" },
    });
    const blocked = await evaluate(evaluation);
    expect([first.decision, blocked.decision]).toEqual([true, false]);
    await call(url, "POST", `/v1/policies/${policy_id}/retire`, { key: org.admin });
    expect(await evaluate(evaluation)).toEqual(first);
  });

  test("of a frozen agent is false, although it was true before", async () => {
    const evaluation = access("read", { subject: { type: "user", id: "frozen-one" } });
    expect((await evaluate(evaluation)).decision).toBe(true);
    const path = "/v1/agents/frozen-one/freeze";
    expect((await post(path, { mode: "block", reason: "It misbehaves." }, org.operator)).status).toBeLessThan(300);
    expect((await evaluate(evaluation)).decision).toBe(false);
  });

  test("in shadow mode is true with every verdict, and says that nothing is enforced", async () => {
    const { api_key } = await org.org.key({ role: "agent", environment: "shadow" });
    const answer = await evaluate(access("wire"), api_key);
    expect(answer).toMatchObject({ decision: true, context: { verdict: "block", enforced: false } });
  });

  test("of shadow mode does not answer after the membrane went live", async () => {
    const made = await post("/v1/membranes", { name: "other", packs: [], default_verdict: "approve" }, org.admin);
    const { membrane_id } = made.json.membrane;
    const evaluation = access("wire");
    const ask = async () => (await post(`/access/v1/evaluation?membrane_id=${membrane_id}`, evaluation)).json.decision;
    expect(await ask()).toBe(true);
    await call(url, "POST", `/v1/membranes/${membrane_id}/go-live`, { key: org.admin });
    expect(await ask()).toBe(false);
  });

  test("reads its context as one fact", async () => {
    const evaluation = access("enter");
    const from = async (ip: string) => (await evaluate({ ...evaluation, context: { ip } })).decision;
    expect([await from("10.0.0.1"), await from("10.0.0.2")]).toEqual([true, false]);
    expect((await evaluate(evaluation)).decision).toBe(false);
  });
});

describe("a held evaluation", () => {
  test("is false with its review; the same request is true after people approved, and no other one", async () => {
    const evaluation = access("transfer");
    const first = await evaluate(evaluation);
    const { review, intent_id } = first.context;
    expect(first).toMatchObject({ decision: false, context: { verdict: "escalate", review: { status: "pending" } } });
    const before = await pending();
    expect(await evaluate(evaluation)).toEqual(first);
    expect(await pending()).toBe(before);
    await rule(review.id, { outcome: "approve", message_to_agent: "Only today." });
    const approved = await evaluate(evaluation);
    expect(approved).toMatchObject({
      decision: true,
      context: { intent_id, review: { id: review.id, status: "decided" }, message_to_agent: "Only today." },
    });
    expect(await evaluate(evaluation)).toEqual(approved);
    const other = await evaluate({ ...evaluation, context: { call: 2 } });
    expect([other.decision, other.context.review.status]).toEqual([false, "pending"]);
    expect(other.context.review.id).not.toBe(review.id);
  });

  test("with another context waits for the same review", async () => {
    const evaluation = access("transfer");
    const first = await evaluate({ ...evaluation, context: { time: "10:00" } });
    const second = await evaluate({ ...evaluation, context: { time: "10:01" } });
    expect(second.context.review).toEqual(first.context.review);
  });

  test("stays false after people refused", async () => {
    const evaluation = access("transfer");
    const { review } = (await evaluate(evaluation)).context;
    await rule(review.id, { outcome: "block" });
    const again = await evaluate(evaluation);
    expect(again).toMatchObject({ decision: false, context: { review: { id: review.id, status: "decided" } } });
  });

  test("asks people again after somebody claimed the action or reported it as executed", async () => {
    for (const [path, body] of [
      ["claim", { nonce: "n-1" }],
      ["observations", { status: "executed" }],
    ] as const) {
      const evaluation = access("transfer");
      const { review, intent_id } = (await evaluate(evaluation)).context;
      await rule(review.id);
      expect((await post(`/v1/intents/${intent_id}/${path}`, body)).status).toBeLessThan(300);
      const again = await evaluate(evaluation);
      expect([again.decision, again.context.review.status]).toEqual([false, "pending"]);
    }
  });

  test("asks people again after an operator revoked the approval", async () => {
    const evaluation = access("transfer");
    const { review } = (await evaluate(evaluation)).context;
    await rule(review.id);
    expect((await evaluate(evaluation)).decision).toBe(true);
    const revoked = await post(`/v1/escalations/${review.id}/revoke`, { reason: "A mistake." }, org.operator);
    expect(revoked.status, revoked.text).toBe(200);
    const again = await evaluate(evaluation);
    expect([again.decision, again.context.review.status]).toEqual([false, "pending"]);
    expect(again.context.review.id).not.toBe(review.id);
  });
});

describe("context.approval.id", () => {
  test("uses the approval of a review once, for a request that is not identical", async () => {
    const evaluation = access("transfer");
    const { review } = (await evaluate({ ...evaluation, context: { time: 1 } })).context;
    const waiting = named(evaluation, review.id, { time: 2 });
    expect((await evaluate(waiting)).context.review).toEqual(review);
    await rule(review.id);
    const used = await evaluate(waiting);
    expect(used).toMatchObject({ decision: true, context: { review: { id: review.id } } });
    expect(await evaluate(waiting)).toEqual(used);
    // Used up: neither the first request nor a third one may use it.
    expect((await evaluate(named(evaluation, review.id, { time: 3 }))).decision).toBe(false);
    expect((await evaluate({ ...evaluation, context: { time: 1 } })).decision).toBe(false);
  });

  test("uses an override once, which no other evaluation uses", async () => {
    const evaluation = access("wire");
    const { intent_id } = (await evaluate(evaluation)).context;
    const made = await post(`/v1/intents/${intent_id}/override`, { reason: "Checked." }, org.operator);
    const { override_id } = made.json.override;
    expect((await evaluate(evaluation)).decision).toBe(false);
    expect((await evaluate({ ...evaluation, context: { call: 2 } })).decision).toBe(false);
    expect((await evaluate(named(evaluation, "ovr_other"))).decision).toBe(false);
    const used = await evaluate(named(evaluation, override_id));
    expect(used.decision).toBe(true);
    expect((await intent(used.context.intent_id)).decision.human_override_id).toBe(override_id);
    expect(await evaluate(named(evaluation, override_id))).toEqual(used);
    expect((await evaluate(named(evaluation, override_id, { call: 2 }))).decision).toBe(false);
  });

  test("uses a grant, which no other evaluation uses", async () => {
    const evaluation = access("transfer");
    const { intent_id } = (await evaluate(evaluation)).context;
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const scope = { agent_id: "alice", verb: "transfer", target: evaluation.resource.id };
    const body = { intent_id, times: 2, until, reason: "Known.", scope };
    const made = await post("/v1/grants", body, org.reviewer);
    expect(made.status, made.text).toBe(201);
    const { grant_id } = made.json.grant;
    expect((await evaluate({ ...evaluation, context: { call: 2 } })).decision).toBe(false);
    const used = await evaluate(named(evaluation, grant_id));
    expect(used.decision).toBe(true);
    expect(await evaluate(named(evaluation, grant_id))).toEqual(used);
    const { json } = await call(url, "GET", `/v1/grants/${grant_id}`, { key: org.reviewer });
    expect(json.grant.times_used).toBe(1);
  });
});

describe("a changed action", () => {
  const order = (more: object) => access("order", { action: { name: "order", properties: { quantity: 50 } }, ...more });

  test("is true with its obligation, if the caller says that it carries out obligations", async () => {
    const evaluation = order({ context: { capabilities: ["obligations"] } });
    const { subject, resource } = evaluation;
    expect(await evaluate(evaluation)).toMatchObject({
      decision: true,
      context: {
        verdict: "approve_modified",
        obligation: {
          subject: { ...subject, properties: {} },
          action: { name: "order", properties: { quantity: 10 } },
          resource: { ...resource, properties: {} },
        },
      },
    });
  });

  test("is false for any other caller", async () => {
    const evaluation = order({});
    const answer = await evaluate(evaluation);
    expect([answer.decision, answer.context.verdict]).toEqual([false, "approve_modified"]);
    expect(await evaluate(evaluation)).toEqual(answer);
  });

  test("is false if a policy changed which resource it is about", async () => {
    await activatePolicy(url, org, "other-account", {
      ...{ match: { verbs: ["redirect"] }, when: "true", effect: "approve_modified" },
      modify: [{ op: "set", path: "/authzen/resource/id", value: '"a-safe-one"' }],
    });
    const { decision, context } = await evaluate(access("redirect", { context: { capabilities: ["obligations"] } }));
    expect([decision, context.verdict, context.obligation]).toEqual([false, "approve_modified", undefined]);
  });
});

describe("decide-only", () => {
  test("writes, reserves, opens and spends nothing, and names no intent", async () => {
    const [held, drawn, order] = [
      access("transfer"),
      access("draw"),
      access("order", { action: { name: "order", properties: { quantity: 50 } } }),
    ];
    const blocked = access("wire");
    const { intent_id } = (await evaluate(blocked)).context;
    const made = await post(`/v1/intents/${intent_id}/override`, { reason: "Checked." }, org.operator);
    const before = await rows();
    const answers = [];
    for (const each of [held, drawn, drawn, order, blocked, named(blocked, made.json.override.override_id)])
      answers.push(await evaluate(each, org.agent, decide_only));
    expect(decisions(answers)).toEqual([false, true, true, false, false, false]);
    for (const { context } of answers) expect([context.intent_id, context.review]).toEqual([undefined, undefined]);
    expect(await list({ evaluations: [held, drawn] }, decide_only)).toMatchObject([
      { decision: false },
      { decision: true },
    ]);
    expect(await rows()).toEqual(before);
  });

  test("counts what other evaluations reserved, also on another node", async () => {
    const evaluation = access("draw");
    expect((await evaluate(evaluation, org.agent, decide_only)).decision).toBe(true);
    await evaluate(evaluation);
    expect((await evaluate(evaluation, org.agent, decide_only)).decision).toBe(false);
  });

  test("applies a new policy at once", async () => {
    const evaluation = access("archive");
    expect((await evaluate(evaluation, org.agent, decide_only)).decision).toBe(true);
    await activatePolicy(url, org, "no-archives", { match: { verbs: ["archive"] }, when: "true", effect: "block" });
    expect((await evaluate(evaluation, org.agent, decide_only)).decision).toBe(false);
  });
});
