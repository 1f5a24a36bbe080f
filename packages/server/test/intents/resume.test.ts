/** Source: docs/decisions/0037. */
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { verifyOrganization } from "../../src/operations/audit/verify-organization.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";
import { told } from "../../src/testing/people/told.ts";

const database = await testDatabase();
let urls: [string, string];
let org: Reviewed;
beforeAll(async () => {
  urls = [(await serviceNode(database)).url, (await serviceNode(database)).url];
});
beforeEach(async () => {
  org = await reviewedOrganization(database.db, urls[0], { packs: [] });
  await activate("asks", { when: "true", effect: "escalate", escalation: { reviewers: ["role:reviewer"] } });
});

const send = (method: string, path: string, key: string, body?: unknown, node = 0, headers = {}) =>
  call(urls[node] ?? "", method, path, { key, body, headers });

async function activate(name: string, spec: object) {
  const document = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name }, spec };
  const { json } = await send("POST", "/v1/policies", org.admin, { policy: document });
  await send("POST", `/v1/policies/${json.policy.policy_id}/activate`, org.admin, { mode: "live" });
}

const stakes = { estimated_impact: { financial_exposure_usd: 2_000 }, data_classes: ["personal", "financial"] };
const intent = {
  agent: { id: "payer", on_behalf_of: "ann" },
  action: { type: "payment.transfer", verb: "pay" },
  payload: { content: { amount: 50, to: "bob" } },
  ...stakes,
};

interface Terms {
  readonly change?: object;
  readonly key?: string;
  readonly idempotency_key?: string;
  readonly claim?: "required" | undefined;
}

async function submit({ change = {}, key = org.agent, idempotency_key, ...terms }: Terms = {}) {
  const claim = "claim" in terms ? terms.claim : "required";
  const headers = idempotency_key === undefined ? {} : { "Idempotency-Key": idempotency_key };
  const body = { intent: { ...intent, ...change }, ...(claim === undefined ? {} : { claim }) };
  const { json } = await send("POST", "/v1/intents", key, body, 1, headers);
  return json.decision;
}

const rule = (escalation_id: string, ruling: object = { outcome: "approve" }) =>
  send("POST", `/v1/escalations/${escalation_id}/decision`, org.reviewer, ruling);
const claim = async ({ intent_id }: { intent_id: string }, nonce = "n", key = org.agent) => {
  const { status, json } = await send("POST", `/v1/intents/${intent_id}/claim`, key, { nonce });
  return status === 200 ? "claimed" : json.error.code;
};
const refusal = async ({ intent_id }: { intent_id: string }) =>
  (await send("POST", `/v1/intents/${intent_id}/claim`, org.agent, { nonce: "other" })).json.error;
const report = ({ intent_id }: { intent_id: string }, status: string) =>
  send("POST", `/v1/intents/${intent_id}/observations`, org.agent, { status });
const read = async ({ intent_id }: { intent_id: string }) =>
  (await send("GET", `/v1/intents/${intent_id}/decision`, org.agent)).json.decision;
const trail = async ({ intent_id }: { intent_id: string }) =>
  (await send("GET", `/v1/intents/${intent_id}/audit`, org.admin)).json.audit.map(({ type }: { type: string }) => type);

async function approved(terms: Terms = {}, ruling?: object) {
  const first = await submit(terms);
  expect((await rule(first.escalation_id, ruling)).status).toBe(200);
  return first;
}

async function expire(escalation_id: string) {
  const text = "2020-01-01T00:00:00.000000Z";
  await database.db.system((query) =>
    query(
      `update escalations set approval_until = $2::timestamptz,
         resolution = (resolution::jsonb || jsonb_build_object('approval_expires_at', $3::text))::json
       where escalation_id = $1 returning true as done`,
      [escalation_id, text, text],
    ),
  );
}

