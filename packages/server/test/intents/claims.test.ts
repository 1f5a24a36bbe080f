/** Source: docs/decisions/0036. */
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { blockedBody, heldBody, type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
let urls: [string, string];
let org: Reviewed;
beforeAll(async () => {
  urls = [(await serviceNode(database)).url, (await serviceNode(database)).url];
  org = await reviewedOrganization(database.db, urls[0], { packs: [] });
});

const send = (method: string, path: string, key: string, body?: unknown, node = 0, headers = {}) =>
  call(urls[node] ?? "", method, path, { key, body, headers });
const intent = { agent: { id: "a" }, action: { type: "other.pay", verb: "pay" }, payload: { content: { amount: 50 } } };
const none = { status: "none", at: null, by: null };

interface Submitted {
  readonly of?: Reviewed;
  readonly key?: string;
  readonly body?: object;
}

async function submitted({ of = org, key, body = { intent, claim: "required" } }: Submitted = {}) {
  const { json } = await send("POST", "/v1/intents", key ?? of.agent, body);
  const path = `/v1/intents/${json.intent_id}`;
  const claim = (nonce: string, by = of.agent, node = 0, headers = {}) =>
    send("POST", `${path}/claim`, by, { nonce }, node, headers);
  const report = (status: string, by = of.agent) => send("POST", `${path}/observations`, by, { status });
  const execution = async () => (await send("GET", `${path}/decision`, of.admin, undefined, 1)).json.decision.execution;
  return { decision: json.decision, path, claim, report, execution };
}

async function activate({ admin }: Reviewed, name: string, spec: object) {
  const document = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name }, spec };
  const { json } = await send("POST", "/v1/policies", admin, { policy: document }, 1);
  await send("POST", `/v1/policies/${json.policy.policy_id}/activate`, admin, { mode: "live" }, 1);
}

describe("execution", () => {
  test("is in the answer, in repeated answers, in the intent and in lists; the ETag covers it", async () => {
    const headers = { "Idempotency-Key": "job-7" };
    const body = { intent, claim: "required" };
    const first = await send("POST", "/v1/intents", org.agent, body, 0, headers);
    const { intent_id } = first.json;
    expect(first.json.decision).toMatchObject({ claim: "required", execution: none });
    const path = `/v1/intents/${intent_id}`;
    const read = await send("GET", `${path}/decision`, org.agent);
    const claimed = await send("POST", `${path}/claim`, org.agent, { nonce: "n" }, 1);
    const by = { type: "key", id: expect.stringMatching(/^key_/) };
    const execution = { status: "claimed", at: expect.any(String), by };
    expect([claimed.status, claimed.json.decision.execution]).toEqual([200, execution]);

    const again = await send("POST", "/v1/intents", org.agent, body, 1, headers);
    expect([again.status, again.json]).toEqual([200, { intent_id, ...claimed.json }]);
    // `claim` does not affect the decision, so a repetition without it is the same request.
    expect((await send("POST", "/v1/intents", org.agent, { intent }, 0, headers)).text).toBe(again.text);
    const etag = { "If-None-Match": read.headers.get("etag") };
    const changed = await send("GET", `${path}/decision`, org.agent, undefined, 0, etag);
    expect([changed.status, changed.json]).toEqual([200, claimed.json]);
    expect((await send("GET", path, org.agent)).json.decision.execution).toEqual(execution);
    expect((await send("GET", "/v1/intents?limit=1", org.agent)).json.intents[0].execution).toEqual(execution);
    const { audit } = (await send("GET", `${path}/audit`, org.admin)).json;
    expect(audit.map(({ type }: { type: string }) => type)).toEqual(["submitted", "decided", "claimed"]);
  });

  test("shows the newest report; a report of a skipped action replaces no other", async () => {
    const { report, execution } = await submitted({ body: { intent } });
    for (const [status, shown] of [
      ["skipped", "skipped"],
      ["failed", "failed"],
      ["executed", "executed"],
      ["skipped", "executed"],
    ])
      expect([(await report(status as string)).status, (await execution()).status]).toEqual([201, shown]);
  });

  test("a submission without a claim answers as before, and may be claimed", async () => {
    const { decision, claim } = await submitted({ body: { intent } });
    expect(decision).not.toHaveProperty("claim");
    expect((await claim("n")).status).toBe(200);
  });
});

