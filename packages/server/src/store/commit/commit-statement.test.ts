import { afterAll, describe, expect, it } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { decisionRows, type RowsWanted } from "../../testing/database/decision-rows.ts";
import { verifyAudit } from "../audit/audit.ts";
import { createHead } from "../organizations/heads.ts";
import { insertOverride } from "../overrides/overrides.ts";
import { type CommitOrder, encode, orderOf } from "./commit-records.ts";
import { decode } from "./commit-statement.ts";
import { connectCommit } from "./commit-writer-connection.ts";
import type { DecisionRows } from "./commit-writer-rows.ts";

const { connection, db } = await testDatabase();
const ids = createIds(createClock());
const session = await connectCommit(connection)();
afterAll(() => session.close());

const statements = ["full", "plain", "uniform"] as const satisfies readonly CommitOrder["statement"][];

const orderFor = (rows: readonly DecisionRows[], again = false): CommitOrder => orderOf(rows.map(encode), again);

describe("the statement of a batch", () => {
  const here = ids.next("organization");
  const row = (wanted: RowsWanted = {}, org_id = here): DecisionRows => decisionRows(ids, org_id, wanted);

  it.each<[string, CommitOrder["statement"], readonly DecisionRows[]]>([
    ["one decision", "uniform", [row()]],
    ["decisions under the same terms", "uniform", [row(), row({ agent_id: "other" })]],
    ["two organizations", "plain", [row(), row({}, ids.next("organization"))]],
    ["two modes", "plain", [row(), row({ mode: "shadow" })]],
    ["two months", "plain", [row(), row({ created_at: "2026-12-01T00:00:00.000000Z" })]],
    ["two epochs of keys", "plain", [row(), row({ epochs: { auth: 1 } })]],
    ["two epochs of policies", "plain", [row(), row({ epochs: { policy: 1 } })]],
    ["two epochs of context", "plain", [row(), row({ epochs: { context: 1 } })]],
    ["an idempotency key", "full", [row(), row({ idempotency_key: "k" })]],
    ["a review", "full", [row({ escalate: true })]],
    ["an event", "full", [row({ event: true })]],
    ["an override", "full", [{ ...row(), override_id: "ovr" }]],
  ])("with %s is %s", (_, statement, rows) => {
    expect(orderFor(rows).statement).toBe(statement);
    expect(orderFor(rows, true).statement).toBe("full");
  });
});