describe("an approval that nobody claimed", () => {
  test("goes to the next equal action without a review; the first one gets 409 handed_on", async () => {
    const first = await approved();
    const next = await submit({ change: { payload: { content: { to: "bob", amount: 50 } } } });
    expect(next).toMatchObject({
      ...{ verdict: "approve", outcome: "approve", status: "final", human_override_id: null },
      ...{ escalation_id: first.escalation_id, escalation_status: "decided", resumed_from: first.intent_id },
      ...{ claim: "required", execution: { status: "none" } },
    });
    expect(next.approval_expires_at).toBe((await read(first)).approval_expires_at);
    expect(await read(next)).toEqual(next);
    expect(await refusal(first)).toMatchObject({ code: "handed_on", details: [{ intent_id: next.intent_id }] });
    expect((await read(first)).execution).toMatchObject({ status: "handed_on", by: { type: "key" } });
    expect([await claim(next), await claim(next), await claim(next, "other")]).toEqual([
      ...["claimed", "claimed", "already_claimed"],
    ]);
    expect(await trail(first)).toEqual([
      "submitted",
      "decided",
      "escalated",
      "voted",
      "reviewed",
      "approval_handed_on",
    ]);
    expect(await trail(next)).toEqual(["submitted", "decided", "resumed", "claimed"]);
    const open = await send("GET", "/v1/escalations?status=pending", org.admin);
    expect(open.json.escalations).toEqual([]);
  });

  test("is passed on again if the next action does not claim it either, and is used once", async () => {
    const intents = [await approved()];
    for (let n = 0; n < 3; n += 1) intents.push(await submit());
    expect(intents.slice(1).map(({ outcome }) => outcome)).toEqual(["approve", "approve", "approve"]);
    const claims = [];
    for (const each of intents) claims.push(await claim(each));
    expect(claims).toEqual(["handed_on", "handed_on", "handed_on", "claimed"]);
    expect((await submit()).status).toBe("pending");
  });

  test("of 12 equal actions at once on two nodes exactly one gets it and claims it", async () => {
    const first = await approved();
    const bodies = Array.from({ length: 12 }, (_, n) =>
      send("POST", "/v1/intents", org.agent, { intent, claim: "required" }, n % 2),
    );
    const decisions = (await Promise.all(bodies)).map(({ json }) => json.decision);
    const all = [first, ...decisions.filter(({ outcome }) => outcome === "approve")];
    const claims = await Promise.all(all.map((each, n) => claim(each, `nonce ${n}`)));
    expect(claims.filter((each) => each === "claimed")).toHaveLength(1);
    expect(new Set(claims)).toEqual(new Set(["claimed", "handed_on"]));
  });

  test("carries the change that the reviewer made", async () => {
    const modifications = [{ op: "replace", path: "/amount", value: 40 }];
    await approved({}, { outcome: "approve_modified", modifications });
    const next = await submit();
    expect(next).toMatchObject({ verdict: "approve_modified", outcome: "approve_modified" });
    expect(next.modified_content).toEqual({ amount: 40, to: "bob" });
    expect(await claim(next)).toBe("claimed");
  });

  test("also goes to an action that needs no claim, and then to no other", async () => {
    const first = await approved();
    const next = await submit({ claim: undefined });
    expect([next.outcome, await claim(first)]).toEqual(["approve", "handed_on"]);
    // The first action may already have been executed.
    expect((await submit()).status).toBe("pending");
    expect(await claim(next)).toBe("claimed");
  });

  test("sends decision.approved without additional data", async () => {
    const made = { url: "https://receiver.example/hook", event_types: ["decision.approved"] };
    await send("POST", "/v1/escalations/webhooks", org.admin, made);
    await approved();
    const { intent_id } = await submit();
    const events = await told<{ data: { intent_id: string } }>(database.db, org.org.org_id);
    const own = events.filter(({ data }) => data.intent_id === intent_id);
    expect(own.map(({ data }) => Object.keys(data).sort())).toEqual([
      ["decision_id", "human_override_id", "intent_id", "pipeline_mode", "risk_score", "timestamp", "verdict"],
    ]);
  });
});

