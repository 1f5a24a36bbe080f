/** Migration 0034: what intents, audit and escalations held becomes entries of the ledger. */
import { type MergedFacts, mergeFacts, sha256Hex } from "@countersign/core";
import { expect, onTestFinished, test } from "vitest";
import { verifyAudit } from "../../src/store/audit/verify-audit.ts";
import { verifyReviews } from "../../src/store/audit/verify-reviews.ts";
import { openDb } from "../../src/store/database/db.ts";
import { migrate, readMigrations } from "../../src/store/database/migrate.ts";
import { readIntent } from "../../src/store/intents/intents.ts";
import { emptyDatabase } from "../../src/testing/database/database.ts";
import { silentLog } from "../../src/testing/nodes/silent-log.ts";

const org_id = "org_00000000000000000000000001";
const id = (kind: string, n: number) => `${kind}_${String(n).padStart(26, "0")}`;
const at = (n: number) => `2026-11-21T03:36:${String(n).padStart(2, "0")}.000001Z`;

const facts: readonly MergedFacts[] = [
  mergeFacts(
    [
      {
        source: "org",
        received_us: 7,
        document: { facts: { security: { a: 1, b: null }, identity: { 'quo"te': "é" } } },
      },
      { source: "inline", received_us: 9, document: { facts: { security: { b: 2, c: [] } } } },
    ] as unknown as Parameters<typeof mergeFacts>[0],
    "source_timeout",
  ),
  mergeFacts([]),
  mergeFacts([
    { source: "inline", received_us: 9, document: { facts: { security: {} } }, inexact: { security: ["a"] } },
  ]),
];
const shadow = [{ policy: "s", policy_id: "pol_s", effect: "block" }];
const resolution = '{"outcome":"approve", "status":"final"}';
const record = '{"status" : "decided"}';
const record_sha256 = sha256Hex(`${resolution}\u001e${record}`);

/** The trail as it was: type, actor, intent, and what the row says. */
const said = (n: number, more: object = {}) => ({
  ...{
    decision_id: id("dec", n),
    policies: ["p"],
    policy_set_sha256: "aa",
    risk_score: 0.5,
    verdict: "block",
    ...more,
  },
});
const submitted = { agent_id: "agent-1", membrane_id: "mem", pipeline_mode: "live" };
const [reviewed, overridden] = [
  { decision_id: id("dec", 2), escalation_id: id("esc", 2) },
  { decision_id: id("dec", 3), override_id: id("ovr", 3) },
];
const before: readonly (readonly [type: string, actor: string, intent: number | null, data: object])[] = [
  ["key_created", "usr_1", null, { n: "é" }],
  ["submitted", "key_1", 1, submitted],
  ["decided", "system", 1, said(1, { context_source: "source_timeout", shadow })],
  ["observed", "key_1", 1, { status: "executed" }],
  ["submitted", "key_1", 2, submitted],
  ["decided", "system", 2, said(2)],
  ["escalated", "system", 2, reviewed],
  ["reviewed", "usr_1", 2, { record_sha256 }],
  ["submitted", "open_mode", 3, submitted],
  ["decided", "system", 3, said(3)],
  ["override_spent", "system", 3, overridden],
];

