import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { call } from "../../testing/nodes/http-node.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";
import { blockedBody, type Reviewed, reviewedOrganization } from "../../testing/people/review.ts";
import { listen, told } from "../../testing/people/told.ts";

const database = await testDatabase();
const { db } = database;
let urls: string[];
beforeAll(async () => {
  urls = [(await serviceNode(database)).url, (await serviceNode(database)).url];
});

const post = (path: string, key: string, body: unknown, node = 0, headers = {}) =>
  call(urls[node] ?? "", "POST", path, { key, body, headers });
const get = (path: string, key: string) => call(urls[0] ?? "", "GET", path, { key });

/** Blocks actions without a matching policy. One person may override that. */
const blocking = () => reviewedOrganization(db, urls[0] ?? "", { default_verdict: "block", packs: [] });
const plain = { intent: blockedBody.intent };

async function blocked(org: Reviewed, body: object = plain, key = org.agent): Promise<string> {
  const { json } = await post("/v1/intents", key, body);
  expect(json.decision).toMatchObject({ verdict: "block", human_override_id: null });
  return json.intent_id;
}
const override = (org: Reviewed, intent_id: string, key = org.operator, node = 0, headers = {}) =>
  post(`/v1/intents/${intent_id}/override`, key, { reason: "seen it" }, node, headers);
const retry = async (org: Reviewed, body: object = plain, node = 0, key = org.agent) =>
  (await post("/v1/intents", key, body, node)).json.decision;
const revoke = (key: string, override_id: string) =>
  call(urls[1] ?? "", "DELETE", `/v1/overrides/${override_id}`, { key });
const audit = async (org: Reviewed, intent_id: string) =>
  (await get(`/v1/intents/${intent_id}/audit`, org.admin)).json.audit.map((row: { type: string }) => row.type);

