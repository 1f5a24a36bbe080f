import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { call } from "../../testing/nodes/http-node.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";
import { deadlineIn, heldBody, type Reviewed, reviewedOrganization } from "../../testing/people/review.ts";

const database = await testDatabase();
const { db } = database;
let urls: [string, string];
let org: Reviewed;
beforeAll(async () => {
  urls = [(await serviceNode(database)).url, (await serviceNode(database)).url];
  org = await reviewedOrganization(db, urls[0]);
});

const post = (path: string, key: string, body: unknown, node = 0, headers = {}) =>
  call(urls[node] ?? "", "POST", path, { key, body, headers });
const get = (path: string, key: string, node = 0) => call(urls[node] ?? "", "GET", path, { key });

async function held(of: Reviewed = org, body: object = heldBody, key = of.agent) {
  const { json } = await post("/v1/intents", key, body);
  expect(json.decision.verdict).toBe("escalate");
  const { intent_id, escalation_id } = json.decision as { intent_id: string; escalation_id: string };
  return { intent_id, path: `/v1/escalations/${escalation_id}`, escalation_id };
}
const decide = (path: string, key: string, body: unknown, node = 0, headers = {}) =>
  post(`${path}/decision`, key, body, node, headers);
const decisionOn = async (intent_id: string, key = org.agent) =>
  (await get(`/v1/intents/${intent_id}/decision`, key)).json.decision;
const auditOf = async (intent_id: string) =>
  (await get(`/v1/intents/${intent_id}/audit`, org.admin)).json.audit.map((row: { type: string }) => row.type);
const quorum = (required: number, more = {}) => ({
  escalation: { timeout_seconds: 600, on_timeout: "block", reviewers: [], quorum: required, ...more },
});