test("32 claims at once on two nodes: one 200, whatever the Idempotency-Key; the winner may repeat it", async () => {
  const { claim, path } = await submitted();
  const nonces = Array.from({ length: 32 }, (_, n) => `process ${n}`);
  const answers = await Promise.all(
    nonces.map((nonce, n) => claim(nonce, org.agent, n % 2, { "Idempotency-Key": "same" })),
  );
  const won = answers.findIndex(({ status }) => status === 200);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(31).fill(409)]);
  const { at: claimed_at, by: claimed_by } = answers[won]?.json.decision.execution ?? {};
  const refused = answers.find(({ status }) => status === 409)?.json.error;
  expect(refused).toMatchObject({
    code: "already_claimed",
    details: [{ claimed_at, claimed_by, execution: "claimed" }],
  });
  expect((await claim(nonces[won] as string, org.agent, 1)).json).toEqual(answers[won]?.json);
  expect((await claim(nonces[won] as string, org.operator)).status).toBe(409);
  const { audit } = (await send("GET", `${path}/audit`, org.admin)).json;
  expect(audit.filter(({ type }: { type: string }) => type === "claimed")).toHaveLength(1);
});

test("a claim is passed on from step to step: one of 16 requests replaces a nonce, and none after a report or a freeze", async () => {
  const of = await reviewedOrganization(database.db, urls[0], { packs: [] });
  const { claim, path, report, execution } = await submitted({ of });
  const pass = (nonce: string, next_nonce: string, node = 0, key = of.agent) =>
    send("POST", `${path}/claim`, key, { nonce, next_nonce }, node);
  expect((await pass("first", "second")).json.error).toMatchObject({
    code: "state_conflict",
    details: [{ message: expect.stringContaining("Nobody has claimed") }],
  });
  await claim("first");
  const answers = await Promise.all(Array.from({ length: 16 }, (_, n) => pass("first", `process ${n}`, n % 2)));
  const won = answers.findIndex(({ status }) => status === 200);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(15).fill(409)]);
  expect((await pass("first", `process ${won}`, 1)).json).toEqual(answers[won]?.json);
  expect((await claim("first")).json.error.code).toBe("already_claimed");
  expect((await pass(`process ${won}`, "by another", 0, of.operator)).json.error.code).toBe("already_claimed");
  expect((await execution()).status).toBe("claimed");
  const { audit } = (await send("GET", `${path}/audit`, of.admin)).json;
  expect(audit.filter(({ type }: { type: string }) => type === "claimed")).toHaveLength(1);

  expect((await send("POST", "/v1/agents/a/freeze", of.admin, { mode: "block", reason: "odd" })).status).toBe(200);
  expect((await pass(`process ${won}`, "third")).json.error.code).toBe("frozen");
  expect((await send("POST", "/v1/agents/a/unfreeze", of.admin, { reason: "fine" })).status).toBe(200);
  await report("executed");
  expect((await pass(`process ${won}`, "third")).json.error).toMatchObject({
    code: "already_claimed",
    details: [{ execution: "executed" }],
  });
});

test("if a client dies between claim and action, the outcome is unknown until an operator reports it", async () => {
  const { claim, report, execution, decision } = await submitted();
  await claim("died");
  const earlier = "update claims set claimed_at = claimed_at - interval '16 minutes' where intent_id = $1";
  await database.db.system((query) => query(earlier, [decision.intent_id]));
  expect((await execution()).status).toBe("unknown");
  expect((await claim("restarted")).json.error.details[0].execution).toBe("unknown");
  expect((await report("executed", org.operator)).status).toBe(201);
  expect((await execution()).status).toBe("executed");
  expect((await claim("restarted")).json.error).toMatchObject({
    code: "already_claimed",
    details: [{ execution: "executed" }],
  });
});

test("the list of unknown outcomes has claims without a report after 15 minutes, newest first", async () => {
  const of = await reviewedOrganization(database.db, urls[0], { packs: [] });
  const listed = async (query = "") => {
    const { intents, next_cursor } = (await send("GET", `/v1/intents?execution=unknown${query}`, of.operator)).json;
    return { ids: intents.map(({ intent_id }: { intent_id: string }) => intent_id), next_cursor };
  };
  const [first, settled, second, waiting] = [1, 2, 3, 4].map(() => submitted({ of }));
  await submitted({ of });
  for (const each of [first, settled, second]) await (await each)?.claim("died");
  const earlier = "update claims set claimed_at = claimed_at - interval '16 minutes' where org_id = $1";
  await database.db.system((query) => query(earlier, [of.org.org_id]));
  await (await waiting)?.claim("works");
  await (await settled)?.report("skipped", of.operator);
  const ids = [await second, await first].map((each) => each?.decision.intent_id);
  expect((await listed()).ids).toEqual(ids.sort().reverse());
  const page = await listed("&limit=1");
  expect(page.ids).toEqual(ids.slice(0, 1));
  expect((await listed(`&limit=1&cursor=${page.next_cursor}`)).ids).toEqual(ids.slice(1));
  expect((await listed("&agent_id=other")).ids).toEqual([]);
  // A node of an older version writes only the report.
  await (await first)?.report("executed", of.operator);
  await database.db.system((query) => query("update claims set unsettled = true where org_id = $1", [of.org.org_id]));
  expect((await listed()).ids).toEqual([(await second)?.decision.intent_id]);
});