describe("an override", () => {
  test("approves the next retry of the same action once, and the decision and the trail say so", async () => {
    const org = await blocking();
    const intent_id = await blocked(org);
    const { status, json } = await override(org, intent_id);
    expect(status).toBe(201);
    expect(json.override).toMatchObject({
      intent_id,
      status: "active",
      policies_overridden: ["membrane.default_verdict"],
    });
    const { approved_at, expires_at, override_id } = json.override;
    expect(Date.parse(expires_at) - Date.parse(approved_at)).toBe(86_400_000);
    expect(expires_at.slice(19)).toBe(approved_at.slice(19));

    const approved = await retry(org);
    expect(approved).toMatchObject({ verdict: "approve", outcome: "approve", human_override_id: override_id });
    expect(await retry(org)).toMatchObject({ verdict: "block", human_override_id: null });
    const [listed] = (await get("/v1/overrides", org.reviewer)).json.overrides;
    expect(listed).toEqual({ ...json.override, status: "consumed", consumed_by: approved.intent_id });
    const of = async (id: string) => (await get(`/v1/overrides?intent_id=${id}`, org.reviewer)).json.overrides;
    expect(await of(intent_id)).toEqual([listed]);
    expect(await of(approved.intent_id)).toEqual([]);
    expect(await audit(org, intent_id)).toEqual(["submitted", "decided", "overridden"]);
    expect(await audit(org, approved.intent_id)).toEqual(["submitted", "decided", "override_spent"]);
  });

  test("needs a stopped action, because no fingerprint of an approved one is stored", async () => {
    const org = await blocking();
    const stopped = await blocked(org);
    const free = await reviewedOrganization(db, urls[0] ?? "", { packs: [] });
    const { json } = await post("/v1/intents", free.agent, plain);
    expect(json.decision.verdict).toBe("approve");
    const fingerprints = await db.system((query) =>
      query<{ intent_id: string; kept: boolean }>(
        "select intent_id, fingerprint is not null as kept from intents where intent_id = any ($1)",
        [[stopped, json.intent_id]],
      ),
    );
    const kept = new Map(fingerprints.map((each) => [each.intent_id, each.kept]));
    expect(kept).toEqual(
      new Map([
        [stopped, true],
        [json.intent_id, false],
      ]),
    );
  });

  test("100 concurrent retries on two nodes, and two batches of 50: exactly one is approved", async () => {
    for (const batch of [false, true]) {
      const org = await blocking();
      const { json } = await override(org, await blocked(org));
      const one = async (n: number) => [await retry(org, plain, n % 2)];
      const many = async (n: number) => {
        const answer = await post("/v1/intents/batch", org.agent, { intents: Array(50).fill(plain) }, n);
        return answer.json.results.map((each: { decision: unknown }) => each.decision);
      };
      const work = batch ? [many(0), many(1)] : Array.from({ length: 100 }, (_, n) => one(n));
      const decisions: { verdict: string; human_override_id: string | null }[] = (await Promise.all(work)).flat();
      expect(decisions).toHaveLength(100);
      const approved = decisions.filter((each) => each.verdict !== "block");
      expect(approved).toMatchObject([{ verdict: "approve", human_override_id: json.override.override_id }]);
      expect(decisions.filter((each) => each.human_override_id !== null)).toHaveLength(1);
    }
  });

  test("30 concurrent ones for different actions on two nodes are all given, and each approves its own action", async () => {
    const org = await blocking();
    const bodies = Array.from({ length: 30 }, (_, n) => ({
      intent: { ...plain.intent, payload: { content: { text: "hello", copies: n } } },
    }));
    const ids = await Promise.all(bodies.map((body) => blocked(org, body)));
    const given = await Promise.all(ids.map((id, n) => override(org, id, org.operator, n % 2)));
    expect(given.map(({ status }) => status)).toEqual(ids.map(() => 201));
    const decisions = await Promise.all(bodies.map((body, n) => retry(org, body, n % 2)));
    expect(decisions.map((each) => each.human_override_id)).toEqual(given.map(({ json }) => json.override.override_id));
  });

  test("two overrides of one action approve once each", async () => {
    const org = await blocking();
    const [a, b] = [await blocked(org), await blocked(org)];
    await override(org, a);
    await override(org, b);
    const decisions = await Promise.all(Array.from({ length: 20 }, (_, n) => retry(org, plain, n % 2)));
    const spent = decisions.map((each) => each.human_override_id).filter((each) => each !== null);
    expect(new Set(spent).size).toBe(2);
    expect(spent).toHaveLength(2);
  });

  test.each([
    ["another agent", { intent: { ...plain.intent, agent: { id: "agent-2" } } }],
    ["another verb", { intent: { ...plain.intent, action: { ...plain.intent.action, verb: "send_mail" } } }],
    [
      "another target",
      {
        intent: { ...plain.intent, action: { ...plain.intent.action, target: { type: "person", identifier: "bob" } } },
      },
    ],
    ["another content", { intent: { ...plain.intent, payload: { content: { text: "hello", copies: 3 } } } }],
  ])("does not count for %s", async (_title, body) => {
    const org = await blocking();
    await override(org, await blocked(org));
    expect((await retry(org, body)).verdict).toBe("block");
    expect((await retry(org)).verdict).toBe("approve");
  });

  test("counts for the same action with another order of keys, spelling of numbers, summary, session or context", async () => {
    const { agent, action } = plain.intent;
    const content = '"content":{"copies":2.0,"text":"hello"}';
    const summary = '"summary":"once more, please"';
    const about = { ...agent, framework: "other", session_id: "s-2" };
    const context = '"context":{"contract_version":"1","facts":{"environmental":{"protocol":"https"}}}';
    for (const text of [
      `{"intent":{"payload":{${content}},"action":${JSON.stringify(action)},"agent":${JSON.stringify(agent)}}}`,
      `{${context},"intent":{"payload":{${content},${summary}},"action":${JSON.stringify(action)},"agent":${JSON.stringify(about)}}}`,
    ]) {
      const org = await blocking();
      await override(org, await blocked(org));
      const headers = { "Idempotency-Key": "another" };
      const { json } = await call(urls[1] ?? "", "POST", "/v1/intents", { key: org.agent, body: text, headers });
      expect(json.decision.verdict).toBe("approve");
    }
  });

  test("is valid for 24 hours, excluding the end", async () => {
    const org = await blocking();
    const { json } = await override(org, await blocked(org));
    const shift = (interval: string) =>
      db.system((query) =>
        query("update overrides set expires_at = clock_timestamp() + $2::interval where override_id = $1", [
          json.override.override_id,
          interval,
        ]),
      );
    await shift("0 s");
    expect((await retry(org)).verdict).toBe("block");
    expect((await get("/v1/overrides", org.reviewer)).json.overrides[0].status).toBe("expired");
    expect((await revoke(org.operator, json.override.override_id)).json.error.code).toBe("state_conflict");
    await shift("60 s");
    expect((await retry(org)).verdict).toBe("approve");
  });

  test("approves nothing if it expires or is revoked before the retry is committed", async () => {
    for (const change of ["expires_at = clock_timestamp()", "status = 'revoked'"]) {
      const org = await blocking();
      await override(org, await blocked(org));
      // The node then knows the override.
      await retry(org, { intent: { ...plain.intent, agent: { id: "agent-2" } } });
      let retried: ReturnType<typeof retry> | undefined;
      await db.system(async (query) => {
        await query("select from org_heads where org_id = $1 for update", [org.org.org_id]);
        const [me] = await query<{ pid: number }>("select pg_backend_pid() as pid");
        retried = retry(org);
        const waiting = "select from pg_locks where not granted and $1::integer = any(pg_blocking_pids(pid))";
        await expect.poll(async () => (await db.query(waiting, [me?.pid])).length).toBeGreaterThan(0);
        await query(`update overrides set ${change} where org_id = $1`, [org.org.org_id]);
      });
      expect(await retried).toMatchObject({ verdict: "block", human_override_id: null });
    }
  });

  test("overrides only the named policies: another blocking policy still blocks, and the override is not spent", async () => {
    const org = await blocking();
    await override(org, await blocked(org));
    await call(urls[0] ?? "", "PATCH", `/v1/membranes/${org.membrane_id}`, {
      key: org.admin,
      body: { packs: ["security"] },
    });
    expect(await retry(org, blockedBody)).toMatchObject({ verdict: "block", human_override_id: null });
    expect((await get("/v1/overrides", org.reviewer)).json.overrides[0].status).toBe("active");
  });

  test("the oldest of those that override all blocks is spent: one that overrides less does not interfere", async () => {
    const org = await blocking();
    const less: string[] = [];
    for (const id of [await blocked(org), await blocked(org)])
      less.push((await override(org, id)).json.override.override_id);
    await call(urls[0] ?? "", "PATCH", `/v1/membranes/${org.membrane_id}`, {
      key: org.admin,
      body: { packs: ["security"] },
    });
    const intent_id = await blocked(org, blockedBody);
    await override(org, intent_id);
    const { override_id } = (await override(org, intent_id, org.admin)).json.override;
    const intents = [blockedBody, blockedBody];
    const { results } = (await post("/v1/intents/batch", org.agent, { intents }, 1)).json;
    expect(results.map((each: { decision: unknown }) => each.decision)).toMatchObject([
      { verdict: "approve", human_override_id: override_id },
      { verdict: "block", human_override_id: null },
    ]);
    await call(urls[0] ?? "", "PATCH", `/v1/membranes/${org.membrane_id}`, { key: org.admin, body: { packs: [] } });
    for (const id of less) expect(await retry(org)).toMatchObject({ verdict: "approve", human_override_id: id });
    expect(await retry(org)).toMatchObject({ verdict: "block", human_override_id: null });
  });

  test("retries in shadow or test mode do not spend it", async () => {
    const org = await blocking();
    await override(org, await blocked(org));
    const trial = (await org.org.key({ role: "agent", environment: "test" })).api_key;
    expect((await post("/v1/intents?mode=shadow", org.agent, plain)).json.decision.human_override_id).toBeNull();
    expect((await retry(org, plain, 0, trial)).human_override_id).toBeNull();
    expect((await retry(org)).verdict).toBe("approve");
  });

  test("is sent to webhooks when it is given, and so is the approval that it makes", async () => {
    const org = await blocking();
    await listen(db, org.org.org_id);
    const intent_id = await blocked(org);
    const given = (await override(org, intent_id)).json.override;
    const approved = await retry(org);
    const events = await told<{ event_type: string; data: Record<string, unknown> }>(db, org.org.org_id);
    expect(events.map((each) => each.event_type)).toEqual([
      "decision.blocked",
      "decision.overridden",
      "decision.approved",
    ]);
    const { override_id, agent_id, approved_by, approved_at, expires_at, policies_overridden } = given;
    expect(events[1]?.data).toEqual({
      override_id,
      agent_id,
      approved_by,
      approved_at,
      expires_at,
      policies_overridden,
    });
    expect(events[1]).toMatchObject({ intent_id, decision_id: given.decision_id });
    expect(events[2]?.data).toMatchObject({ intent_id: approved.intent_id, human_override_id: override_id });
  });
});