/** A database of the version before, with the trail and what belongs to it. */
async function filled() {
  const connection = await emptyDatabase();
  await migrate(connection, silentLog, (await readMigrations()).slice(0, 33));
  const db = openDb(connection, silentLog);
  onTestFinished(() => db.close());
  await db.query(
    `insert into org_heads (org_id, auth_epoch, policy_epoch, context_epoch, webhooks, audit_seq, audit_root, usage_period, usage_used)
     values ($1, 0, 0, 0, 0, $2, '', '2026-11', 3), ('org_empty', 0, 0, 0, 0, 0, '', '2026-11', 0)`,
    [org_id, before.length],
  );
  for (const [index, [type, actor, n, data]] of before.entries()) {
    const unhashed = type === "decided" ? { ...data, record_sha256: "bb" } : data;
    await db.query("insert into audit values ($1, $2, $3, $4, $5, $6, $7::timestamptz, $8::json, '')", [
      ...[org_id, index + 1, id("aud", index + 1), n === null ? null : id("int", n), type, actor],
      ...[at(n ?? 0), JSON.stringify(unhashed)],
    ]);
  }
  for (const n of [1, 2, 3]) {
    const decision = { verdict: "block", reasons: [{ policy: "p" }], modifications: [], risk_score: 0.5 };
    const more = { policy_set: { sha256: "aa" }, human_override_id: n === 3 ? id("ovr", 3) : null };
    const intent = { submitted: { agent: { id: "agent-1" }, action: { verb: "v" } }, attested: false };
    await db.query(
      `insert into intents (org_id, intent_id, decision_id, membrane_id, agent_id, key_id, lineage_id, mode, verdict, status, escalation_id,
         intent, facts, decision, resolution, created_at)
       values ($1, $2, $3, 'mem', 'agent-1', $4, null, 'live', 'block', 'final', $5, $6::json, $7::json, $8::json, $9::json, $10::timestamptz)`,
      [
        ...[org_id, id("int", n), id("dec", n), n === 3 ? null : "key_1", n === 2 ? id("esc", 2) : null],
        ...[JSON.stringify(intent), JSON.stringify(facts[n - 1]), JSON.stringify({ ...decision, ...more })],
        ...[n === 2 ? resolution : null, at(n)],
      ],
    );
  }
  await db.query(
    `insert into escalations (org_id, escalation_id, intent_id, decision_id, agent_id, mode, status, record, created_at, expires_at, demands)
     values ($1, $2, $3, $4, 'agent-1', 'live', 'decided', $5::json, now(), now(), '[]')`,
    [org_id, id("esc", 2), id("int", 2), id("dec", 2), record],
  );
  return { connection, db };
}

test("the ledger has every record, decision and ruling of before, and is verified from then on", async () => {
  const { connection, db } = await filled();
  await migrate(connection, silentLog);
  const records = await db.query<{
    seq: number;
    type: string;
    actor: string;
    at: string;
    data: object;
    audit_id: string;
  }>("select seq, type, actor, intent_id, at, data, audit_id from audit where org_id = $1 order by seq", [org_id]);
  expect(records).toMatchObject(
    before.map(([type, actor, n, data], index) => ({
      ...{ seq: index + 1, type, actor, intent_id: n === null ? null : id("int", n), at: at(n ?? 0) },
      data: type === "decided" ? expect.objectContaining(data) : data,
    })),
  );
  for (const { data } of records.filter(({ type }) => type === "decided"))
    expect(data).not.toHaveProperty("record_sha256");
  expect([1, 4, 8].map((seq) => records[seq - 1]?.audit_id)).toEqual([1, 4, 8].map((seq) => id("aud", seq)));
  await db.tenant(org_id, async (query) => {
    expect(await verifyAudit(query, org_id)).toMatchObject({ sound: true, rows: before.length, intents: 3 });
    expect(await verifyReviews(query, org_id)).toEqual({ sound: true, reviews: 1 });
    for (const n of [1, 2, 3]) {
      const stored = await readIntent(query, org_id, id("int", n));
      expect(stored).toMatchObject({ decision_id: id("dec", n), status: "final", created_at: at(n), verdict: "block" });
      expect(stored?.facts).toEqual(facts[n - 1]);
      expect(stored?.resolution).toEqual(n === 2 ? JSON.parse(resolution) : null);
    }
  });
  expect(await db.tenant("org_empty", (query) => verifyAudit(query, "org_empty"))).toMatchObject({
    sound: true,
    rows: 0,
  });
});

test("a trail that lacks a record is left as it is, and said to be broken", async () => {
  const { connection, db } = await filled();
  await db.query("delete from audit where seq = 4");
  await expect(migrate(connection, silentLog)).rejects.toThrow(`the audit trail of ${org_id} is not whole`);
  expect(await db.query("select from audit")).toHaveLength(before.length - 1);
});
