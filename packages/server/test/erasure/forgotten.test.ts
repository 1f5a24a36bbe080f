/** A person goes through every table that can name them, and is forgotten. See docs/how-to/erasure.md. */
import { beforeAll, expect, test } from "vitest";
import { createLog } from "../../src/edge/log.ts";
import { verifyOrganization } from "../../src/operations/audit/verify-organization.ts";
import { runErasures } from "../../src/operations/erasure/run-erasure.ts";
import { countNewest } from "../../src/operations/figures/keep-figures.ts";
import type { Runtime } from "../../src/operations/runtime.ts";
import { beginRebuild } from "../../src/store/figures/reconcile.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { testReceiver } from "../../src/testing/network/receiver.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { webhookNode } from "../../src/testing/nodes/webhook-node.ts";
import { activatePayPolicy, type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
const { db } = database;
const marker = "jane.roe.7Q@people.example";
let url: string;
let runtime: Runtime;
const printed: string[] = [];

beforeAll(async () => {
  const log = createLog("trace", { write: (line: string) => void printed.push(line) });
  ({ url, runtime } = await webhookNode(database, { log }));
});

const send = (method: string, path: string, key: string, body?: unknown, headers = {}) =>
  call(url, method, path, { key, body, headers });

const payment = (amount: number, more: object = {}) => ({
  intent: {
    agent: { id: "bot", session_id: `chat with ${marker}`, on_behalf_of: marker },
    action: { type: "payment.transfer", verb: "pay", target: { type: "customer", identifier: marker } },
    payload: { summary: `Pays ${marker}`, content: { amount, recipient: marker } },
    estimated_impact: { financial_exposure_usd: amount },
    ...more,
  },
  context: { contract_version: "1", facts: { regulatory: { customer_name: marker } } },
});

/** Returns the tables with a row that contains the marker. */
async function tablesWithMarker(): Promise<string[]> {
  const tables = await db.query<{ name: string }>(
    "select table_name::text as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await db.query(`select from "${name}" t where strpos(lower(t::text), lower($1)) > 0 limit 1`, [
      marker,
    ]);
    if (rows.length > 0) found.push(name);
  }
  return found.sort();
}

async function figures(org_id: string) {
  await countNewest(db, org_id);
  return db.query("select * from figures where org_id = $1 order by membrane_id, kind, mode, span, begins, item", [
    org_id,
  ]);
}

