import { limits } from "@countersign/contract";
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { call } from "../../testing/nodes/http-node.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";
import { activatePayPolicy, type Reviewed, reviewedOrganization } from "../../testing/people/review.ts";

const database = await testDatabase();
const { db } = database;
let urls: string[];
beforeAll(async () => {
  urls = [(await serviceNode(database)).url, (await serviceNode(database)).url];
});

const send = (method: string, path: string, key: string, body?: unknown, node = 0, headers = {}) =>
  call(urls[node] ?? "", method, path, { key, body, headers });

const grants = { times_max: 50, hours_max: 24 };
const holds = { when: "params.amount > 10.0", escalation: { grants } };

/** Rule `large` holds payments above 10 and permits grants. */
async function granting(settings: Parameters<typeof activatePayPolicy>[3] = holds): Promise<Reviewed> {
  const org = await reviewedOrganization(db, urls[0] ?? "", { packs: [], default_verdict: "approve" });
  await activatePayPolicy(urls[0] ?? "", org, "large", settings);
  return org;
}

const payment = (amount: number, intent: object = {}) => ({
  intent: {
    agent: { id: "bot", session_id: "s-1" },
    action: { type: "payment.transfer", verb: "pay", target: { identifier: "acme" } },
    payload: { content: { amount } },
    ...intent,
  },
});
const pay = async (org: Reviewed, amount: number, node = 0, headers = {}) =>
  (await send("POST", "/v1/intents", org.agent, payment(amount), node, headers)).json.decision;
const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();

const scope = { agent_id: "bot", verb: "pay", target: "acme", at_most: [{ path: "/amount", value: 500 }] };
const terms = { scope, times: 3, reason: "the usual supplier" };
/** Holds a payment of 100, and asks for a grant from it. */
async function ask(org: Reviewed, change: object = {}, key = org.reviewer, headers = {}) {
  const { intent_id } = await pay(org, 100);
  const body = { intent_id, ...terms, until: inHours(2), ...change };
  return send("POST", "/v1/grants", key, body, 1, headers);
}
async function granted(org: Reviewed, change: object = {}) {
  const { status, json } = await ask(org, change);
  if (status !== 201) throw new Error(JSON.stringify(json));
  return json.grant;
}

