/** See docs/decisions/0034-freezes.md. */
import { beforeAll, describe, expect, test } from "vitest";
import { verifyOrganization } from "../../operations/audit/verify-organization.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { call } from "../../testing/nodes/http-node.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";
import { blockedBody, deadlineIn, heldBody, type Reviewed, reviewedOrganization } from "../../testing/people/review.ts";

const database = await testDatabase();
const { db } = database;
let urls: [string, string];
beforeAll(async () => {
  urls = [(await serviceNode(database)).url, (await serviceNode(database)).url];
});

const post = (path: string, key: string, body?: unknown) => call(urls[0], "POST", path, { key, body });
const get = (path: string, key: string) => call(urls[0], "GET", path, { key });
const plain = (agent_id = "agent-1") => ({ intent: { agent: { id: agent_id }, action: { verb: "read_page" } } });
const submit = async (key: string, body: object = plain(), query = "") =>
  (await call(urls[1], "POST", `/v1/intents${query}`, { key, body })).json.decision;

const open = () => reviewedOrganization(db, urls[0], { packs: [] });
const held = () => reviewedOrganization(db, urls[0]);
const by = (mode: "block" | "escalate", reason = "it pays twice") => ({ mode, reason });
const freezeAgent = (of: Reviewed, mode: "block" | "escalate" = "block", agent = "agent-1", key = of.operator) =>
  post(`/v1/agents/${encodeURIComponent(agent)}/freeze`, key, by(mode));
const unfreezeAgent = (key: string, agent = "agent-1") =>
  post(`/v1/agents/${agent}/unfreeze`, key, { reason: "it is mended" });
const decide = (key: string, escalation_id: string, outcome: string) =>
  post(`/v1/escalations/${escalation_id}/decision`, key, { outcome });
const trail = async (of: Reviewed) => (await get("/v1/audit?limit=200", of.admin)).json.audit;
const sound = async (of: Reviewed) => {
  expect(await verifyOrganization(db, of.org.org_id, undefined, () => undefined)).toMatchObject({ sound: true });
};

