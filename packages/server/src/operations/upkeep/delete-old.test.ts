import { limits } from "@countersign/contract";
import { formatTimestampUs } from "@countersign/core";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createIds } from "../../edge/ids.ts";
import { type DeletedPage, deleteOldDeliveries, readAgeLimit } from "../../store/upkeep/old-rows.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { letPass } from "../../testing/database/passing-time.ts";
import { call } from "../../testing/nodes/http-node.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { webhookOrganization } from "../../testing/nodes/webhook-node.ts";
import { startAging } from "../../worker/aging.ts";
import { type Aging, type AgingTerms, deleteOld } from "./delete-old.ts";

const { db } = await testDatabase();
const second = 1_000_000;
const day = 86_400 * second;
const now_us = Date.parse("2024-11-21T12:00:00Z") * 1000;
const limit_us = now_us - 30 * day;
const limit = { before: formatTimestampUs(limit_us), before_ms: limit_us / 1000 };
const idAt = (kind: "delivery", at_us: number) => createIds({ now_us: () => at_us }).next(kind);

beforeAll(async () => {
  for (let n = 0; n < 10; n += 1)
    await db.query(
      "insert into organizations (org_id, name, description, plan_id, created_at) values ($1, 'n', 'd', 'p', clock_timestamp())",
      [`org_${n}`],
    );
});

beforeEach(async () => {
  await db.query("delete from deliveries");
});

type Status = "pending" | "delivered" | "failed" | "cancelled";

async function delivery(
  org_id: string,
  status: Status,
  settled_us: number,
  made_us = settled_us,
  original: string | null = null,
): Promise<string> {
  const delivery_id = idAt("delivery", made_us);
  await db.query(
    `insert into deliveries (org_id, delivery_id, webhook_id, event_id, event_type, body, status, attempts, outcomes, due_at,
       created_at, settled_at, original_delivery_id)
     values ($1, $2, 'wh_1', 'evt_1', 'decision.blocked', '{}', $3, 1, '[]', $4::timestamptz, $4::timestamptz,
       case when $3 <> 'pending' then $4::timestamptz end, $5)`,
    [org_id, delivery_id, status, formatTimestampUs(settled_us), original],
  );
  return delivery_id;
}

const left = async () => {
  const rows = await db.query<{ id: string }>("select delivery_id as id from deliveries order by org_id, delivery_id");
  return rows.map((row) => row.id);
};

describe("settled deliveries", () => {
  test("are deleted if older than the limit; exactly at the limit and younger they stay", async () => {
    const ages = [-second, -1, 0, 1, second];
    const deliveries: string[] = [];
    for (const age of ages)
      deliveries.push(await delivery("org_1", age % 2 === 0 ? "delivered" : "cancelled", limit_us + age));
    expect(await deleteOldDeliveries(db, "org_1", limit, "", 100)).toEqual({ deleted: 2, end: null });
    expect(await left()).toEqual(deliveries.slice(2).sort());
  });

  test("failed and pending ones are kept at any age, and so are retries of failed ones", async () => {
    const ancient = limit_us - 3_000 * day;
    const failed = await delivery("org_1", "failed", ancient);
    const kept = [failed, await delivery("org_1", "pending", ancient + second)];
    await delivery("org_1", "delivered", ancient + 2 * second);
    for (const [n, status] of (["delivered", "cancelled"] as const).entries())
      kept.push(await delivery("org_1", status, ancient, ancient + (3 + n) * second, failed));
    expect(await deleteOldDeliveries(db, "org_1", limit, "", 5)).toMatchObject({ deleted: 1 });
    expect(await left()).toEqual(kept);
  });

  test("pages continue where the last one ended, past kept rows, and touch no other organization", async () => {
    const kept: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      const made = await delivery("org_1", n === 2 ? "failed" : "delivered", limit_us - (10 - n) * day);
      if (n === 2) kept.push(made);
    }
    kept.push(await delivery("org_1", "delivered", limit_us + day));
    kept.push(await delivery("org_2", "delivered", limit_us - day));
    const deleted: number[] = [];
    for (let after: string | null = ""; after !== null; ) {
      const page: DeletedPage = await deleteOldDeliveries(db, "org_1", limit, after, 3);
      deleted.push(page.deleted);
      after = page.end;
    }
    expect(deleted).toEqual([2, 2]);
    expect(await left()).toEqual(kept);
  });

  test("one made on a clock a day ahead of the database's is not missed", async () => {
    await delivery("org_1", "delivered", limit_us - second, limit_us + day - 2 * second);
    expect(await deleteOldDeliveries(db, "org_1", limit, "", 10)).toMatchObject({ deleted: 1 });
  });

  test("rows that another node deletes are skipped, and the rest of the page is deleted", async () => {
    const [first] = [
      await delivery("org_1", "delivered", limit_us - second),
      await delivery("org_1", "cancelled", limit_us - day),
    ];
    await db.system(async (query) => {
      await query("select from deliveries where org_id = 'org_1' and delivery_id = $1 for update", [first]);
      expect(await deleteOldDeliveries(db, "org_1", limit, "", 10)).toEqual({ deleted: 1, end: null });
    });
    expect(await deleteOldDeliveries(db, "org_1", limit, "", 10)).toEqual({ deleted: 1, end: null });
  });

  test("are measured by the database's clock", async () => {
    const [{ at } = { at: "" }] = await db.query<{ at: string }>("select clock_timestamp() - interval '30 days' as at");
    const read = await db.system((query) => readAgeLimit(query, 720));
    const [{ between } = {}] = await db.query<{ between: boolean }>(
      "select $1::timestamptz >= $2::timestamptz and $1::timestamptz <= clock_timestamp() - interval '30 days' as between",
      [read.before, at],
    );
    expect(between).toBe(true);
    expect(Math.floor(Date.parse(`${read.before.slice(0, 23)}Z`))).toBe(read.before_ms);
  });
});

