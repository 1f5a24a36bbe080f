import { beforeAll, describe, expect, test } from "vitest";
import { recordState } from "../../src/operations/audit/record-state.ts";
import { verifyIn } from "../../src/operations/audit/verify-organization.ts";
import type { Query } from "../../src/ports.ts";
import { coveredTables } from "../../src/store/audit/state/covered-tables.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import {
  activatePayPolicy,
  blockedBody,
  type Reviewed,
  reviewedOrganization,
} from "../../src/testing/people/review.ts";
import { foundAfter } from "../../src/testing/undone.ts";

const database = await testDatabase();
const { db } = database;
let node: Awaited<ReturnType<typeof serviceNode>>;
let org: Reviewed;
let org_id: string;
let small: { intent_id: string };

const send = async (method: string, path: string, key: string, body?: unknown) => {
  const answer = await call(node.url, method, path, { key, body });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
  return answer.json;
};
const payment = (amount: number) => ({
  intent: {
    agent: { id: "bot" },
    action: { type: "payment.transfer", verb: "pay", target: { identifier: "acme" } },
    payload: { content: { amount } },
  },
  claim: "required",
  context: {
    contract_version: "1",
    facts: { security: { active_security_incident: false, prompt_injection_detected: false } },
  },
});
const submit = async (body: object) => (await send("POST", "/v1/intents", org.agent, body)).decision;

/** One organization with a row of each kind, all made by its API. */
beforeAll(async () => {
  node = await serviceNode(database);
  org = await reviewedOrganization(db, node.url);
  org_id = org.org.org_id;
  await activatePayPolicy(node.url, org, "large", {
    when: "params.amount > 10.0",
    escalation: { grants: { times_max: 5, hours_max: 24 } },
  });
  await send("PUT", "/v1/agents/bot", org.admin, { owner: "finance", purpose: "pays" });
  const counting = {
    apiVersion: "countersign/v1",
    kind: "Policy",
    metadata: { name: "a-day" },
    spec: {
      match: { verbs: ["pay"] },
      counters: [{ name: "paid", key: ["agent.id"], value: "params.amount", window: "24h" }],
      when: "count.paid.sum > 100000.0",
      effect: "block",
    },
  };
  const { policy } = await send("POST", "/v1/policies", org.admin, { policy: counting });
  await send("POST", `/v1/policies/${policy.policy_id}/activate`, org.admin, { mode: "live" });
  small = await submit(payment(5));
  const held = await submit(payment(100));
  await send("POST", `/v1/escalations/${held.escalation_id}/decision`, org.reviewer, { outcome: "approve" });
  await send("POST", `/v1/intents/${held.intent_id}/claim`, org.agent, { nonce: "a".repeat(32) });
  await send("POST", `/v1/intents/${held.intent_id}/observations`, org.agent, { status: "executed" });
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const asked = await submit(payment(200));
  const scope = { agent_id: "bot", verb: "pay", target: "acme", at_most: [{ path: "/amount", value: 500 }] };
  const terms = { intent_id: asked.intent_id, scope, times: 3, reason: "the usual supplier", until };
  await send("POST", "/v1/grants", org.reviewer, terms);
  await submit(payment(300));
  const blocked = await submit(blockedBody);
  await send("POST", `/v1/intents/${blocked.intent_id}/override`, org.operator, { reason: "known" });
  const adjustment = { membrane_id: org.membrane_id, key: ["bot"], kind: "grant", amount: 50, reason: "a busy day" };
  await send("POST", "/v1/counters/paid/adjustments", org.admin, adjustment);
  await send("PATCH", `/v1/membranes/${org.membrane_id}`, org.admin, { escalation: { confirm: "passkey" } });
  await send("POST", "/v1/agents/rogue/freeze", org.admin, { mode: "block", reason: "odd" });
});

const verified = (query: Query) => verifyIn(query, org_id);
const after = (sql: string, values: unknown[] = [org_id]) => foundAfter(db, (query) => query(sql, values), verified);

/** Columns of covered tables that no entry has: they decide nothing, change without an entry, or follow from others. */
const leftOut: Readonly<Record<string, readonly string[]>> = {
  agents: ["spellings", "first_seen_at", "last_seen_at"],
  api_keys: ["last_used_at", "last_submitted_at", "expiry_announced"],
  counter_entries: ["seq", "changed"],
  escalations: [
    ...["notified", "notice_at", "approval_moved_at", "approval_moved_by", "taken_by", "taken_at"],
    ...["amount_usd", "tool", "rule", "facets", "words"],
  ],
  freezes: ["closed_up_to"],
  membranes: ["updated_at"],
  organizations: [
    ...["name", "email", "description", "created_at", "state_recorded"],
    // An end of solo mode follows from the keys and people, but no entry has its time.
    ...["solo_ended_at", "reviewers_due_at", "reviewers_gone"],
  ],
  passkeys: ["name", "counter", "transports", "last_used_at"],
  people: [
    // Credentials: their changes are in the trail without their values.
    ...["password_hash", "password_changed_at", "totp_sealed", "totp_confirmed_at", "totp_last_step"],
    ...["name", "last_seen_at", "notify", "mail_rhythm", "digest_hour", "digest_at"],
  ],
  policies: ["updated_at"],
  rollouts: ["counted_from", "counted_before", "counts", "run_from", "run_before", "run_counts"],
};

