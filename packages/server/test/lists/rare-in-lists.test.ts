import { beforeAll, expect, test } from "vitest";
import type { Query } from "../../src/ports.ts";
import { readAuditPage, readTrailPage } from "../../src/store/audit/audit.ts";
import { verifyReviews } from "../../src/store/audit/state/verify-reviews.ts";
import { listEscalations } from "../../src/store/escalations/escalations.ts";
import { listIntents } from "../../src/store/intents/intents.ts";
import { firstIdAt } from "../../src/store/rows/first-id-at.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { type LedgerChange, type LedgerDecision, ledgerRows } from "../../src/testing/database/ledger-rows.ts";
import { explained, mostRows, type Plan, planOf } from "../../src/testing/database/plan.ts";

const { db, analyze } = await testDatabase();
const org_id = "org_00000000000000000000000001";
const many = 5_000;

beforeAll(async () => {
  const told: readonly (LedgerDecision | LedgerChange)[] = [
    { type: "user_removed" },
    { type: "delivery_failed", actor: "key_1" },
    { actor: "usr_1" },
    { actor: "usr_1" },
    { mode: "shadow", agent_id: "rare" },
    { verdict: "escalate", escalation_id: "esc_1" },
    { override_id: "ovr_1" },
  ];
  const others = Array.from({ length: many }, (_, n) =>
    n % 2 === 0 ? {} : { type: "delivered", intent_id: `int_of_${n}` },
  );
  await ledgerRows(db, org_id, [...told, ...others]);
  await db.query(
    `insert into escalations (org_id, escalation_id, intent_id, decision_id, agent_id, mode, status, record, created_at, expires_at, demands)
     select $1, 'esc_' || lpad(n::text, 26, '0'), 'int', 'dec', case n when 2 then 'rare' else 'agent' end, 'live', case n when 3 then 'cancelled' else 'decided' end,
       json_build_object('n', n, 'reviewers', json_build_array(json_build_object('type', 'user', 'id', case n when 1 then 'usr_1' else 'usr_2' end))),
       now(), now(), '[]' from generate_series(1, $2::integer) as n`,
    [org_id, many],
  );
  await analyze("ledger, escalations");
});

/** Returns the most rows that one plan step returned or filtered out. */
async function rowsRead(list: (query: Query) => Promise<unknown>, of = org_id): Promise<number> {
  const plans: Plan[] = [];
  await db.tenant(of, (query) => list(explained(query, plans)));
  return Math.max(...plans.map(mostRows));
}

test.each(["user_removed", "delivery_failed", "key_created", "escalated", "override_spent"] as const)(
  "audit rows of type %s",
  async (type) => {
    expect(await rowsRead((query) => readTrailPage(query, org_id, { type }, null, 51))).toBeLessThan(10);
  },
);

test("a page of all audit rows, from any row on", async () => {
  for (const before of [null, 20, many, many + 1, many + 2] as const) {
    const list = (query: Query) => readTrailPage(query, org_id, {}, before, 51);
    expect(await rowsRead(list), `${before}`).toBeLessThan(200);
    const seqs = (await db.tenant(org_id, list)).rows.map(({ seq }) => seq);
    const first = before === null ? (seqs[0] ?? 0) : before - 1;
    expect(seqs).toEqual(Array.from({ length: Math.min(51, first) }, (_, n) => first - n));
  }
});

test("the audit rows of one intent", async () => {
  const [middle] = await db.query<{ intent_id: string }>(
    "select intent_id from intents where org_id = $1 and seq > $2 order by seq limit 1",
    [org_id, many],
  );
  const list = (query: Query) => readAuditPage(query, org_id, middle?.intent_id ?? "", 0, 51);
  expect(await rowsRead(list)).toBeLessThan(10);
  expect((await db.tenant(org_id, list)).rows).toMatchObject([{ type: "submitted" }, { type: "decided" }]);
});

test("audit rows of one person, or of nobody", async () => {
  for (const [actor, seqs] of [
    ["usr_1", [5, 3]],
    ["usr_2", []],
    ["open_mode", []],
  ] as const) {
    const list = (query: Query) => readTrailPage(query, org_id, { actor }, null, 51);
    expect(await rowsRead(list), actor).toBeLessThan(10);
    expect((await db.tenant(org_id, list)).rows.map(({ seq }) => seq)).toEqual(seqs);
    const submitted = (query: Query) => readTrailPage(query, org_id, { actor, type: "submitted" }, 5, 51);
    expect(await rowsRead(submitted), actor).toBeLessThan(10);
    expect((await db.tenant(org_id, submitted)).rows.map(({ seq }) => seq)).toEqual(seqs.slice(1));
  }
  for (const actor of ["system", "key_1"]) {
    const list = (query: Query) => readTrailPage(query, org_id, { actor }, null, 51);
    expect((await db.tenant(org_id, list)).rows, actor).toHaveLength(51);
  }
});