describe("a pass", () => {
  async function pass(more: Partial<AgingTerms> = {}) {
    const deleted: Partial<Record<Aging, number>> = {};
    const terms = { deliveries_kept_days: 30, rows_max: 500, pages_max: 200, stopped: () => false, ...more };
    const count = (what: Aging, rows: number) => {
      deleted[what] = (deleted[what] ?? 0) + rows;
    };
    await deleteOld({ db }, { deleted: count, ...terms });
    return deleted;
  }

  test("deletes expired rows by the database's time: answers, sessions, links, invitations, unused intakes, times of reviewers, backtests", async () => {
    for (const [name, seconds] of [
      ["over", 0],
      ["good", 60],
    ] as const) {
      const hash = Buffer.alloc(32, name);
      const ends = "clock_timestamp() + make_interval(secs => $1::integer)";
      await db.query(
        `insert into idempotency_keys (org_id, operation, idempotency_key, request_sha256, created_at)
         values ('o', 'x', $2, '', ${ends} - interval '25 hours')`,
        [seconds, name],
      );
      await db.query(
        `insert into sessions (org_id, session_id, user_id, token_sha256, mfa_pending, created_at, last_seen_at, expires_at)
         values ('o', $2, 'u', $3, false, now(), now(), ${ends})`,
        [seconds, name, hash],
      );
      await db.query("insert into session_index (token_sha256, org_id, session_id) values ($1, 'o', $2)", [hash, name]);
      await db.query(
        `insert into person_tokens (token_sha256, kind, subject, expires_at)
         values ($3, 'signup', json_build_object('name', $2::text), ${ends})`,
        [seconds, name, hash],
      );
      await db.query(
        `insert into invitations (org_id, invitation_id, email, role, token_sha256, invited_by, created_at, expires_at)
         values ('o', $2, 'a@b.c', 'agent', $3, 'u', now(), ${ends})`,
        [seconds, name, hash],
      );
      await db.query(
        `insert into reviewer_times (org_id, escalation_id, person, shown_at, ruled_at, approved)
         select 'o', $2, p, shown, ruled, case when ruled is not null then true end
         from (select ${ends} - interval '31 days' as at) t, lateral (values ('saw', at, null), ('ruled', at - interval '9 days', at),
           ('saw again', at, at - interval '1 hour'), ('recent', at - interval '9 days', at + interval '1 day')) as v (p, shown, ruled)`,
        [seconds, name],
      );
      await db.query(
        `insert into backtests (org_id, backtest_id, created_at, created_by, expires_at, summary, input, result)
         values ('o', $2, now(), 'u', ${ends}, '{}', '{}', '{}')`,
        [seconds, name],
      );
      for (const org_id of [null, "org_1"])
        await db.query(
          `insert into onboarding_intakes values ($2, $3, '{}', '{}', ${ends} - make_interval(days => $4::integer))`,
          [seconds, `${name} ${org_id}`, org_id, limits.intake_kept_days],
        );
    }
    const kept = async (table: string, name: string) =>
      (await db.query<{ name: string }>(`select ${name} as name from ${table} order by 1`)).map((row) => row.name);
    expect(await pass()).toEqual({
      idempotency_key: 1,
      session: 1,
      token: 1,
      invitation: 1,
      intake: 1,
      reviewer_time: 3,
      backtest: 1,
    });
    expect(await kept("backtests", "backtest_id")).toEqual(["good"]);
    expect(await kept("idempotency_keys", "idempotency_key")).toEqual(["good"]);
    expect(await kept("sessions", "session_id")).toEqual(["good"]);
    expect(await kept("session_index", "session_id")).toEqual(["good"]);
    expect(await kept("person_tokens", "subject ->> 'name'")).toEqual(["good"]);
    expect(await kept("invitations", "invitation_id")).toEqual(["good"]);
    expect(await kept("reviewer_times where escalation_id = 'over'", "person")).toEqual(["recent"]);
    expect(await kept("reviewer_times where escalation_id = 'good'", "person")).toHaveLength(4);
    expect(await kept("onboarding_intakes where org_id is null", "intake_id")).toEqual(["good null"]);
    expect(await kept("onboarding_intakes where org_id is not null", "intake_id")).toHaveLength(2);
    expect(await pass()).toEqual({});
  });

  test("takes at most its limit of pages per kind, and the next one continues", async () => {
    const ancient = limit_us - 300 * day;
    for (let n = 0; n < 7; n += 1) await delivery("org_1", "delivered", ancient + n * second);
    expect(await pass({ rows_max: 2, pages_max: 2 })).toEqual({ delivery: 4 });
    expect(await pass({ rows_max: 2, pages_max: 2 })).toEqual({ delivery: 3 });
    expect(await left()).toEqual([]);
  });

  test("reads at most its limit of rows, however many are kept, and the next one continues behind them", async () => {
    const failed: string[] = [];
    for (let n = 0; n < 7; n += 1) failed.push(await delivery("org_1", "failed", limit_us - 300 * day + n * second));
    await delivery("org_2", "delivered", limit_us - day);
    const counts = [0, 0, 0];
    const terms = { deliveries_kept_days: 30, rows_max: 2, pages_max: 2, stopped: () => false };
    let from: Awaited<ReturnType<typeof deleteOld>> | undefined;
    for (const turn of counts.keys()) {
      const deleted = () => {
        counts[turn] = 1;
      };
      from = await deleteOld({ db }, { ...terms, deleted }, from);
    }
    expect(counts).toEqual([0, 0, 1]);
    expect(from).toEqual({ org_id: "", delivery_id: "" });
    expect(await left()).toEqual(failed);
  });

  test("ends between two pages when the node stops", async () => {
    for (let n = 0; n < 4; n += 1) await delivery("org_1", "delivered", limit_us - 300 * day + n * second);
    let pages = 0;
    const countPage = () => {
      pages += 1;
    };
    const deleted = await pass({ rows_max: 1, stopped: () => pages >= 2, deleted: () => countPage() });
    expect(deleted).toEqual({});
    expect(pages).toBe(2);
    expect(await left()).toHaveLength(2);
  });

  test("of many concurrent nodes deletes each row once and nothing else", async () => {
    for (let n = 0; n < 40; n += 1) await delivery(`org_${n % 4}`, "delivered", limit_us - 300 * day + n * second);
    const young = await delivery("org_9", "delivered", now_us + 3_000 * day);
    const counts = await Promise.all(Array.from({ length: 4 }, () => pass({ rows_max: 5 })));
    const rest = await pass();
    expect([...counts, rest].reduce((sum, { delivery: rows = 0 }) => sum + rows, 0)).toBe(40);
    expect(await left()).toEqual([young]);
  });
});