describe("a freeze of an agent", () => {
  test("blocks every action of it from the next decision on, in any spelling, and says who, since when and why", async () => {
    const of = await open();
    expect((await submit(of.agent)).verdict).toBe("approve");
    const frozen = await freezeAgent(of, "block", "Agent-1");
    expect(frozen.status).toBe(200);
    expect(frozen.json.freeze).toMatchObject({
      kind: "agent",
      name: "Agent-1",
      mode: "block",
      reason: "it pays twice",
    });
    const { frozen_by, frozen_at } = frozen.json.freeze;
    for (const spelling of ["agent-1", "AGENT-1", "ａｇｅｎｔ-1"]) {
      const { verdict, outcome, reasons, would_approve_if } = await submit(of.agent, plain(spelling));
      expect([verdict, outcome, would_approve_if]).toEqual(["block", "block", null]);
      const message = `The agent Agent-1 is frozen by ${frozen_by} since ${frozen_at}: it pays twice`;
      expect(reasons).toMatchObject([{ policy_id: null, policy: "freeze.agent", effect: "block", message }]);
    }
    expect((await submit(of.agent, plain("agent-2"))).verdict).toBe("approve");
    expect((await get("/v1/freezes", of.reviewer)).json.freezes).toEqual([frozen.json.freeze]);
  });

  test("refuses the claim of an earlier approval", async () => {
    const of = await open();
    const { intent_id } = await submit(of.agent, { ...plain(), claim: "required" });
    await freezeAgent(of, "escalate");
    const claim = () => post(`/v1/intents/${intent_id}/claim`, of.agent, { nonce: "a-nonce-of-this-process" });
    expect((await claim()).json.error.code).toBe("frozen");
    await unfreezeAgent(of.admin);
    expect((await claim()).status).toBe(200);
  });

  test("ends when an admin unfreezes it", async () => {
    const of = await open();
    await freezeAgent(of);
    expect((await unfreezeAgent(of.operator)).status).toBe(403);
    const ended = await unfreezeAgent(of.admin);
    expect([ended.status, ended.json.unfrozen]).toEqual([200, true]);
    expect((await submit(of.agent)).verdict).toBe("approve");
    expect((await unfreezeAgent(of.admin)).status).toBe(404);
    expect((await get("/v1/freezes", of.admin)).json.freezes).toEqual([]);
    const rows = (await trail(of)).filter(({ type }: { type: string }) => type.includes("froz"));
    const about = { kind: "agent", name: "agent-1" };
    const began = { type: "frozen", data: { ...about, mode: "block", reason: "it pays twice" } };
    expect(rows).toMatchObject([{ type: "unfrozen", data: { ...about, reason: "it is mended" } }, began]);
    await sound(of);
  });

  test("is replaced by a second one, and the trail has both", async () => {
    const of = await open();
    const first = await freezeAgent(of, "escalate");
    const second = await freezeAgent(of, "block");
    expect(second.json.freeze.frozen_at > first.json.freeze.frozen_at).toBe(true);
    const again = await post("/v1/agents/agent-1/freeze", of.admin, by("block", "still"));
    expect(again.json.freeze).toMatchObject({ reason: "still", frozen_at: second.json.freeze.frozen_at });
    const rows = (await trail(of)).filter(({ type }: { type: string }) => type === "frozen");
    const replaced = { replaced: { mode: "escalate", reason: "it pays twice" } };
    expect(rows.map(({ data }: { data: object }) => data)).toMatchObject([
      { reason: "still" },
      replaced,
      { mode: "escalate" },
    ]);
    await sound(of);
  });

  test("blocks in test mode; shadow mode records it and holds nothing", async () => {
    const of = await open();
    const tester = (await of.org.key({ role: "agent", environment: "test" })).api_key;
    await freezeAgent(of);
    expect(await submit(tester)).toMatchObject({ pipeline_mode: "test", verdict: "block", outcome: "block" });
    expect(await submit(of.agent, plain(), "?mode=shadow")).toMatchObject({ verdict: "block", outcome: "approve" });
  });

  test("cannot be overridden: no override is given, and an earlier one is not spent", async () => {
    const of = await reviewedOrganization(db, urls[0], { default_verdict: "block", packs: [] });
    const { intent_id } = await submit(of.agent, { intent: blockedBody.intent });
    const other = await submit(of.agent, plain());
    const given = await post(`/v1/intents/${intent_id}/override`, of.operator, { reason: "seen it" });
    expect(given.status).toBe(201);
    await freezeAgent(of);
    expect(await submit(of.agent, { intent: blockedBody.intent })).toMatchObject({
      verdict: "block",
      human_override_id: null,
    });
    const refused = await post(`/v1/intents/${other.intent_id}/override`, of.operator, { reason: "seen it" });
    expect([refused.status, refused.json.error.code]).toEqual([409, "frozen"]);
    expect(refused.json.error.details[0].message).toContain("it pays twice");
    await unfreezeAgent(of.admin);
    expect(await submit(of.agent, { intent: blockedBody.intent })).toMatchObject({ verdict: "approve" });
  });
});

