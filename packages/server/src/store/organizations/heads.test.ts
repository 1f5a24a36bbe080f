import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { timers } from "../../edge/timers.ts";
import type { Query } from "../../ports.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { decisionRows } from "../../testing/database/decision-rows.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { auditRow, genesisRoot, readAuditPage } from "../audit/audit.ts";
import { verifyAudit } from "../audit/verify-audit.ts";
import { connectCommit, createCommitWriter } from "../commit/commit-writer.ts";
import { openClient } from "../database/connection.ts";
import { createHead, lockHead, withHead } from "./heads.ts";
import { readUsage } from "./usage.ts";

const clock = createClock();
const ids = createIds(clock);
const { connection, db } = await testDatabase();
const writer = createCommitWriter({ connect: connectCommit(connection), log: silentLog, clock, timers });
afterAll(() => writer.close());

const at = "2026-11-21T03:36:48.123456Z";
const row = (data: Record<string, unknown> = {}) =>
  auditRow(ids, { intent_id: null, type: "notifications_changed", actor: 'key_é"', at, data });

async function organization(hard_limit: number | null = null): Promise<string> {
  const org_id = ids.next("organization");
  await db.tenant(org_id, (query) => createHead(query, org_id, "2026-11", hard_limit));
  return org_id;
}
const verify = (org_id: string) => db.tenant(org_id, (query) => verifyAudit(query, org_id));

describe("withHead", () => {
  it("accepts appends while the trail is verified, and the next verification checks them", async () => {
    const org_id = await organization();
    const append = () => db.tenant(org_id, (query) => withHead(query, org_id, { audit: [row(), row()] }));
    await append();
    const found = await db.tenant(org_id, async (query) => {
      let asked = 0;
      const slow: Query = async (text, params) => {
        const rows = await query(text, params);
        asked += 1;
        if (asked === 1) await append();
        return rows as never;
      };
      return verifyAudit(slow, org_id);
    });
    expect(found).toMatchObject({ sound: true, rows: 2 });
    expect(await verify(org_id)).toMatchObject({ sound: true, rows: 4 });
  });

  it("sets a hard limit, removes it, and keeps it if the change names none", async () => {
    const org_id = await organization(5);
    const limit = (hard_limit?: number | null) =>
      db.tenant(org_id, async (query) => {
        await withHead(query, org_id, hard_limit === undefined ? { audit: [] } : { audit: [], hard_limit });
        return (await lockHead(query, org_id)).hard_limit;
      });
    expect([await limit(), await limit(9), await limit(), await limit(null), await limit()]).toEqual([
      ...[5, 9, 9, null, null],
    ]);
  });

  it("raises epochs that are ahead of the clock by a random step, so they do not repeat after the clock is set back", async () => {
    const ahead = 9_000_000_000_000_000;
    const raised: number[] = [];
    for (let n = 0; n < 3; n += 1) {
      const org_id = await organization();
      await db.query("update org_heads set auth_epoch = $2, context_epoch = $2 where org_id = $1", [org_id, ahead]);
      const after = await db.tenant(org_id, (query) =>
        withHead(query, org_id, { raise: ["auth", "context"], audit: [] }),
      );
      raised.push(after.auth_epoch, after.context_epoch);
    }
    for (const epoch of raised) {
      expect(epoch).toBeGreaterThan(ahead);
      expect(epoch).toBeLessThanOrEqual(ahead + 100_000);
    }
    expect(new Set(raised).size).toBeGreaterThan(1);
  });

  it("raises the named epochs, appends audit rows in order and returns the head after that", async () => {
    const org_id = await organization();
    const after = await db.tenant(org_id, (query) =>
      withHead(query, org_id, { raise: ["auth", "context"], audit: [row({ n: 1 }), row({ n: 2 })], hard_limit: 9 }),
    );
    expect(after).toMatchObject({ policy_epoch: 0, audit_seq: 2, hard_limit: 9 });
    const [clock_now] = await db.query<{ us: number }>(
      "select (extract(epoch from clock_timestamp()) * 1000000)::bigint as us",
    );
    for (const epoch of [after.auth_epoch, after.context_epoch]) {
      expect(epoch).toBeGreaterThan((clock_now?.us ?? 0) - 3_600_000_000);
      expect(epoch).toBeLessThanOrEqual(clock_now?.us ?? 0);
    }
    expect(await db.tenant(org_id, (query) => lockHead(query, org_id))).toEqual(after);
    const data = await db.query("select seq, data from audit where org_id = $1 order by seq", [org_id]);
    expect(data).toEqual([
      { seq: 1, data: { n: 1 } },
      { seq: 2, data: { n: 2 } },
    ]);
    expect(await verify(org_id)).toMatchObject({ sound: true, rows: 2, intents: 0, root: after.audit_root });
  });

  it("is released after 1 s when its node stops responding", async () => {
    const org_id = await organization();
    const still = await openClient(connection, "a node that stops responding");
    onTestFinished(() => void still.end().catch(() => undefined));
    await still.query("begin; set local app.org = '*'");
    await lockHead(async (text, params) => (await still.query(text, params as unknown[])).rows as never[], org_id);
    expect(await writer.commit(decisionRows(ids, org_id))).toEqual({ outcome: "committed" });
    await expect(still.query("select 1")).rejects.toThrow();
  });

  it("a function gets the locked head and may change nothing", async () => {
    const org_id = await organization();
    const after = await db.tenant(org_id, (query) =>
      withHead(query, org_id, (head) => (head.audit_seq === 0 ? null : { audit: [row()] })),
    );
    expect(after).toMatchObject({ audit_seq: 0, audit_root: genesisRoot });
    expect(await verify(org_id)).toMatchObject({ sound: true, rows: 0, intents: 0, root: genesisRoot });
  });

  it("stores events only while a webhook is active, including one that is being registered", async () => {
    const org_id = await organization();
    const event = () => ({
      event_id: ids.next("event"),
      event_type: "quota.exceeded",
      intent_id: null,
      decision_id: null,
      escalation_id: null,
      body: '{"b":1, "a":2}',
      created_at: at,
    });
    const change = (webhooks_delta: number) =>
      db.tenant(org_id, (query) => withHead(query, org_id, { webhooks_delta, audit: [], events: [event()] }));
    const stored = async () =>
      (await db.query("select body::text as body from events where org_id = $1", [org_id])).length;
    await change(0);
    expect(await stored()).toBe(0);
    await change(1);
    expect(await stored()).toBe(1);
    await change(-1);
    expect(await stored()).toBe(1);
    expect(await db.query("select body::text as body from events where org_id = $1", [org_id])).toEqual([
      { body: '{"b":1, "a":2}' },
    ]);
  });

  it("rolls back with its transaction", async () => {
    const org_id = await organization();
    const failing = db.tenant(org_id, async (query) => {
      await withHead(query, org_id, { raise: ["auth"], audit: [row()] });
      throw new Error("afterwards");
    });
    await expect(failing).rejects.toThrow("afterwards");
    expect(await db.tenant(org_id, (query) => lockHead(query, org_id))).toMatchObject({ auth_epoch: 0, audit_seq: 0 });
    expect(await verify(org_id)).toMatchObject({ sound: true, rows: 0 });
  });

  it("is in one gapless chain with decisions that are committed at the same time", async () => {
    const org_id = await organization();
    const changes = Array.from({ length: 20 }, () =>
      db.tenant(org_id, (query) => withHead(query, org_id, { audit: [row()] })),
    );
    const decisions = Array.from({ length: 20 }, () => writer.commit(decisionRows(ids, org_id)));
    await Promise.all([...changes, ...decisions]);
    expect(await verify(org_id)).toMatchObject({ sound: true, rows: 60, intents: 20 });
  });

  it("refuses an organization that does not exist", async () => {
    await expect(db.tenant("org_none", (query) => withHead(query, "org_none", { audit: [] }))).rejects.toThrow(
      "no head row",
    );
  });
});