describe("a grant", () => {
  test("approves what its scope covers, up to its number of times, and the decision, the trail and the grant say so", async () => {
    const org = await granting();
    const grant = await granted(org, { times: 2 });
    expect(grant).toMatchObject({ ...terms, times: 2, times_used: 0, status: "active", policies: ["large"] });
    expect(grant.summary).toContain("2 times. Free: the session, all other parameters.");

    expect((await pay(org, 501)).verdict).toBe("escalate");
    const first = await pay(org, 500);
    const { grant_id, expires_at } = grant;
    expect(first).toMatchObject({ verdict: "approve", outcome: "approve", status: "final", human_override_id: null });
    expect(first).toMatchObject({ grant_id, escalation_id: null, approval_expires_at: expires_at });
    expect(first.reasons).toMatchObject([
      { policy: "grant", effect: "none", message: expect.stringContaining(`${grant_id} by ${grant.granted_by}`) },
    ]);
    const second = await pay(org, 20, 1);
    expect(second.grant_id).toBe(grant_id);
    const third = await pay(org, 20);
    expect(third).toMatchObject({ verdict: "escalate" });
    expect(third.grant_id).toBeUndefined();

    const { json } = await send("GET", `/v1/grants/${grant_id}`, org.reviewer);
    expect(json.grant).toMatchObject({ status: "spent", times_used: 2 });
    expect(json.uses.map((use: { intent_id: string }) => use.intent_id)).toEqual([first.intent_id, second.intent_id]);
    const audit = async (intent_id: string) =>
      (await send("GET", `/v1/intents/${intent_id}/audit`, org.admin)).json.audit.map(
        ({ type }: { type: string }) => type,
      );
    expect(await audit(grant.intent_id)).toEqual(["submitted", "decided", "escalated", "granted"]);
    expect(await audit(first.intent_id)).toEqual(["submitted", "decided", "grant_used"]);
    const listed = async (query: string) => (await send("GET", `/v1/grants${query}`, org.reviewer)).json.grants;
    expect(await listed("")).toMatchObject([{ grant_id, status: "spent" }]);
    expect(await listed("?live=true")).toEqual([]);
    expect(await listed("?agent_id=BOT")).toHaveLength(1);
    expect(await listed("?agent_id=other")).toEqual([]);
  });

  test("with 3 uses left approves exactly 3 of 100 concurrent submissions on two nodes, and none on a new node", async () => {
    const org = await granting();
    const { grant_id } = await granted(org);
    const single = Array.from({ length: 50 }, (_, n) => pay(org, 11 + n, n % 2));
    const batch = send("POST", "/v1/intents/batch", org.agent, { intents: Array(50).fill(payment(30)) }, 1).then(
      ({ json }) => json.results.map((each: { decision: unknown }) => each.decision),
    );
    const decisions = [...(await Promise.all(single)), ...(await batch)];
    expect(decisions).toHaveLength(100);
    const approved = decisions.filter(({ verdict }) => verdict === "approve");
    expect(approved.map((each) => each.grant_id)).toEqual([grant_id, grant_id, grant_id]);
    urls[0] = (await serviceNode(database)).url;
    expect((await pay(org, 20)).verdict).toBe("escalate");
  });

  test("is used once by a repeated request", async () => {
    const org = await granting();
    const { grant_id } = await granted(org, { times: 2 });
    const once = { "Idempotency-Key": "payment-1" };
    const [a, b] = await Promise.all([pay(org, 20, 0, once), pay(org, 20, 1, once)]);
    expect(a).toEqual(b);
    const { json } = await send("GET", `/v1/grants/${grant_id}`, org.reviewer);
    expect(json.uses).toMatchObject([{ intent_id: a.intent_id }]);
  });

  test("is made once by a repeated request", async () => {
    const org = await granting();
    const { intent_id } = await pay(org, 100);
    const body = { intent_id, ...terms, until: inHours(2) };
    const make = () => send("POST", "/v1/grants", org.reviewer, body, 0, { "Idempotency-Key": "grant-1" });
    expect((await make()).json).toEqual((await make()).json);
    expect((await send("GET", "/v1/grants", org.reviewer)).json.grants).toHaveLength(1);
  });

  test("approves nothing once it is revoked, on any node, and can be revoked once", async () => {
    const org = await granting();
    const { grant_id } = await granted(org);
    const revoke = (key: string) => send("DELETE", `/v1/grants/${grant_id}`, key);
    expect((await revoke(org.agent)).status).toBe(403);
    expect((await revoke(org.reviewer)).status).toBe(204);
    expect((await pay(org, 20, 1)).verdict).toBe("escalate");
    expect(await revoke(org.reviewer)).toMatchObject({ status: 409, json: { error: { code: "state_conflict" } } });
    const { json } = await send("GET", `/v1/grants/${grant_id}`, org.operator);
    expect(json.grant).toMatchObject({ status: "revoked", times_used: 0, revoked_by: json.grant.granted_by });
  });

  test("approves nothing once its time is over by the database's clock", async () => {
    const org = await granting();
    const { grant_id } = await granted(org);
    await db.system((query) =>
      query("update grants set expires_at = statement_timestamp() where grant_id = $1", [grant_id]),
    );
    expect((await pay(org, 20)).verdict).toBe("escalate");
    expect((await send("GET", `/v1/grants/${grant_id}`, org.reviewer)).json.grant.status).toBe("expired");
  });

  test("covers nothing once its rule has changed, or while its agent is frozen", async () => {
    const org = await granting();
    const { grant_id } = await granted(org);
    await send("POST", "/v1/agents/bot/freeze", org.operator, { mode: "block", reason: "wait" });
    expect((await pay(org, 20)).verdict).toBe("block");
    await send("POST", "/v1/agents/bot/unfreeze", org.admin, { reason: "go on" });
    expect((await pay(org, 20)).verdict).toBe("approve");
    const { policies } = (await send("GET", "/v1/policies", org.admin)).json;
    const { policy_id } = policies.find(({ name }: { name: string }) => name === "large");
    const document = {
      apiVersion: "countersign/v1",
      kind: "Policy",
      metadata: { name: "large" },
      spec: { match: { verbs: ["pay"] }, ...holds, when: "params.amount > 11.0", effect: "escalate" },
    };
    expect((await send("PUT", `/v1/policies/${policy_id}`, org.admin, { policy: document })).status).toBe(200);
    await send("POST", `/v1/policies/${policy_id}/activate`, org.admin, { mode: "live" });
    expect((await pay(org, 20)).verdict).toBe("escalate");
    expect((await send("GET", `/v1/grants/${grant_id}`, org.reviewer)).json.grant.status).toBe("rule_changed");
  });

  test("lets its action be claimed, until the rules hold the action for others", async () => {
    const org = await granting();
    await granted(org);
    const [a, b] = [await pay(org, 20), await pay(org, 20)];
    const claim = (intent_id: string) =>
      send("POST", `/v1/intents/${intent_id}/claim`, org.agent, { nonce: `n-${intent_id}` });
    expect((await claim(a.intent_id)).status).toBe(200);
    await activatePayPolicy(urls[0] ?? "", org, "further", { when: "true", escalation: {} });
    expect(await claim(b.intent_id)).toMatchObject({ status: 409, json: { error: { code: "blocked_now" } } });
  });

  test("covers no other key, and no action of another rule or of a block", async () => {
    const org = await granting();
    await granted(org);
    const other = await org.org.key({ role: "agent" });
    const { json } = await send("POST", "/v1/intents", other.api_key, payment(20));
    expect(json.decision.verdict).toBe("escalate");
    await activatePayPolicy(urls[0] ?? "", org, "further", { when: "params.amount > 30.0", escalation: { grants } });
    expect((await pay(org, 20)).verdict).toBe("approve");
    expect((await pay(org, 40)).verdict).toBe("escalate");
    await activatePayPolicy(urls[0] ?? "", org, "stop", { when: "true", escalation: {}, effect: "block" });
    expect((await pay(org, 20)).verdict).toBe("block");
  });
});