describe("POST /v1/escalations/{id}/decision", () => {
  test("a node that loaded the organization before a membrane existed decides on that membrane's escalation", async () => {
    const own = await reviewedOrganization(db, urls[0]);
    for (const node of [0, 1]) expect((await post("/v1/intents", own.agent, heldBody, node)).status).toBe(201);
    const settings = { name: "later", default_verdict: "escalate", ...quorum(1) };
    const { membrane_id } = (await post("/v1/membranes", own.admin, settings)).json.membrane;
    await post(`/v1/membranes/${membrane_id}/go-live`, own.admin, undefined);
    const { path } = await held(own, { ...heldBody, membrane_id });
    const ruling = {
      outcome: "approve_modified",
      modifications: [{ op: "replace", path: "/replicas", value: 1 }],
    };
    const { status, json } = await decide(path, own.reviewer, ruling, 1);
    expect([status, json.escalation?.resolution.outcome]).toEqual([200, "approve_modified"]);
  });

  test("an approval permits the action: outcome, status, resolution and audit agree", async () => {
    const { path, intent_id } = await held();
    const { status, json } = await decide(path, org.reviewer, { outcome: "approve", comment: "fine" });
    expect(status).toBe(200);
    expect(json.escalation).toMatchObject({
      status: "decided",
      quorum: { required: 1, approvals: 1, rejections: 0 },
      resolution: { outcome: "approve", comment: "fine", modifications: [] },
    });
    expect(json.escalation.votes).toHaveLength(1);
    expect(await decisionOn(intent_id)).toMatchObject({
      verdict: "escalate",
      outcome: "approve",
      status: "final",
      escalation_status: "decided",
    });
    expect(await auditOf(intent_id)).toEqual(["submitted", "decided", "escalated", "voted", "reviewed"]);
    expect((await get(path, org.reviewer)).json).toEqual(json);
  });

  test("of 50 concurrent decisions on two nodes, one gets 200, 49 get 409, and the trail has one closing", async () => {
    const { path, intent_id } = await held();
    const votes = Array.from({ length: 50 }, (_, n) =>
      decide(path, n % 3 === 0 ? org.operator : org.reviewer, { outcome: n % 2 === 0 ? "approve" : "block" }, n % 2),
    );
    const answers = await Promise.all(votes);
    expect(answers.map((each) => each.status).sort()).toEqual([200, ...Array(49).fill(409)]);
    expect(answers.find((each) => each.status === 409)?.json.error.code).toBe("escalation_closed");
    const winner = answers.find((each) => each.status === 200)?.json.escalation;
    expect((await decisionOn(intent_id)).outcome).toBe(winner.resolution.outcome);
    expect((await auditOf(intent_id)).filter((type: string) => type === "reviewed")).toHaveLength(1);
  });

  test("a quorum needs different people; two keys of one chain of rotations are one", async () => {
    const two = await reviewedOrganization(db, urls[0], quorum(2));
    const { path, intent_id } = await held(two);
    expect((await decide(path, two.reviewer, { outcome: "approve" })).json.escalation.status).toBe("pending");
    const keys = (await call(urls[0], "GET", "/v1/api-keys", { key: two.admin })).json.api_keys;
    const { key_id } = keys.find((each: { role: string }) => each.role === "reviewer");
    const { api_key } = (await post(`/v1/api-keys/${key_id}/rotate`, two.reviewer, undefined)).json;
    const again = (await decide(path, api_key, { outcome: "approve" })).json.escalation;
    expect(again).toMatchObject({ status: "pending", quorum: { approvals: 1 } });
    expect((await decide(path, two.operator, { outcome: "approve" }, 1)).json.escalation.status).toBe("decided");
    expect((await decisionOn(intent_id, two.agent)).outcome).toBe("approve");
  });

  test("one rejection is enough against a quorum", async () => {
    const two = await reviewedOrganization(db, urls[0], quorum(3));
    const { path, intent_id } = await held(two);
    await decide(path, two.reviewer, { outcome: "approve" });
    expect((await decide(path, two.operator, { outcome: "block" })).json.escalation.status).toBe("decided");
    expect((await decisionOn(intent_id, two.agent)).outcome).toBe("block");
  });

  test("403 self_review for the submitting key, its successor, and the creator of the key", async () => {
    const { path } = await held(org, heldBody, org.operator);
    expect((await decide(path, org.operator, { outcome: "approve" })).json.error.code).toBe("self_review");
    const made = await post("/v1/api-keys", org.admin, { role: "operator" });
    const created = await held(org, heldBody, made.json.api_key);
    expect((await decide(created.path, org.admin, { outcome: "approve" })).json.error.code).toBe("self_review");
    const { api_key } = (await post(`/v1/api-keys/${made.json.key_id}/rotate`, made.json.api_key, undefined)).json;
    const rotated = await decide(created.path, api_key, { outcome: "approve" });
    expect([rotated.status, rotated.json.error.code]).toEqual([403, "self_review"]);
    expect((await decide(created.path, org.reviewer, { outcome: "approve" })).status).toBe(200);
  });

  test("403 self_review for every key that the submitting one descends from, with or without rotations", async () => {
    const former = (await post("/v1/api-keys", org.admin, { role: "admin" })).json;
    const child = (await post(`/v1/api-keys/${former.key_id}/rotate`, former.api_key, undefined)).json.api_key;
    const made = (await post("/v1/api-keys", child, { role: "agent" })).json.api_key;
    const { path } = await held(org, heldBody, made);
    for (const key of [org.admin, child])
      expect((await decide(path, key, { outcome: "approve" })).json.error?.code).toBe("self_review");
    expect((await decide(path, org.reviewer, { outcome: "block" })).status).toBe(200);
  });

  test("403 for agents and auditors, and for a reviewer if the escalation is assigned to others", async () => {
    const { path } = await held();
    expect((await decide(path, org.agent, { outcome: "approve" })).status).toBe(403);
    expect((await decide(path, (await org.org.key({ role: "auditor" })).api_key, { outcome: "block" })).status).toBe(
      403,
    );
    await post(`${path}/reassign`, org.operator, { reviewers: [{ type: "role", id: "operator" }] });
    expect((await decide(path, org.reviewer, { outcome: "approve" })).json.error.code).toBe("forbidden");
    expect((await decide(path, org.operator, { outcome: "approve" })).status).toBe(200);
  });

  test("404 is the same for an unknown id and for another organization's", async () => {
    const { path } = await held();
    const other = await reviewedOrganization(db, urls[0]);
    const anonymous = (text: string) => text.replace(/req_\w+/, "");
    const missing = await decide("/v1/escalations/esc_00000000000000000000000000", other.reviewer, {
      outcome: "block",
    });
    for (const act of ["decision", "cancel", "reassign"]) {
      const bodies = {
        decision: { outcome: "block" },
        cancel: {},
        reassign: { reviewers: [{ type: "role", id: "admin" }] },
      };
      const foreign = await post(`${path}/${act}`, other.admin, bodies[act as "cancel"]);
      expect([foreign.status, anonymous(foreign.text)]).toEqual([404, anonymous(missing.text)]);
    }
    expect((await get(path, other.admin)).status).toBe(404);
    expect((await get(path, org.reviewer)).json.escalation.status).toBe("pending");
  });

  test("an Idempotency-Key returns the first answer again", async () => {
    const { path } = await held();
    const headers = { "Idempotency-Key": "vote-1" };
    const first = await decide(path, org.reviewer, { outcome: "approve" }, 0, headers);
    const again = await decide(path, org.reviewer, { outcome: "approve" }, 1, headers);
    expect([again.status, again.headers.get("idempotent-replayed"), again.text]).toEqual([200, "true", first.text]);
    expect((await decide(path, org.reviewer, { outcome: "block" }, 0, headers)).json.error.code).toBe(
      "idempotency_conflict",
    );
  });
});