describe("is reviewed again:", () => {
  test.each<[string, Terms]>([
    ["another action", { change: { payload: { content: { amount: 51, to: "bob" } } } }],
    ["a greater impact", { change: { estimated_impact: { financial_exposure_usd: 1e9 } } }],
    ["another data class", { change: { data_classes: ["personal", "phi"] } }],
    ["another person on whose behalf it is", { change: { agent: { id: "payer", on_behalf_of: "eve" } } }],
    ["another agent", { change: { agent: { id: "other", on_behalf_of: "ann" } } }],
  ])("%s", async (_, terms) => {
    const first = await approved();
    expect(await submit(terms)).toMatchObject({ status: "pending", outcome: null });
    expect(await claim(first)).toBe("claimed");
  });

  test("an action of another key", async () => {
    await approved();
    const { api_key } = (await send("POST", "/v1/api-keys", org.admin, { role: "agent" })).json;
    expect((await submit({ key: api_key })).status).toBe("pending");
  });

  test("an action whose equal was submitted without a claim", async () => {
    await approved({ claim: undefined });
    expect((await submit()).status).toBe("pending");
  });

  test.each(["executed", "failed"])("an action whose equal was reported as %s without a claim", async (status) => {
    const first = await approved();
    await report(first, status);
    expect((await submit()).status).toBe("pending");
  });

  test("an action whose equal was reported as executed before people approved it", async () => {
    const first = await submit();
    await report(first, "executed");
    await rule(first.escalation_id);
    expect((await submit()).escalation_id).not.toBe(first.escalation_id);
  });

  test("an action whose equal was claimed", async () => {
    await claim(await approved());
    expect((await submit()).status).toBe("pending");
  });

  test("one that a new rule blocks; one that a new rule holds for others", async () => {
    const first = await approved();
    await activate("asks-admins", { when: "true", effect: "escalate", escalation: { reviewers: ["role:admin"] } });
    expect((await submit()).status).toBe("pending");
    await activate("not-now", { when: "true", effect: "block" });
    expect((await submit()).outcome).toBe("block");
    expect(await claim(first)).toBe("blocked_now");
  });

  test("one that the current facts block", async () => {
    await approved();
    await activate("incident", {
      when: "facts.security.active_security_incident == true",
      effect: "block",
      on_unknown: "skip",
    });
    const context = { contract_version: "1", facts: { security: { active_security_incident: true } } };
    const { json } = await send("POST", "/v1/intents", org.agent, { intent, context, claim: "required" });
    expect(json.decision.outcome).toBe("block");
  });
});

describe("an approval lives", () => {
  test("24 hours by default, else as long as the rule or the membrane says; the shortest counts", async () => {
    const life = async (decision: { escalation_id: string; intent_id: string }) => {
      const { approval_expires_at } = await read(decision);
      const { json } = await send("GET", `/v1/escalations/${decision.escalation_id}`, org.admin);
      return (Date.parse(approval_expires_at) - Date.parse(json.escalation.closed_at)) / 1000;
    };
    expect(await life(await approved())).toBe(86_400);
    const { json } = await send("GET", "/v1/membranes", org.admin);
    const path = `/v1/membranes/${json.membranes[0].membrane_id}`;
    const changed = await send("PATCH", path, org.admin, { escalation: { approval_valid_seconds: 7_200 } });
    expect([changed.status, changed.json.membrane.escalation.approval_valid_seconds]).toEqual([200, 7_200]);
    await activate("short", { when: "true", effect: "escalate", escalation: { approval_valid_for: "10m" } });
    const other = { change: { payload: { content: { amount: 2 } } } };
    expect(await life(await approved(other))).toBe(600);
  });

  test("until it expires: then a claim gets 409, an equal action is reviewed, and `executed` is an alarm", async () => {
    const first = await approved();
    await expire(first.escalation_id);
    const message = expect.stringContaining("expired at 2020-01-01");
    expect(await refusal(first)).toMatchObject({ code: "state_conflict", details: [{ message }] });
    expect((await submit()).status).toBe("pending");
    const late = await approved({ claim: undefined, change: { payload: { content: { amount: 3 } } } });
    await expire(late.escalation_id);
    await report(late, "executed");
    expect(await trail(late)).toContain("contradicted");
  });

  test("as long as its override", async () => {
    await activate("blocks", { when: "true", effect: "block" });
    const blocked = await submit();
    const made = await send("POST", `/v1/intents/${blocked.intent_id}/override`, org.operator, { reason: "seen" });
    const { override_id, expires_at } = made.json.override;
    expect(await submit()).toMatchObject({ human_override_id: override_id, approval_expires_at: expires_at });
  });
});

