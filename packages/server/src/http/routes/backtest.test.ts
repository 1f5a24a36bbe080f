import type { Backtest, BacktestInput } from "@countersign/contract";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { loadPacks } from "../../edge/start/pack-files.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { call, type TestOrganization, testOrganization } from "../../testing/nodes/http-node.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";
import { blockedBody, heldBody, type Reviewed, reviewedOrganization } from "../../testing/people/review.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);

// Threads from the sources start slowly on a busy machine.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const window = { from: "2020-01-01T00:00:00Z", to: "2100-01-01T00:00:00Z" };
const path = "/v1/learning/backtest";

function ask(key: string, input: Partial<BacktestInput> = {}) {
  return call(url, "POST", path, { key, body: { window, ...input } });
}

async function figuresOf(key: string, input: Partial<BacktestInput> = {}): Promise<Backtest> {
  const { status, json, text } = await ask(key, input);
  if (status !== 200) throw new Error(text);
  return json.backtest as Backtest;
}

const payment = (amount_usd: number, agent_id = "agent-1") => ({
  intent: {
    agent: { id: agent_id },
    action: { type: "payment.transfer", verb: "pay" },
    payload: { content: { amount_usd } },
  },
});

const limitOf = (amount: number, spec: object = {}, name = "limit") => ({
  apiVersion: "countersign/v1",
  kind: "Policy",
  metadata: { name },
  spec: {
    match: { actions: ["payment.*"] },
    when: `params.amount_usd > ${amount}.0`,
    effect: "block",
    message: "Amount {{params.amount_usd}} is too much",
    ...spec,
  },
});

async function ok(answer: ReturnType<typeof call>) {
  const { status, json, text } = await answer;
  if (status >= 400) throw new Error(text);
  return json;
}

async function submit(
  key: string,
  body: object,
  query = "",
): Promise<{ intent_id: string; verdict: string; escalation_id: string }> {
  const { intent_id, decision } = await ok(call(url, "POST", `/v1/intents${query}`, { key, body }));
  return { intent_id, verdict: decision.verdict, escalation_id: decision.escalation_id };
}

async function policy(key: string, document: object, mode: "live" | "shadow" = "live"): Promise<string> {
  const { policy: saved } = await ok(call(url, "POST", "/v1/policies", { key, body: { policy: document } }));
  await ok(call(url, "POST", `/v1/policies/${saved.policy_id}/activate`, { key, body: { mode } }));
  return saved.policy_id;
}