describe("a human modification", () => {
  let untouched: ReturnType<typeof held> | undefined;
  const cheaper = { outcome: "approve_modified", modifications: [{ op: "replace", path: "/replicas", value: 1 }] };

  test("is applied to the content, and the outcome says so", async () => {
    const { path, intent_id } = await held();
    expect((await decide(path, org.reviewer, cheaper)).json.escalation.resolution).toMatchObject({
      outcome: "approve_modified",
      modifications: [{ op: "replace", path: "/replicas", value: 1, policy_id: null }],
    });
    expect(await decisionOn(intent_id)).toMatchObject({
      outcome: "approve_modified",
      modified_content: { version: 4, replicas: 1 },
    });
  });

  test("is in the vote and in its audit row, so that another reviewer can approve the same", async () => {
    const two = await reviewedOrganization(db, urls[0], quorum(2));
    const { path, intent_id } = await held(two);
    const first = await decide(path, two.reviewer, cheaper);
    expect(first.json.escalation.votes[0].modifications).toEqual(cheaper.modifications);
    const { audit } = (await get(`/v1/intents/${intent_id}/audit`, two.admin)).json;
    expect(audit[3]).toMatchObject({ type: "voted", data: { modifications: cheaper.modifications } });
    const same = { ...cheaper, modifications: first.json.escalation.votes[0].modifications };
    expect((await decide(path, two.operator, same)).json.escalation.status).toBe("decided");
    const { path: plain } = await held(two);
    const { votes } = (await decide(plain, two.reviewer, { outcome: "approve" })).json.escalation;
    expect(votes[0].modifications).toBeNull();
  });

  test("shows no content that a policy redacts", async () => {
    const two = await reviewedOrganization(db, urls[0], quorum(2));
    const policy = {
      apiVersion: "countersign/v1",
      kind: "Policy",
      metadata: { name: "no-names", title: "Names" },
      spec: {
        match: { actions: [heldBody.intent.action.type] },
        when: "has(params.name)",
        effect: "approve_modified",
        modify: [{ op: "redact", path: "/name" }],
        message: "No names",
      },
    };
    const { policy_id } = (await post("/v1/policies", two.admin, { policy })).json.policy;
    await post(`/v1/policies/${policy_id}/activate`, two.admin, { mode: "live" });
    const { path, intent_id } = await held(two);
    const named = { outcome: "approve_modified", modifications: [{ op: "add", path: "/name", value: "Ann Example" }] };
    expect((await decide(path, two.reviewer, named)).json.escalation.votes[0].modifications).toEqual([
      { op: "add", path: "/name", value: "[redacted]" },
    ]);
    const { text } = await decide(path, two.operator, named);
    expect(text).toContain('"decided"');
    expect(text + (await get(`/v1/intents/${intent_id}/audit`, two.admin)).text).not.toContain("Ann Example");
  });

  test.each([
    ["does not apply", { ...cheaper, modifications: [{ op: "remove", path: "/none" }] }],
    ["reaches into a prototype", { ...cheaper, modifications: [{ op: "add", path: "/__proto__/x", value: 1 }] }],
    [
      "reaches into a constructor",
      { ...cheaper, modifications: [{ op: "add", path: "/constructor/prototype/x", value: 1 }] },
    ],
    ["has no value", { ...cheaper, modifications: [{ op: "add", path: "/x" }] }],
    ["comes with a plain approval", { ...cheaper, outcome: "approve" }],
    ["comes with a block", { ...cheaper, outcome: "block" }],
    ["is missing", { outcome: "approve_modified" }],
    ["is a move", { ...cheaper, modifications: [{ op: "move", path: "/x", from: "/y" }] }],
    ["comes with a comment of 10,000 characters", { outcome: "approve", comment: "x".repeat(10_000) }],
  ])("400 if it %s, and nothing happens", async (_title, body) => {
    untouched ??= held();
    const { path } = await untouched;
    const answer = await decide(path, org.reviewer, body);
    expect([answer.status, answer.json.error.code]).toEqual([400, "invalid_request"]);
    expect((await get(path, org.reviewer)).json.escalation).toMatchObject({ status: "pending", votes: [] });
  });

  test("422 when a policy would block the modified action, naming it", async () => {
    const payments = await reviewedOrganization(db, urls[0], { default_verdict: "escalate", packs: ["account"] });
    const content = { amount_usd: 50 };
    const facts = { entity_state: { account_status: "active", account_balance_usd: 100 } };
    const intent = { agent: { id: "a" }, action: { type: "payment.transfer", verb: "pay" }, payload: { content } };
    const body = { intent, context: { contract_version: "1", facts } };
    const { path } = await held(payments, body);
    const more = { outcome: "approve_modified", modifications: [{ op: "replace", path: "/amount_usd", value: 500 }] };
    const refused = await decide(path, payments.reviewer, more);
    expect([refused.status, refused.json.error.code]).toEqual([422, "modified_action_blocked"]);
    expect(refused.json.error.details[0].policy).toBe("account.sufficient-balance");
    const less = { outcome: "approve_modified", modifications: [{ op: "replace", path: "/amount_usd", value: 5 }] };
    expect((await decide(path, payments.reviewer, less)).status).toBe(200);
  });

  test("409 when another reviewer approved something else", async () => {
    const two = await reviewedOrganization(db, urls[0], quorum(2));
    const { path } = await held(two);
    await decide(path, two.reviewer, cheaper);
    expect((await decide(path, two.operator, { outcome: "approve" })).json.error.code).toBe("state_conflict");
    expect((await decide(path, two.operator, cheaper)).json.escalation.status).toBe("decided");
  });
});