describe("open reviews under a freeze", () => {
  test("are closed by a block, and waiting callers get it at once", async () => {
    const of = await held();
    const { intent_id, escalation_id } = await submit(of.agent, heldBody);
    const waiting = call(urls[1], "GET", `/v1/intents/${intent_id}/decision?wait=50`, { key: of.agent });
    const began = performance.now();
    await freezeAgent(of);
    expect((await waiting).json.decision).toMatchObject({
      status: "final",
      outcome: "block",
      escalation_status: "cancelled",
    });
    expect(performance.now() - began).toBeLessThan(20_000);
    const { escalation } = (await get(`/v1/escalations/${escalation_id}`, of.admin)).json;
    expect(escalation.resolution).toMatchObject({ outcome: "block", comment: "The agent agent-1 was frozen." });
    expect((await decide(of.admin, escalation_id, "approve")).json.error.code).toBe("escalation_closed");
    await sound(of);
  });

  test("under escalate, earlier ones cannot be approved, and later ones only by admins", async () => {
    const of = await held();
    const before = await submit(of.agent, heldBody);
    await freezeAgent(of, "escalate");
    const refused = await decide(of.admin, before.escalation_id, "approve");
    expect([refused.status, refused.json.error.code]).toEqual([409, "frozen"]);

    const after = await submit(of.agent, plain());
    expect(after).toMatchObject({ verdict: "escalate", reasons: [{ policy: "freeze.agent", effect: "escalate" }] });
    const { escalation } = (await get(`/v1/escalations/${after.escalation_id}`, of.admin)).json;
    expect(escalation).toMatchObject({ on_timeout: "block", reviewers: [{ type: "role", id: "admin" }] });
    expect((await decide(of.reviewer, after.escalation_id, "approve")).status).toBe(403);
    expect((await decide(of.admin, after.escalation_id, "approve")).json.escalation.status).toBe("decided");
    // Another rule escalates this one, too. Only approvals by admins count.
    const both = await submit(of.agent, heldBody);
    const body = { reviewers: [{ type: "role", id: "reviewer" }] };
    await post(`/v1/escalations/${both.escalation_id}/reassign`, of.operator, body);
    expect((await decide(of.reviewer, both.escalation_id, "approve")).status).toBe(403);
    // Any reviewer may block the older one. After an unfreeze it could be approved again.
    expect((await decide(of.reviewer, before.escalation_id, "block")).status).toBe(200);
  });

  test("reviews that nobody can approve are marked, alone and in the list, until the freeze ends", async () => {
    const of = await held();
    const whys = async (of: Reviewed) => {
      const { escalations } = (await get("/v1/escalations?status=pending", of.reviewer)).json;
      const listed: Record<string, unknown> = {};
      for (const { escalation_id, nobody_waits = null } of escalations) {
        const { escalation } = (await get(`/v1/escalations/${escalation_id}`, of.reviewer)).json;
        expect(escalation.nobody_waits ?? null).toBe(nobody_waits);
        listed[escalation_id] = nobody_waits;
      }
      return listed;
    };
    const before = await submit(of.agent, heldBody);
    const other = await submit(of.agent, { ...heldBody, intent: { ...heldBody.intent, agent: { id: "agent-2" } } });
    await freezeAgent(of, "escalate", "AGENT-1");
    const after = await submit(of.agent, plain());
    expect(await whys(of)).toEqual({
      [before.escalation_id]: "frozen",
      [other.escalation_id]: null,
      [after.escalation_id]: null,
    });
    await post("/v1/organization/freeze", of.operator, by("escalate"));
    expect(Object.values(await whys(of))).toEqual(["frozen", "frozen", "frozen"]);
    await post("/v1/organization/unfreeze", of.admin, { reason: "over" });
    await post("/v1/agents/agent-1/unfreeze", of.admin, { reason: "over" });
    expect(Object.values(await whys(of))).toEqual([null, null, null]);
  });

  test("a time limit that would approve blocks instead", async () => {
    const escalation = { timeout_seconds: 600, on_timeout: "approve", reviewers: [], quorum: 1 };
    const of = await reviewedOrganization(db, urls[0], { escalation });
    const { intent_id, escalation_id } = await submit(of.agent, heldBody);
    await freezeAgent(of, "escalate");
    await deadlineIn(db, [escalation_id], "0 s");
    const { json } = await get(`/v1/intents/${intent_id}/decision?wait=30`, of.agent);
    expect(json.decision).toMatchObject({ outcome: "block", escalation_status: "timed_out" });
  });

  test("many are closed in pages, and those of others stay open", async () => {
    const of = await held();
    const other = await submit(of.agent, { ...heldBody, intent: { ...heldBody.intent, agent: { id: "agent-2" } } });
    const items = Array.from({ length: 50 }, () => heldBody);
    for (let batch = 0; batch < 3; batch += 1) await post("/v1/intents/batch", of.agent, { intents: items });
    expect((await freezeAgent(of)).json.freeze.closing_reviews).toBe(true);
    await expect.poll(async () => (await get("/v1/freezes", of.admin)).json.freezes[0].closing_reviews).toBe(false);
    const pending = (await get("/v1/escalations?status=pending&limit=200", of.admin)).json.escalations;
    expect(pending.map(({ escalation_id }: { escalation_id: string }) => escalation_id)).toEqual([other.escalation_id]);
    await sound(of);
  });
});