describe("an equal action", () => {
  test("joins a pending review that nobody waits for, and the ruling is used by exactly one of them", async () => {
    const first = await submit();
    const second = await submit();
    expect(second).toMatchObject({ escalation_id: first.escalation_id, status: "pending", verdict: "escalate" });
    expect(second.intent_id).not.toBe(first.intent_id);
    await rule(first.escalation_id);
    expect([(await read(first)).outcome, (await read(second)).outcome]).toEqual(["approve", "approve"]);
    expect([await claim(second), await claim(first)]).toEqual(["claimed", "handed_on"]);
    expect(await trail(second)).toEqual(["submitted", "decided", "joined", "claimed"]);
    const { org_id } = org.org;
    expect(await verifyOrganization(database.db, org_id, undefined, () => undefined)).toMatchObject({ sound: true });
    expect((await submit()).status).toBe("pending");
  });

  test("gets the block of the review", async () => {
    const [first, second] = [await submit(), await submit()];
    await rule(first.escalation_id, { outcome: "block" });
    expect([(await read(second)).outcome, await claim(second)]).toEqual(["block", "state_conflict"]);
  });

  test("opens its own review while a client waits on any node, and joins after that client has gone", async () => {
    const first = await submit();
    const gone = new AbortController();
    const waiting = fetch(`${urls[0]}/v1/intents/${first.intent_id}/decision?wait=55`, {
      ...{ headers: { "X-API-Key": org.agent }, signal: gone.signal },
    }).catch(() => undefined);
    const waits = () =>
      database.db.system((query) =>
        query("select from review_waits where escalation_id = $1 and until > now()", [first.escalation_id]),
      );
    await expect.poll(async () => (await waits()).length).toBe(1);
    const second = await submit();
    expect(second.escalation_id).not.toBe(first.escalation_id);
    gone.abort();
    await waiting;
    await expect.poll(async () => (await waits()).length).toBe(0);
    expect((await submit()).escalation_id).toBe(first.escalation_id);
  });

  test.each<[string, string | undefined, string | undefined, boolean]>([
    ["two other Idempotency-Keys open two reviews", "a", "b", false],
    ["a key for repeats does not name an action", "retry-a", "retry-b", true],
    ["no key joins a review with one", "a", undefined, true],
    ["a key joins a review without one", undefined, "a", true],
  ])("%s", async (_, one, two, joins) => {
    const key = (idempotency_key: string | undefined) => (idempotency_key === undefined ? {} : { idempotency_key });
    const [first, second] = [await submit(key(one)), await submit(key(two))];
    expect(second.escalation_id === first.escalation_id).toBe(joins);
  });

  test("joins nothing without a claim, and no action submitted without one", async () => {
    const plain = await submit({ claim: undefined });
    const first = await submit();
    const second = await submit({ claim: undefined });
    expect(new Set([plain, first, second].map(({ escalation_id }) => escalation_id)).size).toBe(3);
  });

  test("joins no review that lacks the reviewers of a new rule", async () => {
    const first = await submit();
    await activate("asks-admins", { when: "true", effect: "escalate", escalation: { reviewers: ["role:admin"] } });
    expect((await submit()).escalation_id).not.toBe(first.escalation_id);
  });
});

describe("revoking", () => {
  const revoke = (escalation_id: string, key = org.operator) =>
    send("POST", `/v1/escalations/${escalation_id}/revoke`, key, { reason: "wrong account" });

  test("an unclaimed approval ends it permanently for each action that uses it", async () => {
    const first = await approved();
    expect((await revoke(first.escalation_id)).status).toBe(200);
    expect((await revoke(first.escalation_id)).status).toBe(200);
    const message = expect.stringContaining("revoked the approval");
    expect(await refusal(first)).toMatchObject({ code: "state_conflict", details: [{ message }] });
    expect((await read(first)).execution.status).toBe("revoked");
    expect((await trail(first)).filter((type: string) => type === "approval_revoked")).toHaveLength(1);
    expect((await submit()).status).toBe("pending");
  });

  test("is for operators and admins, and only before a claim", async () => {
    const first = await approved();
    for (const key of [org.agent, org.reviewer]) expect((await revoke(first.escalation_id, key)).status).toBe(403);
    const stranger = await reviewedOrganization(database.db, urls[0], { packs: [] });
    expect((await revoke(first.escalation_id, stranger.admin)).status).toBe(404);
    await claim(first);
    expect((await revoke(first.escalation_id)).json.error.code).toBe("already_claimed");
    const pending = await submit();
    expect((await revoke(pending.escalation_id)).json.error.code).toBe("state_conflict");
    const plain = await approved({ claim: undefined, change: { payload: { content: { amount: 4 } } } });
    expect((await revoke(plain.escalation_id)).json.error.code).toBe("state_conflict");
  });
});

describe("an override is not spent by", () => {
  test.each<[string, object]>([
    ["a greater exposure", { estimated_impact: { financial_exposure_usd: 1e9 } }],
    ["a further data class", { data_classes: ["personal", "financial", "phi"] }],
    ["another on_behalf_of", { agent: { id: "payer", on_behalf_of: "eve" } }],
  ])("%s", async (_, change) => {
    await activate("blocks", { when: "true", effect: "block" });
    const { intent_id } = await submit();
    await send("POST", `/v1/intents/${intent_id}/override`, org.operator, { reason: "seen" });
    expect((await submit({ change })).outcome).toBe("block");
    const less = { estimated_impact: { financial_exposure_usd: 1_999 }, data_classes: ["financial"] };
    expect((await submit({ change: less })).outcome).toBe("approve");
    expect((await submit()).outcome).toBe("block");
  });
});