test("the worker makes a pass a minute and reports it, and continues after a failed one", async () => {
  const waits: number[] = [];
  let turn: (() => void) | undefined;
  const timers = {
    after: (wait_ms: number, run: () => void) => {
      waits.push(wait_ms);
      turn = run;
      return () => {
        turn = undefined;
      };
    },
  };
  const errors: string[] = [];
  const log = { ...silentLog, error: (_: object, message: string) => void errors.push(message) };
  const deleted: string[] = [];
  let broken = true;
  const failing: typeof db = {
    ...db,
    system: (work) => (broken ? Promise.reject(new Error("no database")) : db.system(work)),
  };
  await delivery("org_1", "delivered", limit_us - 300 * day);
  const tell = (what: string, rows: number) => void deleted.push(`${what} ${rows}`);
  const aging = startAging({ db: failing, timers, log }, { deliveries_kept_days: 30, deleted: tell });
  turn?.();
  await expect.poll(() => waits.length).toBe(2);
  expect(errors).toEqual(["deleting old rows failed"]);
  broken = false;
  turn?.();
  await expect.poll(() => waits.length).toBe(3);
  expect(deleted).toEqual(["delivery 1"]);
  await aging.stop();
  expect(turn).toBeUndefined();
  expect(waits).toEqual([60_000, 60_000, 60_000]);
});