/** Changes everything that affects verdicts. Resolves with the number of decisions. */
async function recordPast({ org, membrane_id, admin, agent, operator, reviewer }: Reviewed): Promise<number> {
  const packs = (await loadPacks()).packs;
  const membrane = (change: object) =>
    ok(call(url, "PATCH", `/v1/membranes/${membrane_id}`, { key: admin, body: change }));
  let submitted = 0;
  const decided = async (key: string, body: object, query = "") => {
    submitted += 1;
    return submit(key, body, query);
  };

  await decided(agent, payment(80));
  await membrane({ packs: [] });
  await decided(agent, payment(80, "agent-2"));
  const limit = await policy(admin, limitOf(100));
  await decided(agent, payment(80));
  const blocked = await decided(agent, payment(150));
  expect(blocked.verdict).toBe("block");
  await ok(
    call(url, "POST", `/v1/intents/${blocked.intent_id}/override`, { key: operator, body: { reason: "agreed" } }),
  );
  expect((await decided(agent, payment(150))).verdict).toBe("approve");
  expect((await decided(agent, payment(150))).verdict).toBe("block");

  await ok(call(url, "PUT", `/v1/policies/${limit}`, { key: admin, body: { policy: limitOf(50) } }));
  expect((await decided(agent, payment(80))).verdict).toBe("approve");
  await ok(call(url, "POST", `/v1/policies/${limit}/activate`, { key: admin, body: { mode: "live" } }));
  expect((await decided(agent, payment(80))).verdict).toBe("block");
  for (const mode of ["block", "escalate"] as const) {
    await ok(call(url, "POST", "/v1/agents/agent-1/freeze", { key: operator, body: { mode, reason: "it runs wild" } }));
    expect((await decided(agent, payment(20))).verdict).toBe(mode);
  }
  await ok(call(url, "POST", "/v1/agents/agent-1/unfreeze", { key: admin, body: { reason: "it is mended" } }));
  await policy(admin, limitOf(10, {}, "tried"), "shadow");
  await decided(agent, payment(20));

  await membrane({ packs: ["security"] });
  const held = await decided(agent, heldBody);
  expect(held.verdict).toBe("escalate");
  const ruling = { outcome: "approve_modified", modifications: [{ op: "replace", path: "/replicas", value: 1 }] };
  await ok(call(url, "POST", `/v1/escalations/${held.escalation_id}/decision`, { key: reviewer, body: ruling }));
  const refused = await decided(agent, heldBody);
  await ok(
    call(url, "POST", `/v1/escalations/${refused.escalation_id}/decision`, {
      key: reviewer,
      body: { outcome: "block" },
    }),
  );
  await decided(agent, blockedBody);
  await membrane({ packs: [] });

  const cap = { effect: "approve_modified", modify: [{ op: "cap", path: "/amount_usd", value: "30.0" }] };
  const capping = await policy(admin, limitOf(30, cap, "cap"));
  await ok(call(url, "POST", `/v1/policies/${limit}/retire`, { key: admin }));
  expect((await decided(agent, payment(80))).verdict).toBe("approve_modified");
  await ok(call(url, "POST", `/v1/policies/${capping}/retire`, { key: admin }));

  await membrane({ action_catalogue: [{ verb: "pay", type: "data.export", data_classes: ["phi"] }] });
  await decided(agent, payment(80));
  await membrane({ action_catalogue: [], default_verdict: "escalate" });
  await decided(agent, payment(80));
  await membrane({ default_verdict: "approve", thresholds: { escalate_at: 0.1, block_at: 0.9 } });
  await policy(admin, limitOf(0, { effect: "none", risk: { add: 0.3 } }, "risky"));
  expect((await decided(agent, payment(80))).verdict).toBe("escalate");
  await decided((await org.key({ environment: "test", role: "agent" })).api_key, payment(80));
  await decided(agent, payment(80), "?mode=shadow");

  await membrane({ packs: [...packs.keys()], facts_max_age: { security: 1 } });
  await ok(
    call(url, "PUT", "/v1/context/org", {
      key: operator,
      body: {
        contract_version: "1",
        facts: { security: { siem_ref: "siem-1" }, organizational: { ato_status: "authorized" } },
        as_of: { security: "2026-01-01T00:00:00Z" },
      },
    }),
  );
  const cases = [...packs.values()].flatMap((pack) => pack.cases.filter((_, index) => index % 5 === 0));
  for (let at = 0; at < cases.length; at += 50) {
    const intents = cases.slice(at, at + 50).map(({ intent, facts }) => {
      const by_one = { ...intent, agent: { ...(intent["agent"] as object), id: "agent-1" } };
      return { intent: by_one, context: { contract_version: "1", facts } };
    });
    const { succeeded } = await ok(call(url, "POST", "/v1/intents/batch", { key: reviewer, body: { intents } }));
    submitted += succeeded;
  }
  expect(submitted).toBeGreaterThan(60);
  const { membrane: second } = await ok(
    call(url, "POST", "/v1/membranes", { key: admin, body: { name: "second", packs: ["security"] } }),
  );
  await decided(agent, { ...heldBody, membrane_id: second.membrane_id });
  await ok(
    call(url, "POST", `/v1/membranes/${membrane_id}/return-to-shadow`, { key: admin, body: { reason: "Again." } }),
  );
  await decided(agent, heldBody);
  return submitted;
}