describe("cancel and reassign", () => {
  test("a cancelled escalation ends as block and never changes again", async () => {
    const { path, intent_id } = await held();
    const { json } = await post(`${path}/cancel`, org.operator, { reason: "not needed" });
    expect(json.escalation).toMatchObject({
      status: "cancelled",
      resolution: { outcome: "block", comment: "not needed" },
    });
    expect(await decisionOn(intent_id)).toMatchObject({ outcome: "block", escalation_status: "cancelled" });
    expect((await decide(path, org.reviewer, { outcome: "approve" })).status).toBe(409);
    expect((await post(`${path}/cancel`, org.operator, {})).status).toBe(409);
    const reviewers = [{ type: "role", id: "admin" }];
    expect((await post(`${path}/reassign`, org.operator, { reviewers })).status).toBe(409);
    expect(await auditOf(intent_id)).toEqual(["submitted", "decided", "escalated", "cancelled"]);
  });

  test("reassigning keeps the escalation pending and its time limit; reviewers may do neither", async () => {
    const { path, intent_id } = await held();
    const before = (await get(path, org.reviewer)).json.escalation;
    const reviewers = [{ type: "user", id: (await org.org.key({ role: "reviewer" })).key_id }];
    expect((await post(`${path}/reassign`, org.reviewer, { reviewers })).status).toBe(403);
    expect((await post(`${path}/cancel`, org.reviewer, {})).status).toBe(403);
    const { json } = await post(`${path}/reassign`, org.operator, { reviewers, reason: "knows it" });
    expect(json.escalation.panels).toMatchObject([{ source: "reassignment", reviewers, required: 1 }]);
    expect({ ...json.escalation, panels: before.panels }).toEqual({ ...before, reviewers });
    expect(await auditOf(intent_id)).toContain("reassigned");
    expect((await post(`${path}/reassign`, org.operator, { reviewers: [] })).status).toBe(400);
  });
});