test("audit rows of a time range, anywhere in the trail", async () => {
  const heads = `insert into org_heads (org_id, auth_epoch, policy_epoch, context_epoch, webhooks, audit_seq, audit_root, entries,
    usage_period, usage_used) values ($1, 0, 0, 0, 0, $2, '', 0, '2026-01', 0)`;
  const busy = "org_00000000000000000000000002";
  const begun_ms = Date.UTC(2026, 0, 1);
  const time = (second: number) => new Date(begun_ms + second * 1_000).toISOString();
  // One row each second. One node's clock is seven minutes slow, another's seven fast.
  const astray = new Map([
    [2_000, 2_000 - 420],
    [3_000, 3_000 + 420],
  ]);
  const at = (seq: number) => astray.get(seq) ?? seq;
  await db.query(heads, [busy, many]);
  const rows = Array.from({ length: many }, (_, index) => ({ type: "delivered", at: time(at(index + 1)) }));
  await ledgerRows(db, busy, rows);
  await analyze("ledger");
  const list = (from: number | null, to: number | null, before: number | null = null, limit = many) =>
    db.tenant(busy, (query) =>
      readTrailPage(
        query,
        busy,
        { ...(from === null ? {} : { from: time(from) }), ...(to === null ? {} : { to: time(to) }) },
        before,
        limit,
      ),
    );
  const seqs = async (...asked: Parameters<typeof list>) => (await list(...asked)).rows.map(({ seq }) => seq);
  const within = (from: number | null, to: number | null) =>
    Array.from({ length: many }, (_, index) => many - index).filter(
      (seq) => (from === null || at(seq) >= from) && (to === null || at(seq) < to),
    );
  const edges = [null, 0, 1, 2, 1_580, 1_581, 3_420, 3_421, many, many + 1];
  for (const from of edges)
    for (const to of edges) expect(await seqs(from, to), `${from} to ${to}`).toEqual(within(from, to));
  expect(await seqs(100, 110, 105, 3)).toEqual([104, 103, 102]);
  expect(await seqs(100, 110, 102, 3)).toEqual([101, 100]);
  // Allows ten minutes of clock error before and after, but must not read all earlier records.
  const [early, late] = [time(1_000), time(1_010)];
  expect(await rowsRead((query) => readTrailPage(query, busy, { from: early, to: late }, null, 51), busy)).toBeLessThan(
    1_300,
  );
  expect(
    await rowsRead((query) => readTrailPage(query, busy, { from: time(many + 900) }, null, 51), busy),
  ).toBeLessThan(50);
  const none = "org_00000000000000000000000003";
  await db.query(heads, [none, 0]);
  const empty = db.tenant(none, (query) => readTrailPage(query, none, { from: early, to: late }, null, 51));
  expect((await empty).rows).toEqual([]);
});

test("audit rows that cannot exist: no statement for an actor and type that never match", async () => {
  const nothing: Query = () => Promise.reject(new Error("a statement was sent"));
  for (const filter of [
    { actor: "key_1", type: "decided" },
    { actor: "usr_1", type: "delivered" },
    { actor: "system", type: "submitted" },
    { actor: "system", type: "observed" },
  ] as const)
    expect(await readTrailPage(nothing, org_id, filter, null, 51), filter.type).toEqual({ rows: [], more: false });
  for (const filter of [
    { actor: "system", type: "decided" },
    { actor: "key_1", type: "submitted" },
    { type: "decided" },
  ] as const)
    await expect(readTrailPage(nothing, org_id, filter, null, 51), filter.type).rejects.toThrow("was sent");
});

test("audit rows of a key, from when it was made until it ended", async () => {
  const own = "org_00000000000000000000000004";
  const begun_ms = Date.UTC(2026, 0, 1);
  const key = (second: number) => firstIdAt("api_key", begun_ms + second * 1_000).padEnd(30, "0");
  await db.query(
    `insert into org_heads (org_id, auth_epoch, policy_epoch, context_epoch, webhooks, audit_seq, audit_root, entries, usage_period,
       usage_used)
     values ($1, 0, 0, 0, 0, $2, '', 0, '2026-01', 0)`,
    [own, many * 2],
  );
  const [former, recent] = [key(1_000), key(4_900)];
  // One decision each second, two records each. The former key was revoked three minutes after its creation.
  await ledgerRows(
    db,
    own,
    Array.from({ length: many }, (_, index) => index + 1).map((n) => ({
      actor: n === 1_001 ? former : n === 4_990 ? recent : "key_1",
      at: new Date(begun_ms + n * 1_000).toISOString(),
    })),
  );
  await db.query(
    `insert into api_keys (org_id, key_id, key_sha256, lineage_id, environment, scope, role, created_at, expires_at, lifetime_seconds,
       revoked_at, person)
     select $1, key_id, '', key_id, 'live', 'org', 'agent', now(), '2027-01-01', 1, revoked_at, key_id
     from unnest($2::text[], $3::timestamptz[]) as k(key_id, revoked_at)`,
    [own, [former, recent], [new Date(begun_ms + 1_180_000).toISOString(), null]],
  );
  await analyze("ledger");
  const unknown = key(4_950);
  for (const [actor, seqs, most] of [
    [former, [2_001], 1_400],
    [recent, [9_979], 720],
    [unknown, [], 670],
    ["key_ZZZZZZZZZZZZZZZZZZZZZZZZZZ", [], 50],
  ] as const) {
    const list = (query: Query) => readTrailPage(query, own, { actor }, null, 51);
    expect(await rowsRead(list, own), actor).toBeLessThan(most);
    expect((await db.tenant(own, list)).rows.map(({ seq }) => seq)).toEqual(seqs);
  }
});