describe("a varied past", () => {
  let people: Reviewed;
  let count: number;
  beforeAll(async () => {
    people = await reviewedOrganization(database.db, url);
    count = await recordPast(people);
  }, 240_000);

  test("every recorded verdict is reproduced, whatever has changed since", async () => {
    const figures = await figuresOf(people.admin);
    expect(figures.not_reproduced).toEqual({ total: 0, intents: [] });
    expect(figures).toMatchObject({ evaluated: count, reproduced: 1, flips: [], flips_total: 0 });
    expect(figures.backtest_id).toMatch(/^bkt_/);
    const verdicts = await database.db.tenant(people.org.org_id, (query) =>
      query<{ verdict: string; count: number }>(
        "select verdict, count(*)::int as count from intents where org_id = $1 group by verdict",
        [people.org.org_id],
      ),
    );
    expect(verdicts.length).toBe(4);
    const told = figures.transitions.map(({ from, to, count: times }) => ({ verdict: from, to, count: times }));
    expect(told.toSorted((a, b) => (a.verdict < b.verdict ? -1 : 1))).toEqual(
      verdicts.map((each) => ({ ...each, to: each.verdict })).sort((a, b) => (a.verdict < b.verdict ? -1 : 1)),
    );
    expect(figures.escalations_per_day.recorded).toBe(figures.escalations_per_day.candidate);
    expect(figures.unknown_facts.length).toBeGreaterThan(0);
    // One block was overridden, which contradicts the reproduced block.
    expect(figures.human_agreement).toBe(0);
  });

  test("a limit selects the newest, a filter its matches", async () => {
    expect(await figuresOf(people.admin, { limit: 7 })).toMatchObject({ evaluated: 7, reproduced: 1 });
    expect(await figuresOf(people.admin, { agent_id: "nobody" })).toMatchObject({ evaluated: 0, reproduced: null });
    const part = await figuresOf(people.admin, { membrane_id: people.membrane_id });
    expect(part).toMatchObject({ evaluated: count - 1, reproduced: 1 });
    const before = { from: "2020-01-01T00:00:00Z", to: "2020-02-01T00:00:00Z" };
    expect(await figuresOf(people.admin, { window: before })).toMatchObject({ evaluated: 0, human_agreement: null });
  });

  test("a key gets only the parts that it may read", async () => {
    const own = await figuresOf((await people.org.key({ scope: "agent", role: "agent", agent_id: "agent-1" })).api_key);
    expect(own.evaluated).toBe(count - 1);
    const stranger = await people.org.key({ role: "agent" });
    expect((await figuresOf(stranger.api_key)).evaluated).toBe(0);
    expect((await figuresOf((await people.org.key({ role: "auditor" })).api_key)).evaluated).toBe(count);
    const bound = await people.org.key({ scope: "agent", role: "agent", agent_id: "agent-2" });
    expect((await ask(bound.api_key, { agent_id: "agent-1" })).status).toBe(403);
    const other = (await (await testOrganization(database.db)).key()).api_key;
    expect((await figuresOf(other)).evaluated).toBe(0);
  });

  test("without the packs, actions that only they stopped are approved, and people's approvals agree", async () => {
    const figures = await figuresOf(people.admin, { candidate: { packs: [] } });
    expect(figures.reproduced).toBeNull();
    const loosened = figures.flips.filter(({ from, to }) => from === "escalate" && to === "approve");
    expect(loosened.length).toBeGreaterThan(0);
    expect(loosened.some(({ policies }) => policies.some((name) => name.startsWith("security.")))).toBe(true);
    // One of two reviews approved the action.
    expect(figures.human_agreement).toBeCloseTo(1 / 3);
  });
});

test("an action that must be claimed is reproduced; one with the approval of an equal action is not, and names the reason", async () => {
  const org = await reviewedOrganization(database.db, url);
  const body = { ...heldBody, claim: "required" };
  const { escalation_id } = await submit(org.agent, body);
  const approval = { key: org.reviewer, body: { outcome: "approve" } };
  await ok(call(url, "POST", `/v1/escalations/${escalation_id}/decision`, approval));
  const resumed = await submit(org.agent, body);
  expect(resumed).toMatchObject({ verdict: "approve", escalation_id });
  const intents = [{ intent_id: resumed.intent_id, because: "override_unknown" }];
  expect(await figuresOf(org.admin)).toMatchObject({ evaluated: 2, not_reproduced: { total: 1, intents } });
});