describe("a freeze of a key", () => {
  test("affects its rotations and the keys that it created; it cannot create keys, invite people or unfreeze itself", async () => {
    const of = await open();
    const maker = await of.org.key({ role: "admin" });
    const made = (await post("/v1/api-keys", maker.api_key, { role: "agent" })).json;
    const rotated = (await call(urls[0], "POST", `/v1/api-keys/${made.key_id}/rotate`, { key: made.api_key })).json;
    expect((await post(`/v1/api-keys/${maker.key_id}/freeze`, of.operator, by("block"))).status).toBe(200);
    for (const key of [maker.api_key, rotated.api_key])
      expect(await submit(key)).toMatchObject({ verdict: "block", reasons: [{ policy: "freeze.key" }] });
    expect((await submit(of.agent)).verdict).toBe("approve");

    const out = (path: string, body: object) => post(path, maker.api_key, body);
    expect((await out("/v1/api-keys", { role: "agent" })).status).toBe(403);
    expect((await out("/v1/auth/invitations", { email: "a@example.com", role: "admin" })).status).toBe(403);
    expect((await out(`/v1/api-keys/${maker.key_id}/unfreeze`, { reason: "let me" })).status).toBe(403);
    const again = (await call(urls[0], "POST", `/v1/api-keys/${rotated.key_id}/rotate`, { key: rotated.api_key })).json;
    expect((await submit(again.api_key)).verdict).toBe("block");

    expect((await post(`/v1/api-keys/${maker.key_id}/unfreeze`, of.admin, { reason: "it was us" })).status).toBe(200);
    expect((await submit(again.api_key)).verdict).toBe("approve");
  });

  test("under escalate, no key with the same frozen creator approves", async () => {
    const of = await open();
    const maker = await of.org.key({ role: "admin" });
    const [one, two] = await Promise.all(
      ["agent", "admin"].map(async (role) => (await post("/v1/api-keys", maker.api_key, { role })).json),
    );
    await post(`/v1/api-keys/${maker.key_id}/freeze`, of.operator, by("escalate"));
    const { escalation_id } = await submit(one.api_key);
    expect((await decide(two.api_key, escalation_id, "approve")).status).toBe(403);
    expect((await decide(of.admin, escalation_id, "approve")).status).toBe(200);
  });

  test("names a key of the organization", async () => {
    const of = await open();
    const foreign = await (await open()).org.key({ role: "agent" });
    for (const key_id of [foreign.key_id, "key_none"]) {
      expect((await post(`/v1/api-keys/${key_id}/freeze`, of.operator, by("block"))).status).toBe(404);
      expect((await get(`/v1/freezes/preview?kind=key&key_id=${key_id}`, of.operator)).status).toBe(404);
    }
  });
});

describe("a freeze of the organization", () => {
  test("blocks all callers of it and no others", async () => {
    const [of, other] = [await open(), await open()];
    expect((await post("/v1/organization/freeze", of.operator, by("block"))).status).toBe(200);
    const decision = await submit(of.agent, plain("whoever"));
    expect(decision).toMatchObject({ verdict: "block", reasons: [{ policy: "freeze.organization" }] });
    expect((await submit(other.agent)).verdict).toBe("approve");
    expect((await post("/v1/organization/unfreeze", of.admin, { reason: "over" })).status).toBe(200);
    expect((await submit(of.agent, plain("whoever"))).verdict).toBe("approve");
  });
});