test("years later only expired rows are gone, and failed deliveries can still be retried", async () => {
  const database = await testDatabase();
  const node = await serviceNode(database);
  const org = await webhookOrganization(database, node.url);
  const webhook = await org.register("https://receiver.example.com/hook");
  const intent_id = await org.submit();
  const failed = createIds({ now_us: () => limit_us - 900 * day }).next("delivery");
  await database.db.query(
    `insert into deliveries (org_id, delivery_id, webhook_id, event_id, event_type, body, status, attempts, outcomes, due_at, created_at, settled_at)
     values ($1, $2, $3, 'evt_gone', 'decision.approved', $4, 'failed', 3, '[]', now(), now() - interval '5 years', now() - interval '5 years')`,
    [
      ...[org.org_id, failed, webhook.id],
      JSON.stringify({ data: {}, event_type: "decision.approved", webhook_id: webhook.id }),
    ],
  );
  const tables = await database.db.query<{ name: string }>(
    "select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE' order by 1",
  );
  const counts = async () => {
    const rows: Record<string, number> = {};
    for (const { name } of tables) {
      const [{ n } = { n: -1 }] = await database.db.query<{ n: number }>(`select count(*)::integer as n from ${name}`);
      rows[name] = n;
    }
    return rows;
  };
  const may_shrink = new Set(["idempotency_keys", "sessions", "session_index", "person_tokens", "invitations"]);
  for (const name of ["onboarding_intakes", "events", "deliveries", "reviewer_times"]) may_shrink.add(name);
  const before = await counts();
  await letPass(database.db, 3_650 * 86_400);
  await database.db.query("update idempotency_keys set created_at = created_at - interval '10 years'");
  const terms = { deliveries_kept_days: 1, rows_max: 10, pages_max: 100, stopped: () => false };
  await deleteOld({ db: database.db }, { ...terms, deleted: () => undefined });
  for (const [name, rows] of Object.entries(await counts()))
    if (!may_shrink.has(name)) expect([name, rows]).toEqual([name, Math.max(rows, before[name] as number)]);
  expect((await org.audit(intent_id)).audit.length).toBeGreaterThan(0);
  expect(await org.failed()).toMatchObject([{ delivery_id: failed }]);
  const again = await org.api("POST", `/deliveries/${failed}/retry`);
  expect(again.status).toBe(202);
  expect(again.json.delivery).toMatchObject({ original_delivery_id: failed });
  node.metrics.deleted("delivery", 5);
  node.metrics.deleted("delivery", 2);
  const metrics = await call(node.url, "GET", "/metrics");
  expect(metrics.text).toContain('countersign_rows_deleted_total{what="delivery"} 7');
});