test("a skipped action may be claimed, one executed without a claim may not", async () => {
  const left = await submitted();
  await left.report("skipped");
  expect((await left.claim("n")).json.decision.execution.status).toBe("claimed");
  expect((await left.execution()).status).toBe("claimed");
  const done = await submitted();
  await done.report("executed");
  expect((await done.claim("n")).json.error.code).toBe("already_claimed");
});

describe("who may claim", () => {
  test("the submitter's key, its rotations, and operators; nobody else", async () => {
    const own = await reviewedOrganization(database.db, urls[0], { packs: [] });
    const { key_id, api_key } = (await send("POST", "/v1/api-keys", own.admin, { role: "agent" })).json;
    const { claim, path } = await submitted({ of: own, key: api_key });
    const stranger = await reviewedOrganization(database.db, urls[0], { packs: [] });
    for (const [key, status] of [
      [own.agent, 404],
      [stranger.admin, 404],
      [own.reviewer, 403],
    ] as const)
      expect((await claim("n", key)).status).toBe(status);
    const rotated = (await send("POST", `/v1/api-keys/${key_id}/rotate`, api_key)).json.api_key;
    expect((await claim("n", rotated)).status).toBe(200);
    expect((await (await submitted({ of: own })).claim("n", own.operator)).status).toBe(200);
    expect((await send("POST", `${path}/claim`, rotated, { nonce: "" })).status).toBe(400);
  });
});

describe("what may be claimed", () => {
  test("neither a blocked nor a held action; a reviewed one after its approval", async () => {
    const own = await reviewedOrganization(database.db, urls[0]);
    const blocked = await submitted({ of: own, body: blockedBody });
    expect((await blocked.claim("n")).json.error).toMatchObject({
      code: "state_conflict",
      details: [{ message: expect.stringContaining("is blocked") }],
    });
    const held = await submitted({ of: own, body: heldBody });
    expect((await held.claim("n")).json.error).toMatchObject({
      code: "state_conflict",
      details: [{ message: expect.stringContaining("waits for a review") }],
    });
    const ruling = { outcome: "approve_modified", modifications: [{ op: "replace", path: "/replicas", value: 1 }] };
    await send("POST", `/v1/escalations/${held.decision.escalation_id}/decision`, own.reviewer, ruling);
    const claimed = (await held.claim("n")).json.decision;
    expect([claimed.modified_content.replicas, claimed.execution.status]).toEqual([1, "claimed"]);
  });

  test("an action that an override approved", async () => {
    const own = await reviewedOrganization(database.db, urls[0], { packs: [] });
    await activate(own, "no-payments", { when: "true", effect: "block" });
    const { decision } = await submitted({ of: own });
    const made = await send("POST", `/v1/intents/${decision.intent_id}/override`, own.operator, { reason: "seen" });
    const retry = await submitted({ of: own });
    expect([made.status, retry.decision.outcome]).toEqual([201, "approve"]);
    expect((await retry.claim("n")).status).toBe(200);
  });

  test.each([
    ["blocks", { when: "true", effect: "block", message: "Not today" }, "Not today"],
    ["holds", { when: "true", effect: "escalate" }, "This rule now holds the action"],
    [
      "changes",
      { when: "true", effect: "approve_modified", modify: [{ op: "cap", path: "/amount", value: "10.0" }] },
      "This policy now changes",
    ],
  ])("refuses an action that a current rule %s; the first claim remains", async (_title, spec, message) => {
    const own = await reviewedOrganization(database.db, urls[0], { packs: [] });
    const [late, early] = [await submitted({ of: own }), await submitted({ of: own })];
    expect((await early.claim("n")).status).toBe(200);
    await activate(own, "since", spec);
    const { error } = (await late.claim("n")).json;
    expect(error).toMatchObject({ code: "blocked_now", details: [{ policy: "since" }] });
    expect(error.details[0].message).toContain(message);
    expect((await early.claim("n")).status).toBe(200);
    expect(await late.execution()).toEqual(none);
  });

  test("everything in shadow mode, which enforces nothing", async () => {
    const own = await reviewedOrganization(database.db, urls[0]);
    const { json } = await send("POST", "/v1/intents?mode=shadow", own.agent, blockedBody);
    expect((await send("POST", `/v1/intents/${json.intent_id}/claim`, own.agent, { nonce: "n" })).status).toBe(200);
  });
});
