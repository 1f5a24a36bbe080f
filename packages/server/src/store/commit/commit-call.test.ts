import { idPattern } from "@countersign/contract";
import { afterAll, describe, expect, it } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { decisionRows, type RowsWanted } from "../../testing/database/decision-rows.ts";
import { storedDecisions } from "../../testing/database/ledger-rows.ts";
import { verifyAudit } from "../audit/verify-audit.ts";
import { createHead } from "../organizations/heads.ts";
import { insertOverride } from "../overrides/overrides.ts";
import { outcomeOf } from "./commit-call.ts";
import { callsOf, encode } from "./commit-records.ts";
import { connectCommit } from "./commit-writer-connection.ts";
import type { DecisionRows } from "./commit-writer-rows.ts";

const { connection, db } = await testDatabase();
const ids = createIds(createClock());
const session = await connectCommit(connection)();
afterAll(() => session.close());

/** Commits row sets with equal terms. Returns the refusals by position from 0. Throws the error of the call. */
async function commit(rows: readonly DecisionRows[], again = false) {
  const [settled, ...others] = await session.commit(callsOf(rows.map(encode), again));
  if (settled?.status !== "fulfilled" || others.length > 0) throw settled?.status === "rejected" && settled.reason;
  return settled.value.map((refused) => [refused.line - 1, outcomeOf(refused)] as const).sort(([a], [b]) => a - b);
}

const december = "2026-12-01T00:00:00.000000Z";

async function organization(hard_limit: number | null = null, used = 0, period = "2026-11"): Promise<string> {
  const org_id = ids.next("organization");
  await db.tenant(org_id, (query) => createHead(query, org_id, period, hard_limit));
  await db.query("update org_heads set usage_used = $2 where org_id = $1", [org_id, used]);
  return org_id;
}

async function overrideOf(org_id: string): Promise<string> {
  const blocked = decisionRows(ids, org_id);
  await commit([blocked]);
  const override_id = ids.next("override");
  const { intent_id, decision_id, agent_id } = blocked.entry;
  const made = { override_id, intent_id, decision_id, agent_id, mode: "live", reason: "known", lifts: [] } as const;
  const approval = { policies_overridden: [], approved_by: "usr_1", created_at: new Date().toISOString() };
  await db.tenant(org_id, (query) => insertOverride(query, org_id, { ...made, ...approval }, 1));
  return override_id;
}

const verify = (org_id: string) => db.tenant(org_id, (query) => verifyAudit(query, org_id));

/** Returns the records by seq, and checks their ids. */
async function recordsOf(org_id: string): Promise<string[]> {
  const records = await db.query<{ seq: number; type: string; intent_id: string; audit_id: string }>(
    "select seq, type, intent_id, audit_id from audit where org_id = $1 order by seq",
    [org_id],
  );
  expect(new Set(records.map(({ audit_id }) => audit_id)).size).toBe(records.length);
  for (const { audit_id } of records) expect(audit_id).toMatch(new RegExp(idPattern("audit")));
  return records.map(({ seq, type, intent_id }) => `${seq} ${type} ${intent_id}`);
}

const headOf = async (org_id: string) =>
  (await db.query("select audit_seq, usage_used, usage_period from org_heads where org_id = $1", [org_id]))[0];

describe("the calls of a batch", () => {
  const here = ids.next("organization");
  const row = (wanted: RowsWanted = {}, org_id = here): DecisionRows => decisionRows(ids, org_id, wanted);

  it.each<[string, readonly DecisionRows[], readonly (readonly number[])[]]>([
    ["one decision", [row()], [[0]]],
    ["decisions under the same terms", [row(), row({ agent_id: "other" })], [[0, 1]]],
    ["two organizations", [row(), row({}, ids.next("organization")), row()], [[0, 2], [1]]],
    ["two modes", [row(), row({ mode: "shadow" })], [[0], [1]]],
    ["two months", [row(), row({ created_at: december })], [[0], [1]]],
    ["two epochs of keys", [row(), row({ epochs: { auth: 1 } })], [[0], [1]]],
    ["two epochs of policies", [row(), row({ epochs: { policy: 1 } })], [[0], [1]]],
    ["two epochs of context", [row(), row({ epochs: { context: 1 } })], [[0], [1]]],
  ])("with %s", (_, rows, places) => {
    expect(callsOf(rows.map(encode), false).map((call) => call.places)).toEqual(places);
  });

  it.each<[string, DecisionRows, boolean]>([
    ["a plain decision", row(), false],
    ["a review", row({ escalate: true }), false],
    ["an event", row({ event: true }), false],
    ["an idempotency key", row({ idempotency_key: "k" }), true],
    ["an override", row({ override_id: "ovr" }), true],
  ])("%s: `keyed` is set if needed", (_, rows, keyed) => {
    expect(callsOf([row(), rows].map(encode), false)).toMatchObject([{ keyed }]);
  });
});

