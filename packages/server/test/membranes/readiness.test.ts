import type { MembraneReadiness } from "@countersign/contract";
import { us_per_day } from "@countersign/core";
import { beforeAll, describe, expect, test } from "vitest";
import { firstIdAt } from "../../src/store/rows/first-id-at.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { addDecided, type Decided } from "../../src/testing/database/decided.ts";
import { call, testOrganization } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";

const database = await testDatabase();
const { db } = database;
let url: string;
let mute: string;
beforeAll(async () => {
  ({ url } = await serviceNode(database));
  ({ url: mute } = await serviceNode(database, { mailer: { delivers: false, send: async () => undefined } }));
});

const large = {
  apiVersion: "countersign/v1",
  kind: "Policy",
  metadata: { name: "large-payments" },
  spec: {
    match: { verbs: ["pay"] },
    when: "params.amount > 100",
    effect: "escalate",
    message: "A large payment.",
  },
};

async function organization() {
  const org = await testOrganization(db);
  const { api_key: key } = await org.key();
  const { api_key: agent_key } = await org.key({
    role: "agent",
    bindings: { membrane_ids: null, agent_ids: ["bot"], source_cidrs: null, forbid_shadow: false },
  });
  const [{ membrane_id }] = (await call(url, "GET", "/v1/membranes", { key })).json.membranes;
  await call(url, "PATCH", `/v1/membranes/${membrane_id}`, { key, body: { packs: [] } });
  const made = await call(url, "POST", "/v1/policies", { key, body: { policy: large } });
  expect(made.status).toBe(201);
  const activate = `/v1/policies/${made.json.policy_id ?? made.json.policy.policy_id}/activate`;
  expect((await call(url, "POST", activate, { key, body: { mode: "live" } })).status).toBe(200);
  const pay = async (amount: number): Promise<string> => {
    const intent = { agent: { id: "bot" }, action: { verb: "pay" }, payload: { content: { amount } } };
    const { status, json } = await call(url, "POST", "/v1/intents", { key: agent_key, body: { intent } });
    expect(status).toBe(201);
    return json.decision.intent_id;
  };
  const readiness = async (base = url): Promise<MembraneReadiness> => {
    const { status, json } = await call(base, "GET", `/v1/membranes/${membrane_id}/readiness`, { key });
    expect(status).toBe(200);
    return json.readiness;
  };
  const label = (intent_id: string, is_right: boolean, with_key = key) =>
    call(url, "PUT", `/v1/intents/${intent_id}/label`, { key: with_key, body: { is_right } });
  const goLive = () => call(url, "POST", `/v1/membranes/${membrane_id}/go-live`, { key });
  const records = async (type: string) =>
    (await call(url, "GET", `/v1/audit?type=${type}`, { key })).json.audit.map(({ data }: { data: object }) => data);
  const inShadow = (days: number, more: Partial<Decided> = {}) => {
    const at = (n: number) => new Date(Date.now() - (n % days) * (us_per_day / 1_000)).toISOString();
    const usual = {
      membrane_id,
      agent_id: "bot",
      mode: "shadow",
      verdict: "approve",
      reasons: [],
      verb: "pay",
    } as const;
    return addDecided(
      db,
      org.org_id,
      Array.from({ length: 210 }, (_, n) => ({ ...usual, ...more, at: at(n) })),
    );
  };
  return { ...org, newKey: org.key, key, agent_key, membrane_id, pay, readiness, label, goLive, records, inShadow };
}

async function failingWebhook(org_id: string): Promise<string> {
  const webhook_id = firstIdAt("webhook", Date.now()).padEnd(29, "0");
  await db.query(
    `insert into webhooks (org_id, webhook_id, url, event_types, secret_sealed, active, description, created_at)
     values ($1, $2, 'https://hooks.example.com/', '[]', '', true, '', now())`,
    [org_id, webhook_id],
  );
  await db.query(
    `insert into deliveries (org_id, delivery_id, webhook_id, event_id, event_type, body, status, attempts, outcomes, due_at, created_at)
     values ($1, $2, $3, 'evt_1', 'decision.created', '{}', 'failed', 3, '[]', now(), now())`,
    [org_id, firstIdAt("delivery", Date.now()).padEnd(30, "0"), webhook_id],
  );
  return webhook_id;
}

const codes = ({ not_ready }: Pick<MembraneReadiness, "not_ready">) => not_ready.map(({ code }) => code);