describe("permissions", () => {
  test("two_person: 202 first; a different person completes it, and only then a retry passes", async () => {
    const org = await reviewedOrganization(db, urls[0] ?? "", { packs: ["security"] });
    const intent_id = await blocked(org, blockedBody);
    await listen(db, org.org.org_id);
    const first = await override(org, intent_id);
    expect(first.status).toBe(202);
    expect(await told(db, org.org.org_id)).toEqual([]);
    expect(first.json.override).toMatchObject({ status: "pending_second", approved_at: null, expires_at: null });
    expect((await override(org, intent_id)).json.error.code).toBe("state_conflict");
    expect((await retry(org, blockedBody)).verdict).toBe("block");
    const second = await override(org, intent_id, org.admin, 1);
    expect(second.status).toBe(201);
    expect(second.json.override).toMatchObject({ status: "active", approved_by: first.json.override.approved_by });
    expect(second.json.override.seconded_by).not.toBe(second.json.override.approved_by);
    const events = await told<{ event_type: string }>(db, org.org.org_id);
    expect(events.map((each) => each.event_type)).toEqual(["decision.blocked", "decision.overridden"]);
    expect((await retry(org, blockedBody)).human_override_id).toBe(second.json.override.override_id);
  });

  test("two_person: the second person has 24 hours, and the override is valid for 24 hours from then on", async () => {
    const org = await reviewedOrganization(db, urls[0] ?? "", { packs: ["security"] });
    const intent_id = await blocked(org, blockedBody);
    const begunAgo = (override_id: string, interval: string) =>
      db.system((query) =>
        query("update overrides set created_at = clock_timestamp() - $2::interval where override_id = $1", [
          override_id,
          interval,
        ]),
      );
    const listed = async (at: number) => (await get("/v1/overrides", org.reviewer)).json.overrides[at];

    const lapsed = (await override(org, intent_id)).json.override.override_id;
    await begunAgo(lapsed, "24 hours");
    expect(await listed(0)).toMatchObject({ override_id: lapsed, status: "expired" });
    expect((await revoke(org.operator, lapsed)).json.error.code).toBe("state_conflict");
    const first = await override(org, intent_id, org.admin);
    expect([first.status, first.json.override.status]).toEqual([202, "pending_second"]);
    const { override_id } = first.json.override;
    expect(override_id).not.toBe(lapsed);

    await begunAgo(override_id, "23:59:00");
    const { approved_at, expires_at } = (await override(org, intent_id)).json.override;
    expect(Date.parse(expires_at) - Date.parse(approved_at)).toBe(86_400_000);
    await begunAgo(override_id, "25 hours");
    expect((await override(org, intent_id)).json.error.code).toBe("state_conflict");
    expect(await listed(0)).toMatchObject({ override_id, status: "active" });
    expect((await retry(org, blockedBody)).human_override_id).toBe(override_id);
  });

  test("override: never answers 409 naming the policy; so does an action without an enforced block", async () => {
    const org = await reviewedOrganization(db, urls[0] ?? "", { packs: ["account"] });
    const intent = {
      agent: { id: "a" },
      action: { type: "payment.transfer", verb: "pay" },
      payload: { content: { amount_usd: 500 } },
    };
    const facts = { entity_state: { account_status: "active", account_balance_usd: 100 } };
    const refused = await override(org, await blocked(org, { intent, context: { contract_version: "1", facts } }));
    expect([refused.status, refused.json.error.code]).toEqual([409, "override_not_allowed"]);
    expect(refused.json.error.details[0].policy).toBe("account.sufficient-balance");
    const approved = await retry(org);
    expect((await override(org, approved.intent_id)).json.error.code).toBe("override_not_allowed");
    const other = await blocking();
    const shadow = (await post("/v1/intents?mode=shadow", other.agent, plain)).json.intent_id;
    expect((await override(other, shadow)).json.error.code).toBe("override_not_allowed");
  });

  test("a policy that comes to forbid overrides refuses them on every node, also for earlier blocks", async () => {
    const org = await reviewedOrganization(db, urls[0] ?? "", { packs: [] });
    const policy = (override: string) => ({
      policy: {
        apiVersion: "countersign/v1",
        kind: "Policy",
        metadata: { name: "no-mails" },
        spec: { when: "true", effect: "block", override },
      },
    });
    const { policy_id } = (await post("/v1/policies", org.admin, policy("reviewer"))).json.policy;
    const activate = (node: number) => post(`/v1/policies/${policy_id}/activate`, org.admin, { mode: "live" }, node);
    expect((await activate(0)).status).toBe(200);
    const intent_id = await blocked(org);
    const changed = await call(urls[1] ?? "", "PUT", `/v1/policies/${policy_id}`, {
      key: org.admin,
      body: policy("never"),
    });
    expect([changed.status, (await activate(1)).status]).toEqual([200, 200]);
    expect((await override(org, intent_id)).json.error.code).toBe("override_not_allowed");
  });

  test("403 for the submitter and below operator, 404 for another organization's, 409 twice, 400 without a reason", async () => {
    const org = await blocking();
    const intent_id = await blocked(org);
    expect((await override(org, intent_id, org.reviewer)).status).toBe(403);
    expect((await override(org, intent_id, org.agent)).status).toBe(403);
    expect((await override(org, await blocked(org, plain, org.operator))).json.error.code).toBe("self_review");
    const other = await blocking();
    expect((await override(other, intent_id)).status).toBe(404);
    expect((await post(`/v1/intents/${intent_id}/override`, org.operator, {})).status).toBe(400);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => override(org, intent_id, org.operator, n % 2)),
    );
    expect(answers.map((each) => each.status).sort()).toEqual([201, ...Array(9).fill(409)]);
  });

  test("an Idempotency-Key returns the first answer again", async () => {
    const org = await blocking();
    const intent_id = await blocked(org);
    const headers = { "Idempotency-Key": "override-1" };
    const first = await override(org, intent_id, org.operator, 0, headers);
    const again = await override(org, intent_id, org.operator, 1, headers);
    expect([again.status, again.text]).toEqual([200, first.text]);
  });

  test("a revoked override approves nothing and stays revoked; foreign and unknown ones are 404", async () => {
    const org = await blocking();
    const intent_id = await blocked(org);
    const { override_id } = (await override(org, intent_id)).json.override;
    expect((await revoke(org.reviewer, override_id)).status).toBe(403);
    expect((await revoke((await blocking()).operator, override_id)).status).toBe(404);
    expect((await revoke(org.operator, "ovr_00000000000000000000000000")).status).toBe(404);
    expect((await revoke(org.operator, override_id)).status).toBe(204);
    expect((await revoke(org.operator, override_id)).json.error.code).toBe("state_conflict");
    expect((await retry(org)).verdict).toBe("block");
    expect(await audit(org, intent_id)).toEqual(["submitted", "decided", "overridden", "override_revoked"]);
    expect((await override(org, intent_id)).status).toBe(201);
    await retry(org);
    const [newest] = (await get("/v1/overrides?agent_id=agent-1&limit=1", org.reviewer)).json.overrides;
    expect((await revoke(org.operator, newest.override_id)).json.error.code).toBe("state_conflict");
  });
});