describe("a second person", () => {
  const settings = (key: string, unfreeze_needs_second_person: boolean) =>
    call(urls[0], "PATCH", "/v1/organization", { key, body: { unfreeze_needs_second_person } });

  test("must confirm if the organization requires it, and must not be the same person with another key", async () => {
    const of = await open();
    const other = (await of.org.key({ role: "admin" })).api_key;
    expect((await settings(of.operator, true)).status).toBe(403);
    expect((await settings(of.admin, true)).json.organization.unfreeze_needs_second_person).toBe(true);
    expect((await get("/v1/organization", of.reviewer)).json.organization.unfreeze_needs_second_person).toBe(true);
    await freezeAgent(of);
    const asked = await unfreezeAgent(of.admin);
    expect([asked.status, asked.json.unfrozen]).toEqual([202, false]);
    expect(asked.json.freeze.unfreeze_requested_by).not.toBe(null);
    expect((await unfreezeAgent(of.admin)).status).toBe(409);
    expect((await submit(of.agent)).verdict).toBe("block");
    expect((await settings(of.admin, false)).status).toBe(409);
    expect((await unfreezeAgent(other)).json.unfrozen).toBe(true);
    expect((await submit(of.agent)).verdict).toBe("approve");
    expect((await settings(of.admin, false)).status).toBe(200);
    const types = (await trail(of)).map(({ type }: { type: string }) => type);
    for (const type of ["organization_changed", "frozen", "unfreeze_requested", "unfrozen"])
      expect(types).toContain(type);
    await sound(of);
  });

  test("confirms within 24 hours; after that the request must be repeated", async () => {
    const of = await open();
    const other = (await of.org.key({ role: "admin" })).api_key;
    await settings(of.admin, true);
    await freezeAgent(of);
    await unfreezeAgent(of.admin);
    await db.system((query) =>
      query(
        "update freezes set unfreeze_requested_at = unfreeze_requested_at - interval '24 hours' where org_id = $1",
        [of.org.org_id],
      ),
    );
    expect((await unfreezeAgent(other)).json.unfrozen).toBe(false);
    expect((await unfreezeAgent(of.admin)).json.unfrozen).toBe(true);
  });
});

describe("a preview", () => {
  test("counts the decisions of a day, the open reviews and the overrides that a freeze would stop", async () => {
    const of = await reviewedOrganization(db, urls[0]);
    await submit(of.agent, heldBody);
    const { intent_id } = await submit(of.agent, blockedBody);
    await submit(of.agent, plain("AGENT-1"));
    await submit(of.operator, plain("agent-2"));
    await post(`/v1/intents/${intent_id}/override`, of.operator, { reason: "seen it" });
    const preview = async (query: string) => (await get(`/v1/freezes/preview?${query}`, of.operator)).json.preview;
    const [{ key_id }] = (await get("/v1/api-keys", of.admin)).json.api_keys.filter(
      ({ role }: { role: string }) => role === "operator",
    );
    const rest = { decisions_complete: true };
    expect(await preview("kind=agent&agent_id=agent-1")).toMatchObject({ ...rest, decisions_24h: 3, open_reviews: 1 });
    expect(await preview(`kind=key&key_id=${key_id}`)).toEqual({
      ...rest,
      decisions_24h: 1,
      open_reviews: 0,
      live_overrides: 0,
    });
    expect(await preview("kind=organization")).toMatchObject({ ...rest, decisions_24h: 4, open_reviews: 1 });
  });

  test("names its subject", async () => {
    const of = await open();
    for (const query of ["kind=agent", "kind=organization&agent_id=a", "kind=key&agent_id=a"])
      expect((await get(`/v1/freezes/preview?${query}`, of.operator)).status).toBe(400);
  });
});

test("a freeze needs a mode, a reason and an operator", async () => {
  const of = await open();
  for (const body of [{ mode: "block" }, { mode: "stop", reason: "x" }, { mode: "block", reason: " " }])
    expect((await post("/v1/agents/agent-1/freeze", of.operator, body)).status).toBe(400);
  for (const key of [of.reviewer, of.agent]) expect((await freezeAgent(of, "block", "agent-1", key)).status).toBe(403);
  expect((await get("/v1/freezes", of.agent)).status).toBe(403);
});