describe("the readiness of a membrane", () => {
  test("counts what live decisions would pass, hold and block, with intervals", async () => {
    const { pay, readiness } = await organization();
    for (const amount of [1, 2, 3, 500]) await pay(amount);
    const found = await readiness();
    expect(found).toMatchObject({
      verdict: "not_yet",
      evidence: { complete: true, decisions: 4, days: 1 },
      passes: { count: 3, share: 0.75, low: expect.closeTo(0.3006, 3), high: expect.closeTo(0.9544, 3) },
      holds: { count: 1, per_day: 1, low: expect.closeTo(0.0253, 3), high: expect.closeTo(5.572, 2) },
      blocks: { count: 0, per_day: 0, low: 0 },
      mail: "working",
      uncovered: { actions: [], tools: [], agents: [] },
      webhooks: { active: 0, failing: [] },
    });
    expect(codes(found)).toEqual(["too_few_decisions", "too_few_days"]);
  });

  test("is given after enough days and decisions, and going live says and records that nothing was missing", async () => {
    const { pay, readiness, goLive, records, inShadow } = await organization();
    await inShadow(8);
    await pay(500);
    const found = await readiness();
    expect([found.verdict, found.not_ready]).toEqual(["ready", []]);
    expect(found.evidence).toMatchObject({ decisions: 211, days: expect.toBeOneOf([8, 9]) });
    expect(found.holds.per_day).toBeLessThan(0.2);
    const live = await goLive();
    expect([live.status, live.json.not_ready]).toEqual([200, []]);
    expect((await records("membrane_went_live"))[0].not_ready).toEqual([]);
  });

  test("is not given for facts that are missing, actions without a rule, and webhooks that fail; going live records why", async () => {
    const { org_id, key, readiness, goLive, records, inShadow, membrane_id } = await organization();
    const missing = { path: "facts.identity.account_status", reason: "missing" };
    const reasons = [{ policy_id: "pol_1", policy: "open-account", effect: "escalate", unknown_facts: [missing] }];
    await inShadow(8, { verdict: "escalate", reasons, verb: "send_sms" });
    const hook_id = await failingWebhook(org_id);
    await call(url, "PATCH", `/v1/membranes/${membrane_id}`, {
      key,
      body: { action_catalogue: [{ verb: "wire", type: "payment.transfer" }] },
    });
    const found = await readiness(mute);
    expect(codes(found)).toEqual([
      "missing_facts",
      "uncovered_actions",
      "too_many_reviews",
      "webhooks_failing",
      "mail",
    ]);
    expect(found.missing_facts.facts).toMatchObject([{ path: missing.path, decisions: 210 }]);
    expect(found.uncovered.actions).toMatchObject([{ verb: "send_sms" }]);
    expect(found.uncovered.tools).toEqual(["wire"]);
    expect(found.webhooks).toEqual({ active: 1, failing: [{ webhook_id: hook_id, failed: 1 }] });
    const { json } = await goLive();
    expect([json.membrane.status, codes(json)]).toEqual([
      "live",
      ["missing_facts", "uncovered_actions", "too_many_reviews", "webhooks_failing"],
    ]);
    const [{ not_ready }] = await records("membrane_went_live");
    expect(not_ready.map(({ code }: { code: string }) => code)).toEqual(codes(json));
  });

  test("names unbound keys of agents and admin keys that submit, also before any membrane is live", async () => {
    const { key, readiness, newKey } = await organization();
    const { key_id } = await newKey({ role: "agent" });
    const intent = { agent: { id: "bot" }, action: { verb: "pay" }, payload: { content: { amount: 1 } } };
    await call(url, "POST", "/v1/intents", { key, body: { intent } });
    const found = await readiness();
    expect(codes(found)).toEqual(["too_few_decisions", "too_few_days", "unbound_keys", "admin_keys"]);
    expect(found.not_ready[2]?.message).toContain(key_id);
  });

  test("404 for a foreign and an unknown membrane", async () => {
    const { membrane_id } = await organization();
    const { key } = await organization();
    for (const id of [membrane_id, "mem_00000000000000000000000000"])
      expect((await call(url, "GET", `/v1/membranes/${id}/readiness`, { key })).status).toBe(404);
  });
});

describe("labels of holds", () => {
  test("bound the share of wrong holds; a later label replaces an earlier one, and each is in the audit trail", async () => {
    const { pay, readiness, label, records, membrane_id } = await organization();
    const held = [await pay(500), await pay(600), await pay(700)];
    const before = (await readiness()).false_holds;
    expect(before).toMatchObject({ population: 3, labelled: 0, share_at_most: null, share_at_least: null });
    expect(before.sample.map(({ intent_id }) => intent_id).sort()).toEqual([...held].sort());
    expect(before.sample[0]).toMatchObject({
      agent_id: "bot",
      verb: "pay",
      verdict: "escalate",
      rules: ["large-payments"],
    });
    const [first, second] = held as [string, string];
    expect((await label(first, false)).json.label).toMatchObject({ intent_id: first, membrane_id, is_right: false });
    expect((await label(second, true)).status).toBe(200);
    const after = (await readiness()).false_holds;
    expect(after).toMatchObject({
      ...{ population: 3, labelled: 2, wrong: 1, sample: [{ intent_id: held[2] }] },
      ...{ share_at_least: expect.closeTo(0.0253, 3), share_at_most: expect.closeTo(0.9747, 3) },
    });
    await label(first, true);
    expect((await readiness()).false_holds).toMatchObject({ labelled: 2, wrong: 0, share_at_least: 0 });
    expect(await records("hold_labelled")).toMatchObject([{ is_right: true }, { is_right: true }, { is_right: false }]);
  });

  test("only for holds in shadow of the own organization, by people who may review", async () => {
    const { pay, label, agent_key, newKey } = await organization();
    const { label: foreign } = await organization();
    const [passed, held] = [await pay(1), await pay(500)];
    expect((await label(passed, true)).json.error.code).toBe("state_conflict");
    expect((await foreign(held, true)).status).toBe(404);
    expect((await label(held, true, agent_key)).status).toBe(403);
    expect((await label(held, true, (await newKey({ role: "auditor" })).api_key)).status).toBe(403);
    expect((await label(held, true, (await newKey({ role: "reviewer" })).api_key)).status).toBe(200);
  });
});