test.each(Object.entries(coveredTables))(
  "every column of %s is covered, or left out by name",
  async (table, { id, columns }) => {
    const found = await db.query<{ name: string }>(
      "select column_name::text as name from information_schema.columns where table_schema = 'public' and table_name = $1",
      [table],
    );
    const covered = new Set(`org_id ${id} ${columns}`.match(/[a-z_0-9]+/g));
    const forgotten = found.map(({ name }) => name).filter((name) => !covered.has(name));
    expect(forgotten.sort()).toEqual([...(leftOut[table] ?? [])].sort());
  },
);

test("accepts everything that the service wrote", async () => {
  expect(await db.tenant(org_id, verified)).toMatchObject({ sound: true });
});

describe("names the row that somebody changed by SQL", () => {
  test.each<[what: string, table: string, columns: string[], sql: string]>([
    ["a membrane in shadow", "membranes", ["status"], "update membranes set status = 'shadow' where org_id = $1"],
    [
      "a key that is an admin's",
      "api_keys",
      ["role"],
      "update api_keys set role = 'admin' where org_id = $1 and role = 'agent'",
    ],
    [
      "a key with another secret",
      "api_keys",
      ["secret_check"],
      "update api_keys set key_sha256 = sha256('x') where org_id = $1 and role = 'admin'",
    ],
    [
      "a key that ends later",
      "api_keys",
      ["expires_at"],
      "update api_keys set expires_at = expires_at + interval '1 year' where org_id = $1 and role = 'agent'",
    ],
    [
      "another version in force",
      "policies",
      ["active_version", "status"],
      "update policies set status = 'draft', active_version = null where org_id = $1 and name = 'large'",
    ],
    [
      "another text of a policy",
      "policy_versions",
      ["document_check"],
      "update policy_versions set document = replace(document::text, '10.0', '99.0')::json where org_id = $1 and document::text like '%10.0%'",
    ],
    [
      "another parent of an agent",
      "agents",
      ["parent"],
      "update agents set parent = 'boss' where org_id = $1 and subject = 'bot'",
    ],
    ["a wider grant", "grants", ["times"], "update grants set times = 500 where org_id = $1"],
    [
      "an override for another action",
      "overrides",
      ["fingerprint"],
      "update overrides set fingerprint = sha256('x') where org_id = $1",
    ],
    [
      "a membrane whose reviewers need no passkey",
      "membranes",
      ["escalation"],
      "update membranes set escalation = (escalation::jsonb - 'confirm')::json where org_id = $1",
    ],
    ["a milder freeze", "freezes", ["mode"], "update freezes set mode = 'escalate' where org_id = $1"],
    ["a claim of another key", "claims", ["actor"], "update claims set actor = 'key_x' where org_id = $1"],
    ["a claim that is open again", "claims", ["unsettled"], "update claims set unsettled = true where org_id = $1"],
    [
      "a use of a grant by another action",
      "grant_uses",
      ["intent_id"],
      "update grant_uses set intent_id = 'int_x' where org_id = $1",
    ],
    [
      "an approval that may be used again",
      "escalations",
      ["approval_spent"],
      "update escalations set approval_spent = false where org_id = $1 and approval_spent",
    ],
    [
      "a setting of the organization",
      "organizations",
      ["go_live_needs_second_person"],
      "update organizations set go_live_needs_second_person = true where org_id = $1",
    ],
    [
      "a blocked action with another fingerprint",
      "ledger",
      ["fingerprint"],
      "update ledger set fingerprint = sha256('x') where org_id = $1 and verdict = 'block'",
    ],
  ])("%s", async (_, table, columns, sql) => {
    expect(await after(sql)).toMatchObject({
      problem: "differs",
      total: 1,
      differences: [{ table, columns, problem: "changed", seq: expect.any(Number) }],
    });
  });

  test.each<[what: string, table: string, problem: string, sql: string]>([
    ["a freeze that is gone", "freezes", "missing", "delete from freezes where org_id = $1"],
    ["a use of a grant that is gone", "grant_uses", "missing", "delete from grant_uses where org_id = $1"],
    ["a claim that is gone", "claims", "missing", "delete from claims where org_id = $1"],
    [
      "a key that nobody made",
      "api_keys",
      "unknown",
      `insert into api_keys (org_id, key_id, key_sha256, lineage_id, environment, scope, role, created_at, expires_at, lifetime_seconds, person)
       values ($1, 'key_x', sha256('x'), 'key_x', 'live', 'org', 'admin', now(), now() + interval '1 day', 86400, 'key_x')`,
    ],
    [
      "a person who never joined",
      "people",
      "unknown",
      "insert into people (org_id, user_id, email, role, created_at) values ($1, 'usr_x', 'x@example.com', 'admin', now())",
    ],
    [
      "an override that nobody approved",
      "overrides",
      "unknown",
      `insert into overrides (org_id, override_id, intent_id, decision_id, agent_id, mode, fingerprint, status, reason, lifts,
         policies_overridden, approved_by, created_at, approved_at, expires_at)
       select org_id, 'ovr_x', intent_id, decision_id, agent_id, mode, fingerprint, 'active', 'x', lifts, policies_overridden, approved_by,
         now(), now(), now() + interval '1 day' from overrides where org_id = $1 limit 1`,
    ],
    [
      "a granted amount that nobody granted",
      "counter_entries",
      "unknown",
      `insert into counter_entries (org_id, mode, name, key_sha, seq, at, intent_id, micros, actions, state, ends_at)
       select org_id, mode, name, key_sha, 1000000, at, 'aud_x', -1000000, 0, 'granted', ends_at from counter_entries where org_id = $1 limit 1`,
    ],
  ])("%s", async (_, table, problem, sql) => {
    expect(await after(sql)).toMatchObject({
      problem: "differs",
      differences: [{ table, problem, columns: [] }],
      total: 1,
    });
  });
});