/** Decisions of each verdict about the person, with a review, an override, a grant, facts and failed deliveries. */
async function personEverywhere(org: Reviewed) {
  const admin = org.admin;
  const org_id = org.org.org_id;
  const receiver = await testReceiver((response) => response.writeHead(500).end());
  await send("POST", "/v1/escalations/webhooks", admin, { url: receiver.url });
  await send("PUT", `/v1/context/targets/customer/${marker}`, admin, {
    contract_version: "1",
    facts: { entity_state: { owner: marker } },
  });
  const pay = async (amount: number, more: object = {}, headers = {}) =>
    (await send("POST", "/v1/intents", org.agent, payment(amount, more), headers)).json;
  const approved = await pay(1, {}, { "Idempotency-Key": "retry-1" });
  await send("POST", `/v1/intents/${approved.intent_id}/observations`, org.agent, {
    status: "executed",
    detail: `paid ${marker}`,
  });
  const reviewed = await pay(100);
  const review = `/v1/escalations/${reviewed.decision.escalation_id}`;
  await send("POST", `${review}/comment`, org.reviewer, { comment: `I know ${marker}` });
  const grant = { agent_id: "bot", verb: "pay", target: marker };
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const asked = { intent_id: reviewed.intent_id, scope: grant, times: 2, until, reason: `for ${marker}` };
  const granted = await send("POST", "/v1/grants", org.reviewer, asked, { "Idempotency-Key": "grant-1" });
  const modifications = [{ op: "replace", path: "/recipient", value: `${marker} (new)` }];
  const ruling = {
    outcome: "approve_modified",
    comment: `ok for ${marker}`,
    message_to_agent: `Pay ${marker}`,
    modifications,
  };
  const ruled = await send("POST", `${review}/decision`, org.reviewer, ruling);
  const open = await pay(200, { agent: { id: "other-bot", on_behalf_of: marker } });
  const blocked = await pay(5_000);
  const override = await send("POST", `/v1/intents/${blocked.intent_id}/override`, org.operator, {
    reason: `${marker} asked`,
  });
  expect([granted.status, ruled.status, override.status]).toEqual([201, 200, 201]);
  await send("POST", "/v1/auth/invitations", admin, { email: marker, role: "reviewer" });
  const { invitations } = (await send("GET", "/v1/auth/invitations", admin)).json;
  await send("DELETE", `/v1/auth/invitations/${invitations[0].invitation_id}`, admin);
  await db.query("insert into removed_addresses values ($1, $2, now())", [org_id, marker]);
  await db.query(
    "insert into onboarding_intakes values ('ink_1', $1, json_build_object('email', $2::text), '{}', now())",
    [org_id, marker],
  );
  await db.query(
    `insert into backtests values ($1, 'bt_1', now(), 'usr_1', now() + interval '1 day', null, '{}', '{}',
       json_build_object('message', $2::text))`,
    [org_id, `Pays ${marker}`],
  );
  const failed = async () =>
    (await send("GET", "/v1/escalations/webhooks/deliveries/failed?limit=200", admin)).json.deliveries;
  await expect
    .poll(
      async () =>
        (await db.query("select from deliveries where status = 'pending'")).length +
        (await db.query("select from events")).length,
      { timeout: 60_000 },
    )
    .toBe(0);
  return { approved, reviewed, open, blocked, failed, granted: granted.json.grant, override: override.json.override };
}

async function organization(): Promise<Reviewed> {
  const org = await reviewedOrganization(db, url, { packs: [], default_verdict: "approve" });
  const grants = { times_max: 50, hours_max: 24 };
  await activatePayPolicy(url, org, "large", { when: "params.amount > 10.0", escalation: { grants } });
  await activatePayPolicy(url, org, "huge", { when: "params.amount > 1000.0", effect: "block", escalation: {} });
  const spec = {
    match: { verbs: ["pay"] },
    counters: [{ name: "paid", key: ["params.recipient"], value: "params.amount", window: "24h" }],
    when: "count.paid.sum > 100000.0",
    effect: "block",
  };
  const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "limit", title: "Limit" }, spec };
  const created = await send("POST", "/v1/policies", org.admin, { policy });
  expect(created.json.error).toBeUndefined();
  const path = `/v1/policies/${created.json.policy.policy_id}/activate`;
  expect((await send("POST", path, org.admin, { mode: "live" })).json.error).toBeUndefined();
  return org;
}