describe("the time limit", () => {
  test.each([
    ["block", "block"],
    ["approve", "approve"],
  ] as const)("on_timeout %s: the worker ends it and wakes waiting callers", async (on_timeout, outcome) => {
    const short = await reviewedOrganization(db, urls[0], quorum(1, { timeout_seconds: 1, on_timeout }));
    const { intent_id, path } = await held(short);
    const { json } = await get(`/v1/intents/${intent_id}/decision?wait=30`, short.agent, 1);
    expect(json.decision).toMatchObject({ outcome, status: "final", escalation_status: "timed_out" });
    const { escalation } = (await get(path, short.reviewer)).json;
    expect(escalation.resolution).toMatchObject({ outcome, by: null });
    // The worker looks every half second. The wait ends after 30 s.
    expect(Date.parse(escalation.closed_at) - Date.parse(escalation.expires_at)).toBeLessThan(30_000);
  });

  test("a vote after the deadline is refused, whether or not the worker has run", async () => {
    const { path, escalation_id } = await held();
    await deadlineIn(db, [escalation_id], "-1 us");
    expect((await decide(path, org.reviewer, { outcome: "approve" })).status).toBe(409);
  });

  test("60 votes race their deadline: each escalation has one end, and the answers agree with it", async () => {
    const racing = await reviewedOrganization(db, urls[0], quorum(1));
    const items = await Promise.all(Array.from({ length: 60 }, () => held(racing)));
    const ids = items.map((each) => each.escalation_id);
    // Some have timed out and some are decided before the race begins.
    await deadlineIn(db, ids.slice(0, 10), "0 ms");
    await deadlineIn(db, ids.slice(10, 50), "300 ms");
    const answers = await Promise.all(
      items.map((each, n) => decide(each.path, racing.reviewer, { outcome: "approve" }, n % 2)),
    );
    for (const { status, text } of answers) expect([200, 409], text).toContain(status);
    const endsOf = () =>
      db.query<{ escalation_id: string; status: string; n: number }>(
        `select e.escalation_id, e.status, (select count(*)::int from audit a where a.org_id = e.org_id and a.intent_id = e.intent_id and a.type in ('reviewed', 'timed_out')) as n
       from escalations e where e.escalation_id = any($1)`,
        [ids],
      );
    await expect.poll(async () => (await endsOf()).filter(({ status }) => status === "pending")).toEqual([]);
    const ends = await endsOf();
    const end = new Map(ends.map((row) => [row.escalation_id, row]));
    for (const [n, { escalation_id }] of items.entries()) {
      expect(end.get(escalation_id)?.n).toBe(1);
      expect(end.get(escalation_id)?.status).toBe(answers[n]?.status === 200 ? "decided" : "timed_out");
    }
    expect(new Set(ends.map((row) => row.status))).toEqual(new Set(["decided", "timed_out"]));
  });
});

describe("reading", () => {
  test("a caller that waits on the other node gets the decision long before its wait ends", async () => {
    const own = await reviewedOrganization(db, urls[0]);
    const waited_ms: number[] = [];
    for (let round = 0; round < 5; round++) {
      const { path, intent_id } = await held(own);
      const waiting = get(`/v1/intents/${intent_id}/decision?wait=30`, own.agent, 1).then(({ json }) => ({
        outcome: json.decision.outcome,
        at_ms: performance.now(),
      }));
      await decide(path, own.reviewer, { outcome: "approve" });
      const ruled_ms = performance.now();
      const { outcome, at_ms } = await waiting;
      expect(outcome).toBe("approve");
      waited_ms.push(at_ms - ruled_ms);
    }
    // The wait lasts 30 s. `decision-waits.test.ts` shows that looks are 50 ms apart.
    expect(Math.min(...waited_ms)).toBeLessThan(10_000);
  });

  test("an escalation of test mode is listed only on request, and can be decided", async () => {
    const own = await reviewedOrganization(db, urls[0]);
    const { api_key } = await own.org.key({ role: "agent", environment: "test" });
    const { path, intent_id } = await held(own, heldBody, api_key);
    expect((await get("/v1/escalations", own.reviewer)).json.escalations).toEqual([]);
    expect((await get("/v1/escalations?mode=test", own.reviewer)).json.escalations).toHaveLength(1);
    expect((await decide(path, own.reviewer, { outcome: "approve" })).status).toBe(200);
    expect((await decisionOn(intent_id, own.admin)).outcome).toBe("approve");
  });
});
