import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { call } from "../../testing/nodes/http-node.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";
import {
  activatePayPolicy,
  deadlineIn,
  heldBody,
  type Reviewed,
  reviewedOrganization,
} from "../../testing/people/review.ts";

const database = await testDatabase();
let url: string;
beforeAll(async () => {
  url = (await serviceNode(database)).url;
});

const escalating = { default_verdict: "escalate", packs: [] };
const pay = (content: object, verb = "pay", agent = "agent-1") => ({
  intent: { agent: { id: agent }, action: { type: "payment.transfer", verb }, payload: { content } },
});

async function submitted({ agent }: Reviewed, body: object): Promise<{ intent_id: string; escalation_id: string }> {
  const { json } = await call(url, "POST", "/v1/intents", { key: agent, body });
  return json.decision;
}

const attentionOf = async ({ reviewer }: Reviewed) =>
  (await call(url, "GET", "/v1/attention", { key: reviewer })).json.attention.items;

test("an organization in which nothing waits has no items; agents may not ask", async () => {
  const own = await reviewedOrganization(database.db, url);
  expect(await attentionOf(own)).toEqual([]);
  expect((await call(url, "GET", "/v1/attention", { key: own.agent })).status).toBe(403);
});

test("reviews that wait for the same missing fact are one item with their number and the rules that need it", async () => {
  const own = await reviewedOrganization(database.db, url, { packs: [] });
  await activatePayPolicy(url, own, "known-payees", { when: "!facts.identity.phone_number_verified", escalation: {} });
  const first = await submitted(own, pay({ amount_usd: 1 }));
  await submitted(own, pay({ amount_usd: 2 }));
  const told = {
    intent: pay({ amount_usd: 3 }).intent,
    context: { contract_version: "1", facts: { identity: { phone_number_verified: false } } },
  };
  // The third review waits for the rule, not for the fact.
  await submitted(own, told);
  expect(await attentionOf(own)).toEqual([
    {
      kind: "missing_fact",
      count: 2,
      at_least: false,
      since: expect.stringMatching(/Z$/),
      what: "facts.identity.phone_number_verified",
      message:
        "2 reviews wait because the fact identity.phone_number_verified is missing or stale. Supply it, or switch the rule off.",
      rules: [{ policy_id: expect.stringMatching(/^pol_/), policy: "known-payees" }],
      escalation_id: first.escalation_id,
      membrane_id: own.membrane_id,
    },
  ]);
});

test("reviews of a tool without a rule are one item of each tool, the most first", async () => {
  const own = await reviewedOrganization(database.db, url, escalating);
  for (const verb of ["sms", "fax", "fax"]) await submitted(own, pay({}, verb));
  expect(await attentionOf(own)).toMatchObject([
    { kind: "uncovered_tool", what: "fax", count: 2, rules: [] },
    { kind: "uncovered_tool", what: "sms", count: 1, rules: [] },
  ]);
});

test("a rule whose reviewers have left is an item with the number of reviews that wait for it", async () => {
  const own = await reviewedOrganization(database.db, url, { packs: [] });
  const { key_id } = await own.org.key({ role: "reviewer" });
  const escalation = { reviewers: [`user:${key_id}`] };
  await activatePayPolicy(url, own, "wires-over-limit", { when: "true", escalation });
  await submitted(own, pay({}));
  expect(await attentionOf(own)).toEqual([]);
  expect((await call(url, "DELETE", `/v1/api-keys/${key_id}`, { key: own.admin })).status).toBeLessThan(300);
  expect(await attentionOf(own)).toMatchObject([
    { kind: "no_reviewers", what: "wires-over-limit", count: 1, membrane_id: own.membrane_id },
  ]);
});

test("reviews that end within 15 minutes are one item that names the first", async () => {
  const own = await reviewedOrganization(database.db, url);
  const held = [await submitted(own, heldBody), await submitted(own, heldBody), await submitted(own, heldBody)];
  await deadlineIn(database.db, [held[1]?.escalation_id ?? ""], "10 minutes");
  await deadlineIn(database.db, [held[2]?.escalation_id ?? ""], "5 minutes");
  expect(await attentionOf(own)).toMatchObject([
    { kind: "due_soon", count: 2, escalation_id: held[2]?.escalation_id, message: "2 reviews end within 15 minutes." },
  ]);
});

test("an action that was executed although it waits is an item with its agent and the newest action", async () => {
  const own = await reviewedOrganization(database.db, url);
  const { intent_id } = await submitted(own, heldBody);
  const observation = { status: "executed" };
  await call(url, "POST", `/v1/intents/${intent_id}/observations`, { key: own.agent, body: observation });
  expect(await attentionOf(own)).toMatchObject([
    { kind: "executed_although_blocked", what: "agent-1", count: 1, agent_id: "agent-1", intent_id },
  ]);
});

test("failed deliveries of a webhook of the last 24 hours are one item; webhooks that are off have none", async () => {
  const own = await reviewedOrganization(database.db, url);
  await submitted(own, heldBody);
  const { org_id } = own.org;
  await database.db.tenant(org_id, async (query) => {
    for (const [n, active] of [true, false].entries())
      await query(
        `insert into webhooks (org_id, webhook_id, url, event_types, secret_sealed, active, description, created_at)
         values ($1, 'whk_' || $2, 'https://hooks.example/' || $2, '[]', '', $3, '', now())`,
        [org_id, n, active],
      );
    await query(
      `insert into deliveries (org_id, delivery_id, webhook_id, event_id, event_type, body, status, attempts, outcomes, due_at, created_at)
       select $1, 'dlv_7ZZZZZZZZZ' || n, 'whk_' || n % 2, 'evt_1', 'decision.escalated', '{}', 'failed', 3, '[]', now(), now()
       from generate_series(1, 4) n`,
      [org_id],
    );
  });
  expect(await attentionOf(own)).toMatchObject([
    {
      kind: "deliveries_failing",
      count: 2,
      what: "https://hooks.example/0",
      message: "2 deliveries to https://hooks.example/0 failed in the last 24 hours.",
    },
  ]);
});

test("a stored review with half a character is counted as due, and the others keep their causes", async () => {
  const own = await reviewedOrganization(database.db, url, escalating);
  const [broken] = [await submitted(own, pay({}, "fax")), await submitted(own, pay({}, "fax"))];
  await deadlineIn(database.db, [broken?.escalation_id ?? ""], "10 minutes");
  await database.db.tenant(own.org.org_id, (query) =>
    query(
      `update escalations set record = replace(record::text, '"reason":', '"note":"\\ud800","reason":')::json
       where org_id = $1 and escalation_id = $2`,
      [own.org.org_id, broken?.escalation_id],
    ),
  );
  expect(await attentionOf(own)).toMatchObject([
    { kind: "due_soon", count: 1 },
    { kind: "uncovered_tool", what: "fax", count: 1 },
  ]);
  for (const path of ["/v1/overview", "/v1/escalations?status=pending&rule=security&reviewer=role:reviewer&text=agent"])
    expect((await call(url, "GET", path, { key: own.reviewer })).status).toBe(200);
});