test("intents that were decided in a membrane that is new", async () => {
  const membrane_id = firstIdAt("membrane", Date.UTC(2026, 0, 1)).padEnd(30, "0");
  expect(await rowsRead((query) => listIntents(query, org_id, { membrane_id }, null, 51))).toBeLessThan(10);
});

test("intents that were decided in shadow, or in test mode", async () => {
  for (const mode of ["shadow", "test"] as const)
    expect(await rowsRead((query) => listIntents(query, org_id, { mode }, null, 51)), mode).toBeLessThan(10);
});

test("held intents, and those of a rare agent", async () => {
  for (const filter of [{ verdict: "escalate" }, { verdict: "block" }, { agent_id: "rare" }] as const)
    expect(
      await rowsRead((query) => listIntents(query, org_id, filter, null, 51)),
      JSON.stringify(filter),
    ).toBeLessThan(10);
});

test("a new key's intents among older ones of others", async () => {
  const made_ms = Date.UTC(2026, 0, 1);
  const lineage_id = firstIdAt("api_key", made_ms).padEnd(30, "Z");
  // Clocks of two nodes differ, so an intent may appear older than its key.
  const intent_id = firstIdAt("intent", made_ms - 60_000).padEnd(30, "0");
  await ledgerRows(db, org_id, [{ intent_id, lineage_id }]);
  const list = (query: Query) => listIntents(query, org_id, { lineage_id }, null, 51);
  expect(await rowsRead(list)).toBeLessThan(10);
  expect((await db.tenant(org_id, list)).rows.map((row) => row.intent_id)).toEqual([intent_id]);
  const earlier = (query: Query) => listIntents(query, org_id, { lineage_id, from: "2025-01-01T00:00:00Z" }, null, 51);
  expect(await rowsRead(earlier)).toBeLessThan(10);
  const later = (query: Query) => listIntents(query, org_id, { lineage_id, from: "2026-02-01T00:00:00Z" }, null, 51);
  expect((await db.tenant(org_id, later)).rows).toEqual([]);
});

test("escalations of a rarely held agent, of test mode, and with a rare outcome", async () => {
  const agent = { agent_id: "rare", reviewers: null, person: null } as const;
  const cancelled = { status: "cancelled", reviewers: null, person: null } as const;
  const none = { status: "timed_out", reviewers: null, person: null } as const;
  const test = { mode: "test", reviewers: null, person: null } as const;
  for (const filter of [agent, { ...agent, status: "decided" }, cancelled, none, test] as const) {
    const list = (query: Query) => listEscalations(query, org_id, filter, null, 51);
    expect(await rowsRead(list), JSON.stringify(filter)).toBeLessThan(10);
  }
  const own = await db.tenant(org_id, (query) => listEscalations(query, org_id, agent, null, 51));
  expect(own.rows).toMatchObject([{ record: { n: 2 } }]);
  const ended = await db.tenant(org_id, (query) => listEscalations(query, org_id, cancelled, null, 51));
  expect(ended.rows).toMatchObject([{ record: { n: 3 } }]);
});

test("one person's reviews, without reading other people's records", async () => {
  /** Returns the loops of the most repeated plan step. */
  const most = (plan: Plan): number => Math.max(plan["Actual Loops"], ...(plan.Plans ?? []).map(most));
  for (const [reviewer, found] of [
    ["usr_1", [1]],
    ["user:usr_1", [1]],
    ["role:usr_1", []],
    ["nobody", []],
  ] as const) {
    const list = (query: Query) => listEscalations(query, org_id, { reviewers: [reviewer], person: null }, null, 51);
    expect(most(await planOf(db, org_id, list)), reviewer).toBeLessThan(10);
    expect((await db.tenant(org_id, list)).rows, reviewer).toMatchObject(found.map((n) => ({ record: { n } })));
  }
});

test("decisions whose reviews a check compares with the ledger", async () => {
  await db.query(
    `insert into org_heads (org_id, auth_epoch, policy_epoch, context_epoch, webhooks, audit_seq, audit_root, entries, usage_period,
       usage_used)
     values ($1, 0, 0, 0, 0, $2, '', 0, '2026-01', 0)`,
    [org_id, many * 2],
  );
  expect(await rowsRead((query) => verifyReviews(query, org_id).next())).toBeLessThan(10);
});