describe("names what somebody changed in a counter", () => {
  const of = (state: string) => `where org_id = $1 and state = '${state}'`;
  test.each<[what: string, problem: string, columns: string[], sql: string]>([
    [
      "a smaller amount of a decision",
      "changed",
      ["micros"],
      "update counter_entries set micros = 1 where org_id = $1 and intent_id = $2",
    ],
    [
      "an action that counts no more",
      "missing",
      [],
      "update counter_entries set state = 'released' where org_id = $1 and intent_id = $2",
    ],
    ["an action that is gone", "missing", [], "delete from counter_entries where org_id = $1 and intent_id = $2"],
    [
      "an approved amount",
      "changed",
      ["micros"],
      `update counter_entries set micros = 1 ${of("approve")} and intent_id <> $2`,
    ],
    [
      "a larger grant",
      "changed",
      ["micros"],
      `update counter_entries set micros = -9000000 ${of("granted")} and intent_id <> $2`,
    ],
    ["a grant that is gone", "missing", [], `delete from counter_entries ${of("granted")} and intent_id <> $2`],
  ])("%s", async (_, problem, columns, sql) => {
    const found = await after(sql, [org_id, small.intent_id]);
    expect(found).toMatchObject({ problem: "differs" });
    const { differences } = found as { differences: readonly object[] };
    expect(differences.length).toBeGreaterThan(0);
    for (const each of differences) expect(each).toMatchObject({ table: "counter_entries", problem, columns });
  });
});

describe("rows of an earlier version", () => {
  /** Takes the states out of the ledger, as if an earlier version had written it. */
  const earlier = async (query: Query, of: string) => {
    await query("delete from ledger where org_id = $1", [of]);
    await query(
      "update org_heads set audit_seq = 0, entries = 0, audit_root = decode(repeat('0', 64), 'hex') where org_id = $1",
      [of],
    );
    await query("update organizations set state_recorded = false where org_id = $1", [of]);
  };

  test("are written down once, and count from then on", async () => {
    const { org: other } = await reviewedOrganization(db, node.url);
    const of = other.org_id;
    await db.system((query) => earlier(query, of));
    while (await recordState(node.runtime));
    expect(await db.tenant(of, (query) => verifyIn(query, of))).toMatchObject({ sound: true, rows: 1 });
    const changed = await foundAfter(
      db,
      (query) => query("update membranes set status = 'shadow' where org_id = $1", [of]),
      (query) => verifyIn(query, of),
    );
    expect(changed).toMatchObject({ differences: [{ table: "membranes", columns: ["status"] }] });
  });

  test("are not accepted from an organization of this version", async () => {
    const { org: other } = await reviewedOrganization(db, node.url);
    const of = other.org_id;
    await db.system(async (query) => {
      await query("update membranes set status = 'shadow' where org_id = $1", [of]);
      await query("update organizations set state_recorded = false where org_id = $1", [of]);
    });
    while (await recordState(node.runtime));
    expect(await db.tenant(of, (query) => verifyIn(query, of))).toMatchObject({
      differences: [
        { table: "ledger", problem: "unknown" },
        { table: "membranes", columns: ["status"] },
      ],
    });
  });
});