describe("the three statements do the same", () => {
  /** What became of a batch that is committed after another one, by the statement named; told without what differs by its make. */
  async function committed(
    statement: CommitOrder["statement"],
    head: { readonly hard_limit: number | null; readonly used: number; readonly period?: string } | null,
    wanted: RowsWanted,
    size: number,
  ) {
    const org_id = ids.next("organization");
    if (head !== null) {
      await db.tenant(org_id, (query) => createHead(query, org_id, head.period ?? "2026-11", head.hard_limit));
      await db.query("update org_heads set usage_used = $2 where org_id = $1", [org_id, head.used]);
    }
    const rows = Array.from({ length: size }, () => decisionRows(ids, org_id, wanted));
    const returned = await session.commit({ ...orderFor(rows), statement });
    const places = new Map(rows.map((each, index) => [each.intent.intent_id, index]));
    const stored = await db.query<{ intent_id: string }>(
      `select intent_id, decision_id, membrane_id, agent_id, key_id, lineage_id, mode, verdict, status, escalation_id,
         encode(fingerprint, 'hex') as fingerprint, intent::text, facts::text, decision::text, created_at
       from intents where org_id = $1 order by intent_id`,
      [org_id],
    );
    // What is stored is stored as it was given.
    for (const row of stored) expect(row).toEqual(rows[places.get(row.intent_id) ?? -1]?.intent);
    const audit = await db.query<{ seq: number; intent_id: string | null; type: string }>(
      "select seq, intent_id, type from audit where org_id = $1 order by seq",
      [org_id],
    );
    const [now] = await db.query("select audit_seq, usage_used, usage_period from org_heads where org_id = $1", [
      org_id,
    ]);
    return {
      answered: returned.map(decode).sort((a, b) => a.index - b.index),
      stored: stored.map((row) => places.get(row.intent_id)).sort(),
      audit: audit.map(({ intent_id, ...row }) => [row.seq, places.get(intent_id ?? ""), row.type]),
      head: now,
      sound: head === null ? null : (await db.tenant(org_id, (query) => verifyAudit(query, org_id))).sound,
    };
  }

  it.each<[string, Parameters<typeof committed>[1], RowsWanted, number]>([
    ["commits without a limit", { hard_limit: null, used: 0 }, {}, 5],
    ["commits one", { hard_limit: null, used: 0 }, {}, 1],
    ["commits to the limit and no further", { hard_limit: 10, used: 7 }, {}, 5],
    ["commits to just the limit", { hard_limit: 10, used: 5 }, {}, 5],
    ["commits nothing at the limit", { hard_limit: 10, used: 10 }, {}, 2],
    ["commits nothing above a limit that was lowered", { hard_limit: 10, used: 20 }, {}, 2],
    ["commits nothing where nothing is allowed", { hard_limit: 0, used: 0 }, {}, 2],
    ["counts live decisions only", { hard_limit: 10, used: 10 }, { mode: "shadow" }, 3],
    ["says that it is stale", { hard_limit: 10, used: 10 }, { epochs: { policy: 1 } }, 2],
    ["says that a month is over", { hard_limit: 10, used: 10 }, { created_at: "2026-12-01T00:00:00.000000Z" }, 2],
    [
      "counts what comes late in the month that is open",
      { hard_limit: 10, used: 8, period: "2020-02" },
      { created_at: "2020-01-31T23:59:59.999999Z" },
      3,
    ],
    [
      "asks no shadow decision for its month",
      { hard_limit: 10, used: 10 },
      { mode: "shadow", created_at: "2026-12-01T00:00:00.000000Z" },
      2,
    ],
    ["says that there is no such organization", null, {}, 2],
  ])("%s", async (_, head, wanted, size) => {
    const [full, ...others] = await Promise.all(statements.map((each) => committed(each, head, wanted, size)));
    expect(full?.sound).toBe(head === null ? null : true);
    expect((full?.stored.length ?? 0) + (full?.answered.length ?? 0)).toBe(size);
    expect(full?.audit.length ?? 0).toBe((full?.stored.length ?? 0) * 2);
    for (const other of others) expect(other).toEqual(full);
  });

  it("stores nothing of a batch whose intent is there already", async () => {
    const org_id = ids.next("organization");
    await db.tenant(org_id, (query) => createHead(query, org_id, "2026-11"));
    const twice = decisionRows(ids, org_id);
    await session.commit(orderFor([twice]));
    for (const statement of statements) {
      const order = { ...orderFor([decisionRows(ids, org_id), twice]), statement };
      await expect(session.commit(order)).rejects.toMatchObject({ code: "23505" });
    }
    expect(await db.query("select from intents where org_id = $1", [org_id])).toHaveLength(1);
    expect(await db.tenant(org_id, (query) => verifyAudit(query, org_id))).toMatchObject({ sound: true, rows: 2 });
  });
});

describe("a batch", () => {
  const organization = async (): Promise<string> => {
    const org_id = ids.next("organization");
    await db.tenant(org_id, (query) => createHead(query, org_id, "2026-11"));
    return org_id;
  };

  it("spends an override once, however many of its row sets rest on it", async () => {
    const org_id = await organization();
    const blocked = decisionRows(ids, org_id);
    await session.commit(orderFor([blocked]));
    const override_id = ids.next("override");
    const { intent_id, decision_id, agent_id } = blocked.intent;
    const made = { override_id, intent_id, decision_id, agent_id, mode: "live", reason: "known", lifts: [] } as const;
    const said = { policies_overridden: [], approved_by: "usr_1", created_at: new Date().toISOString() };
    await db.tenant(org_id, (query) => insertOverride(query, org_id, { ...made, ...said }, 1));
    const batch = [null, override_id, override_id, override_id].map((each) => ({
      ...decisionRows(ids, org_id),
      override_id: each,
    }));
    const answered = (await session.commit(orderFor(batch))).map(decode).sort((a, b) => a.index - b.index);
    expect(answered).toEqual([2, 3].map((index) => ({ index, result: { outcome: "override_spent" } })));
    expect(await db.query("select status, consumed_by from overrides where org_id = $1", [org_id])).toEqual([
      { status: "consumed", consumed_by: batch[1]?.intent.intent_id },
    ]);
    expect(await db.query("select from intents where org_id = $1", [org_id])).toHaveLength(3);
  });

  it("opens no month for decisions that do not count", async () => {
    const org_id = await organization();
    const later = (mode: "shadow" | "live") =>
      decisionRows(ids, org_id, { mode, created_at: "2026-12-01T00:00:00.000000Z" });
    for (const statement of statements) {
      const stored = await session.commit({ ...orderFor([later("shadow")]), statement });
      expect(stored).toEqual([]);
      const [asked] = (await session.commit({ ...orderFor([later("live")]), statement })).map(decode);
      expect(asked).toEqual({ index: 0, result: "month_over" });
    }
  });
});