test("nothing of a forgotten person is left in any table or in the log, and every proof and count holds", async () => {
  const org = await organization();
  const { org_id } = org.org;
  const { approved, reviewed, open, blocked, failed, granted, override } = await personEverywhere(org);
  const all = [approved, reviewed, open, blocked];
  const figures_before = await figures(org_id);
  const sound_before = await verifyOrganization(db, org_id, undefined, () => undefined);
  expect(sound_before.sound).toBe(true);
  expect(await tablesWithMarker()).toEqual([
    ...[
      "backtests",
      "counters",
      "deliveries",
      "escalations",
      "grants",
      "idempotency_keys",
      "ledger",
      "onboarding_intakes",
    ],
    ...["overrides", "removed_addresses", "stored_context"],
  ]);

  const path = `/v1/subjects/value/${marker}`;
  const counted = await send("DELETE", `${path}?dry_run=true`, org.admin);
  expect(counted.json.erasure).toMatchObject({ status: "dry_run", erasure_id: null, subject_sha256: null });
  const erased = await send("DELETE", path, org.admin);
  expect(erased.json.error, printed.join("").slice(-3_000)).toBeUndefined();
  const { erasure_id, subject_salt } = erased.json.erasure;
  await runErasures(runtime, () => false);
  const { status, counts } = (await send("GET", `/v1/erasures/${erasure_id}`, org.admin)).json.erasure;
  expect(status).toBe("done");
  expect(counts).toMatchObject({
    intents: 4,
    reviews: 2,
    overrides: 1,
    grants: 1,
    backtests: 1,
    counters: 2,
    facts: 1,
    addresses: 2,
    held: 0,
  });
  expect(counts.deliveries).toBeGreaterThan(0);
  expect(subject_salt).toMatch(/^[0-9a-f]{32}$/);

  expect(await tablesWithMarker()).toEqual([]);
  expect(printed.join("")).not.toContain(marker);

  const sound = await verifyOrganization(
    db,
    org_id,
    sound_before.sound ? sound_before.root : undefined,
    () => undefined,
  );
  expect(sound).toMatchObject({ sound: true, erased: expect.any(Number), intents: 4 });
  expect(await figures(org_id)).toEqual(figures_before);
  await db.tenant(org_id, (query) => beginRebuild(query, org_id));
  await expect.poll(() => figures(org_id)).toEqual(figures_before);

  const by = (await send("GET", "/v1/audit?type=erasure_requested", org.admin)).json.audit[0].actor.id;
  for (const { intent_id, decision } of all) {
    const { json } = await send("GET", `/v1/intents/${intent_id}`, org.admin);
    expect(json.decision).toMatchObject({
      verdict: decision.verdict,
      timestamp: decision.timestamp,
      erased: { by, erasure_id },
    });
    expect(json.intent).toMatchObject({ action: { verb: "pay" }, erased: { by, erasure_id } });
    expect([json.intent.payload, json.intent.action.target, json.facts]).toEqual([undefined, undefined, {}]);
    expect((await send("GET", `/v1/intents/${intent_id}/audit`, org.admin)).status).toBe(200);
  }
  const now = async (path: string) => (await send("GET", path, org.admin)).json;
  expect((await now(`/v1/intents/${approved.intent_id}`)).decision.execution.status).toBe("executed");
  expect((await now(`/v1/intents/${open.intent_id}`)).decision).toMatchObject({
    outcome: "block",
    escalation_status: "cancelled",
  });
  const { escalation } = await now(`/v1/escalations/${reviewed.decision.escalation_id}`);
  expect(escalation).toMatchObject({
    status: "decided",
    resolution: { outcome: "approve_modified", comment: null },
    erased: { by },
  });
  expect((await now(`/v1/grants/${granted.grant_id}`)).grant).toMatchObject({ status: "revoked", reason: "" });
  expect((await now("/v1/overrides")).overrides).toMatchObject([
    { override_id: override.override_id, status: "revoked" },
  ]);

  const again = await send("POST", "/v1/intents", org.agent, payment(1), { "Idempotency-Key": "retry-1" });
  const overridden = await send("POST", `/v1/intents/${blocked.intent_id}/override`, org.operator, { reason: "again" });
  const deliveries = (await failed()).filter(
    ({ intent_id }: { intent_id: string | null }) => intent_id === blocked.intent_id,
  );
  expect(deliveries.length).toBeGreaterThan(0);
  const retried = await send(
    "POST",
    `/v1/escalations/webhooks/deliveries/${deliveries[0].delivery_id}/retry`,
    org.admin,
  );
  expect([again, overridden, retried].map(({ status, json }) => [status, json.error.code])).toEqual(
    Array(3).fill([410, "erased"]),
  );

  const window = {
    from: new Date(Date.now() - 3_600_000).toISOString(),
    to: new Date(Date.now() + 60_000).toISOString(),
  };
  const { backtest } = (await send("POST", "/v1/learning/backtest", org.admin, { window })).json;
  expect(backtest.not_reproduced.intents.map(({ because }: { because: string }) => because)).toEqual(
    Array(4).fill("erased"),
  );
});