describe("a grant is refused", () => {
  test.each<[string, object, number, string]>([
    ["a scope that does not cover the action", { scope: { ...scope, target: "other" } }, 400, "invalid_request"],
    [
      "a bound below the action",
      { scope: { ...scope, at_most: [{ path: "/amount", value: 99 }] } },
      400,
      "invalid_request",
    ],
    ["more times than the rule permits", { times: 51 }, 400, "invalid_request"],
    ["more hours than the rule permits", { until: inHours(25) }, 400, "invalid_request"],
    ["a time that is over", { until: inHours(-1) }, 400, "invalid_request"],
    ["an unknown action", { intent_id: "int_01JABCDEFGHJKMNPQRSTVWXYZ0" }, 404, "not_found"],
  ])("for %s", async (_title, change, status, code) => {
    expect(await ask(await granting(), change)).toMatchObject({ status, json: { error: { code } } });
  });

  test("to agents, to those who submitted, and to those whom the rule does not name", async () => {
    const org = await granting({ ...holds, escalation: { grants, reviewers: ["role:operator"] } });
    const code = "forbidden";
    expect(await ask(org, {}, org.agent)).toMatchObject({ status: 403, json: { error: { code } } });
    expect(await ask(org, {}, org.reviewer)).toMatchObject({ status: 403, json: { error: { code } } });
    const { json } = await send("POST", "/v1/intents", org.operator, payment(100));
    const own = await ask(org, { intent_id: json.intent_id }, org.operator);
    expect(own).toMatchObject({ status: 403, json: { error: { code: "self_review" } } });
    expect((await ask(org, {}, org.operator)).status).toBe(201);
  });

  test("where the rule permits none", async () => {
    const org = await granting({ when: "true", escalation: {} });
    expect(await ask(org)).toMatchObject({
      status: 403,
      json: { error: { code: "forbidden", details: [{ message: expect.stringContaining("permits no grants") }] } },
    });
  });

  test("for an action that is not held", async () => {
    const org = await granting();
    const { intent_id } = await pay(org, 5);
    const code = "state_conflict";
    expect(await ask(org, { intent_id })).toMatchObject({ status: 409, json: { error: { code } } });
  });

  test("beyond the most live ones of an agent and verb", async () => {
    const org = await granting();
    const { intent_id } = await pay(org, 100);
    const body = { intent_id, ...terms, until: inHours(2) };
    const make = () => send("POST", "/v1/grants", org.reviewer, body);
    for (let n = 0; n < limits.grants_live_max; n += 1) expect((await make()).status).toBe(201);
    expect(await make()).toMatchObject({ status: 409, json: { error: { code: "state_conflict" } } });
  });

  test("to other organizations, as if there were none", async () => {
    const [org, other] = [await granting(), await granting()];
    const { grant_id } = await granted(org);
    for (const method of ["GET", "DELETE"])
      expect((await send(method, `/v1/grants/${grant_id}`, other.admin)).status).toBe(404);
    expect((await send("GET", "/v1/grants", other.admin)).json.grants).toEqual([]);
  });
});