test("a backtest spends no override: an override can be used after it", async () => {
  const org = await reviewedOrganization(database.db, url, { default_verdict: "block", packs: [] });
  const { intent_id } = await submit(org.agent, payment(150));
  const given = call(url, "POST", `/v1/intents/${intent_id}/override`, { key: org.operator, body: { reason: "seen" } });
  const { override_id } = (await ok(given)).override;
  const later = limitOf(100, {}, "later");
  for (const candidate of [{}, { candidate: { policies: [later] } }])
    expect(await figuresOf(org.admin, candidate)).toMatchObject({ evaluated: 1 });
  const { decision } = await ok(call(url, "POST", "/v1/intents", { key: org.agent, body: payment(150) }));
  expect(decision).toMatchObject({ verdict: "approve", human_override_id: override_id });
});

describe("a candidate", () => {
  let people: Reviewed;
  let org: TestOrganization;
  beforeAll(async () => {
    people = await reviewedOrganization(database.db, url, { packs: [] });
    org = people.org;
    await policy(people.admin, limitOf(100));
    for (const amount of [10, 60, 150]) await submit(people.agent, payment(amount));
  });

  test("lists the changed verdicts, with reasons", async () => {
    const figures = await figuresOf(people.admin, { candidate: { policies: [limitOf(50)] } });
    expect(figures.transitions).toEqual([
      { from: "approve", to: "approve", count: 1 },
      { from: "approve", to: "block", count: 1 },
      { from: "block", to: "block", count: 1 },
    ]);
    expect(figures.flips).toEqual([
      {
        intent_id: expect.stringMatching(/^int_/),
        submitted_at: expect.stringMatching(/^2\d{3}-.*Z$/),
        agent_id: "agent-1",
        action: { type: "payment.transfer", verb: "pay" },
        from: "approve",
        to: "block",
        policies: ["limit"],
        reasons: [{ policy: "limit", effect: "block", message: "Amount 60 is too much" }],
      },
    ]);
    expect(figures).toMatchObject({ flips_total: 1, per_policy: [{ policy: "limit", fired: 2, decisive: 2 }] });
  });

  test("replaces the policy of its name, and is added to the others", async () => {
    const looser = await figuresOf(people.admin, { candidate: { policies: [limitOf(500)] } });
    expect(looser.flips).toMatchObject([{ from: "block", to: "approve", policies: ["limit"], reasons: [] }]);
    const beside = await figuresOf(people.admin, {
      candidate: { policies: [limitOf(5, { effect: "escalate" }, "more")] },
    });
    expect(beside.flips.map(({ from, to }) => [from, to])).toEqual([
      ["approve", "escalate"],
      ["approve", "escalate"],
    ]);
    expect(beside.escalations_per_day.recorded).toBe(0);
    expect(beside.escalations_per_day.candidate).toBeGreaterThan(0);
    const without = await figuresOf(people.admin, { candidate: { without: ["limit"] } });
    expect(without.flips).toMatchObject([{ from: "block", to: "approve", policies: ["limit"] }]);
  });

  test("lists the facts that it reads but that are missing", async () => {
    const asking = limitOf(0, { when: "facts.identity.account_status == 'suspended'" }, "asking");
    const figures = await figuresOf(people.admin, { candidate: { policies: [asking], without: ["limit"] } });
    expect(figures.unknown_facts).toEqual([{ path: "facts.identity.account_status", count: 3, policies: ["asking"] }]);
  });

  test("changes thresholds", async () => {
    const risky = limitOf(0, { effect: "none", risk: { add: 0.5 } }, "risky");
    const candidate = { policies: [risky], thresholds: { escalate_at: 0.4 } };
    const figures = await figuresOf(people.admin, { candidate });
    expect(figures.transitions).toContainEqual({ from: "approve", to: "escalate", count: 2 });
  });

  test("removes a policy by its current or former name, and refuses an unknown name with a suggestion", async () => {
    const renamed = await policy(people.admin, limitOf(1e9, {}, "name-of-old"), "shadow");
    await ok(
      call(url, "PUT", `/v1/policies/${renamed}`, {
        key: people.admin,
        body: { policy: limitOf(1e9, {}, "name-of-new") },
      }),
    );
    await ok(call(url, "POST", `/v1/policies/${renamed}/retire`, { key: people.admin }));
    const candidate = { policies: [limitOf(1, {}, "just-here")] };
    const known = ["limit", "gdpr.lawful-basis", "name-of-old", "name-of-new", "just-here"];
    expect((await figuresOf(people.admin, { candidate: { ...candidate, without: known } })).evaluated).toBe(3);
    const without = ["limit", "limitt", "gdpr.lawful_basis", "no such thing at all"];
    const { status, json } = await ask(people.admin, { candidate: { without } });
    expect([status, json.error.code]).toEqual([400, "invalid_request"]);
    expect(json.error.details).toEqual([
      { path: "/candidate/without/1", code: "not_allowed", message: expect.stringContaining("Did you mean limit?") },
      {
        path: "/candidate/without/2",
        code: "not_allowed",
        message: expect.stringContaining("Did you mean gdpr.lawful-basis?"),
      },
      { path: "/candidate/without/3", code: "not_allowed", message: expect.stringContaining("a rule of a pack") },
    ]);
    const other = await testOrganization(database.db);
    const stranger = await ask((await other.key()).api_key, { candidate: { without: ["name-of-new"] } });
    expect(stranger.status).toBe(400);
  });

  test("lists at most 100 findings of any number of documents, and says that there are more", async () => {
    const broken = (n: number) =>
      limitOf(
        1,
        Object.fromEntries([
          ["when", "true"],
          [`x${n}`, 1],
          [`y${n}`, 1],
        ]),
        `b${n}`,
      );
    const of = (n: number) => ({ candidate: { policies: Array.from({ length: n }, (_, index) => broken(index)) } });
    for (const [documents, told, last] of [
      [50, 100, "unknown_field"],
      [51, 101, "more_findings"],
      [400, 101, "more_findings"],
    ] as const) {
      const { status, json } = await ask(people.admin, of(documents));
      expect(status).toBe(422);
      expect([json.error.details.length, json.error.details.at(-1).code]).toEqual([told, last]);
    }
  });

  test("with errors is refused with every diagnostic", async () => {
    const broken = limitOf(1, { when: "params.amount_usd >" }, "broken");
    const { status, json } = await ask(people.admin, { candidate: { policies: [limitOf(1), broken, limitOf(2)] } });
    expect(status).toBe(422);
    expect(json.error.code).toBe("policy_invalid");
    expect(json.error.details).toMatchObject([
      { path: "/candidate/policies/1/spec/when", code: "syntax" },
      { path: "/candidate/policies/2/metadata/name", code: "not_allowed" },
    ]);
  });

  test.each<[string, object, number, string]>([
    ["a window that ends before it begins", { window: { from: window.to, to: window.from } }, 400, "/window"],
    ["an unknown pack", { candidate: { packs: ["none"] } }, 400, "/candidate/packs/0"],
    ["an unknown field", { candidate: { policy: [] } }, 400, "/candidate/policy"],
    ["a membrane that cannot exist", { membrane_id: "mem_nope" }, 404, "/membrane_id"],
    ["an unknown membrane", { membrane_id: "mem_01KAAAAAAAAAAAAAAAAAAAAAAA" }, 404, "/membrane_id"],
  ])("refuses %s", async (_name, input, status, at) => {
    const answer = await ask(people.admin, input as Partial<BacktestInput>);
    expect(answer.status).toBe(status);
    expect(answer.json.error.details.map(({ path: place }: { path: string }) => place)).toContain(at);
  });

  test("needs a key, and takes a window from the first year to the last that can be stored", async () => {
    expect((await call(url, "POST", path, { body: { window } })).status).toBe(401);
    const always = { from: "0000-01-01T00:00:00Z", to: "9999-12-31T23:59:59.999999Z" };
    expect((await ask((await org.key()).api_key, { window: always })).status).toBe(200);
  });
});