describe("a call", () => {
  it("stores its rows unchanged and its audit records in order", async () => {
    const org_id = await organization();
    const rows = [{}, { agent_id: "other" }, { escalate: true }].map((wanted) => decisionRows(ids, org_id, wanted));
    expect(await commit(rows)).toEqual([]);
    expect(await storedDecisions(db, org_id)).toEqual(
      rows.map(({ entry }, n) => ({ seq: [2, 4, 7][n], entry: n, decision: entry })),
    );
    const [first, second, third] = rows.map(({ entry }) => entry.intent_id);
    expect(await recordsOf(org_id)).toEqual([
      ...[`1 submitted ${first}`, `2 decided ${first}`, `3 submitted ${second}`, `4 decided ${second}`],
      ...[`5 submitted ${third}`, `6 decided ${third}`, `7 escalated ${third}`],
    ]);
    expect(await verify(org_id)).toMatchObject({ sound: true, rows: 7 });
    expect(await headOf(org_id)).toEqual({ audit_seq: 7, usage_used: 3, usage_period: "2026-11" });
  });

  it.each<[string, { limit: number | null; used: number }, RowsWanted, size: number, stored: number]>([
    ["up to the limit and none above", { limit: 10, used: 7 }, {}, 5, 3],
    ["exactly up to the limit", { limit: 10, used: 5 }, {}, 5, 5],
    ["nothing at the limit", { limit: 10, used: 10 }, {}, 2, 0],
    ["nothing above a lowered limit", { limit: 10, used: 20 }, {}, 2, 0],
    ["nothing if the limit is 0", { limit: 0, used: 0 }, {}, 2, 0],
    ["shadow decisions beyond the limit", { limit: 10, used: 10 }, { mode: "shadow" }, 3, 3],
  ])("stores %s", async (_, { limit, used }, wanted, size, stored) => {
    const org_id = await organization(limit, used);
    const refused = await commit(Array.from({ length: size }, () => decisionRows(ids, org_id, wanted)));
    const outcome = {
      outcome: "quota_exceeded",
      period: "2026-11",
      used: Math.max(used, limit ?? 0),
      hard_limit: limit,
      announced: false,
    };
    expect(refused).toEqual(Array.from({ length: size - stored }, (_, n) => [stored + n, outcome]));
    expect(await db.query("select from intents where org_id = $1", [org_id])).toHaveLength(stored);
    const counted = wanted.mode === "shadow" ? 0 : stored;
    expect(await headOf(org_id)).toMatchObject({ audit_seq: stored * 2, usage_used: used + counted });
    expect(await verify(org_id)).toMatchObject({ sound: true });
  });

  it("refuses decisions of other epochs and of an unknown organization", async () => {
    const org_id = await organization();
    for (const epochs of [{ auth: 1 }, { policy: 1 }, { context: 1 }]) {
      const stale = { outcome: "stale", epochs: { auth: 0, policy: 0, context: 0 } };
      const rows = [decisionRows(ids, org_id, { epochs }), decisionRows(ids, org_id, { epochs })];
      expect(await commit(rows)).toEqual([
        [0, stale],
        [1, stale],
      ]);
    }
    expect(await commit([decisionRows(ids, ids.next("organization"))])).toEqual([[0, "no_head"]]);
  });

  it("stores nothing if one of its intents exists, unless it looks for them first", async () => {
    const org_id = await organization();
    const twice = decisionRows(ids, org_id);
    const other = decisionRows(ids, org_id);
    await commit([twice]);
    await expect(commit([other, twice])).rejects.toMatchObject({ code: "23505" });
    expect(await db.query("select from intents where org_id = $1", [org_id])).toHaveLength(1);
    expect(await commit([other, twice], true)).toEqual([[1, { outcome: "committed" }]]);
    expect(await verify(org_id)).toMatchObject({ sound: true, rows: 4 });
  });

  it("finds its own intents even if the epochs were raised since", async () => {
    const org_id = await organization();
    const rows = decisionRows(ids, org_id);
    await commit([rows]);
    await db.query("update org_heads set policy_epoch = 5 where org_id = $1", [org_id]);
    const stale = { outcome: "stale", epochs: { auth: 0, policy: 5, context: 0 } };
    expect(await commit([decisionRows(ids, org_id), rows], true)).toEqual([
      [0, stale],
      [1, { outcome: "committed" }],
    ]);
  });

  it("checks the idempotency key before the month and the limit", async () => {
    const org_id = await organization(1);
    const first = decisionRows(ids, org_id, { idempotency_key: "k" });
    await commit([first]);
    const { intent_id } = first.entry;
    const duplicate = { outcome: "duplicate", intent_id, request_sha256: first.idempotency?.request_sha256 };
    const again = decisionRows(ids, org_id, { idempotency_key: "k", created_at: december });
    expect(await commit([again])).toEqual([[0, duplicate]]);
    expect(await headOf(org_id)).toMatchObject({ usage_period: "2026-11" });
    expect(
      await commit([decisionRows(ids, org_id), decisionRows(ids, org_id, { idempotency_key: "k" })]),
    ).toMatchObject([
      [0, { outcome: "quota_exceeded" }],
      [1, duplicate],
    ]);
  });

  it("spends an override once, even if several decisions use it", async () => {
    const org_id = await organization();
    const override_id = await overrideOf(org_id);
    const batch = [{}, ...Array(3).fill({ override_id })].map((wanted: RowsWanted) =>
      decisionRows(ids, org_id, wanted),
    );
    const spent = { outcome: "override_spent" };
    expect(await commit(batch)).toEqual([
      [2, spent],
      [3, spent],
    ]);
    expect(await db.query("select status, consumed_by from overrides where org_id = $1", [org_id])).toEqual([
      { status: "consumed", consumed_by: batch[1]?.entry.intent_id },
    ]);
    const records = await recordsOf(org_id);
    expect(records).toHaveLength(7); // one blocked decision, one without an override, one with an override
    expect(records.slice(4)).toEqual(
      ["5 submitted", "6 decided", "7 override_spent"].map((each) => `${each} ${batch[1]?.entry.intent_id}`),
    );
    expect(await verify(org_id)).toMatchObject({ sound: true, rows: 7, intents: 3 });
  });

  it("leaves an override active if the limit refuses the decision", async () => {
    const org_id = await organization(1);
    const override_id = await overrideOf(org_id);
    expect(await commit([decisionRows(ids, org_id, { override_id })])).toMatchObject([
      [0, { outcome: "quota_exceeded" }],
    ]);
    expect(await db.query("select status from overrides where org_id = $1", [org_id])).toEqual([{ status: "active" }]);
  });

  it("opens a month with its first live decision only", async () => {
    const org_id = await organization(10, 8);
    expect(await commit([decisionRows(ids, org_id, { mode: "shadow", created_at: december })])).toEqual([]);
    expect(await headOf(org_id)).toMatchObject({ usage_used: 8, usage_period: "2026-11" });
    const live = Array.from({ length: 3 }, () => decisionRows(ids, org_id, { created_at: december }));
    expect(await commit(live)).toEqual([]);
    expect(await headOf(org_id)).toMatchObject({ usage_used: 3, usage_period: "2026-12" });
    expect(await db.query("select period, used from usage_periods where org_id = $1", [org_id])).toEqual([
      { period: "2026-11", used: 8 },
    ]);
    expect(await commit([decisionRows(ids, org_id)])).toEqual([]);
    expect(await headOf(org_id)).toMatchObject({ usage_used: 4, usage_period: "2026-12" });
  });

  it("sees only the organization that it is called for", async () => {
    const org_id = await organization();
    const elsewhere = decisionRows(ids, await organization(), { idempotency_key: "k" });
    await commit([elsewhere]);
    expect(await commit([decisionRows(ids, org_id, { idempotency_key: "k" })])).toEqual([]);
  });
});