describe("verifying a chain", () => {
  it("reads a long chain in pages", async () => {
    const org_id = await organization();
    const audit = Array.from({ length: 4_100 }, (_, n) => row({ n }));
    await db.tenant(org_id, (query) => withHead(query, org_id, { audit }));
    expect(await verify(org_id)).toMatchObject({ sound: true, rows: 4_100 });
  });
});

describe("reading", () => {
  it("an intent's audit page is in order, continues after a row, and has no rows of other organizations", async () => {
    const [org_id, other] = [await organization(), await organization()];
    const rows = decisionRows(ids, org_id, { escalate: true });
    const { intent_id } = rows.entry;
    await writer.commit(rows);
    const page = (org: string, after: number, limit: number) =>
      db.tenant(org, async (query) => (await readAuditPage(query, org, intent_id, after, limit)).rows);
    expect((await page(org_id, 0, 10)).map((each) => each.type)).toEqual(["submitted", "decided", "escalated"]);
    expect(await page(org_id, 1, 1)).toMatchObject([
      { seq: 2, type: "decided", at: rows.entry.at, hash: rows.entry.hash },
    ]);
    expect(await page(other, 0, 10)).toEqual([]);
  });

  it("usage is the month's count, also for a closed month, and 0 in a month without decisions", async () => {
    const org_id = await organization(10);
    await db.tenant(org_id, (query) =>
      query(
        "insert into organizations (org_id, name, description, plan_id, included_actions, created_at) values ($1, 'a', 'b', 'small', 8, $2::timestamptz)",
        [org_id, at],
      ),
    );
    await writer.commit(decisionRows(ids, org_id));
    await writer.commit(decisionRows(ids, org_id));
    await writer.commit(decisionRows(ids, org_id, { created_at: "2026-12-01T00:00:00.000000Z" }));
    const usage = (period: string) => db.tenant(org_id, (query) => readUsage(query, org_id, period));
    expect(await usage("2026-11")).toMatchObject({
      plan_id: "small",
      included_actions: 8,
      used_actions: 2,
      hard_limit: 10,
    });
    expect(await usage("2026-12")).toMatchObject({ used_actions: 1 });
    expect(await usage("2027-01")).toMatchObject({ used_actions: 0 });
    // Only in the open month, and only for this organization.
    await db.tenant(org_id, (query) => withHead(query, org_id, { audit: [], usage_met_by: 3 }));
    expect([(await usage("2026-12"))?.batch_size, (await usage("2026-11"))?.batch_size]).toEqual([3, null]);
    const other = await organization();
    await db.query(
      `insert into organizations (org_id, name, email, description, plan_id, included_actions, created_at)
       values ($1, 'o', null, '', 'large', null, now())`,
      [other],
    );
    await db.query("insert into usage_periods (org_id, period, used) values ($1, '2026-11', 7), ($1, '2026-10', 5)", [
      other,
    ]);
    expect(await usage("2026-11")).toMatchObject({ used_actions: 2 });
    for (const [period, used_actions] of Object.entries({ "2026-11": 0, "2026-10": 5, "2026-09": 0 }))
      expect(await db.system((query) => readUsage(query, other, period))).toEqual({
        ...{ plan_id: "large", included_actions: null, used_actions, hard_limit: null, batch_size: null },
      });
    expect(await db.tenant("org_none", (query) => readUsage(query, "org_none", "2026-11"))).toBeUndefined();
  });
});
