import { afterEach, describe, expect, it } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { timers } from "../../edge/timers.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { commitAll, decisionRows, type RowsWanted } from "../../testing/database/decision-rows.ts";
import { storedDecisions } from "../../testing/database/ledger-rows.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { auditRow } from "../audit/audit.ts";
import { verifyAudit } from "../audit/verify-audit.ts";
import { createHead, type HeadChanges, withHead } from "../organizations/heads.ts";
import {
  type CommitWriter,
  type CommitWriterOptions,
  type ConnectCommit,
  connectCommit,
  createCommitWriter,
} from "./commit-writer.ts";

const clock = createClock();
const ids = createIds(clock);
const { connection, db } = await testDatabase();

async function organization(hard_limit: number | null = null, period = "2026-11"): Promise<string> {
  const org_id = ids.next("organization");
  await db.tenant(org_id, (query) => createHead(query, org_id, period, hard_limit));
  return org_id;
}

const writers: CommitWriter[] = [];
function writer(options: Partial<CommitWriterOptions> = {}): CommitWriter {
  const made = createCommitWriter({ connect: connectCommit(connection), log: silentLog, clock, timers, ...options });
  writers.push(made);
  return made;
}
// Sessions that stay open would use up the shared server.
afterEach(() => Promise.all(writers.splice(0).map((each) => each.close())));

const rows = (org_id: string, wanted?: RowsWanted) => decisionRows(ids, org_id, wanted);
const count = async (table: string, org_id: string) =>
  (await db.query<{ n: number }>(`select count(*) as n from ${table} where org_id = $1`, [org_id]))[0]?.n;
const head = async (org_id: string) =>
  (await db.query(`select * from org_heads where org_id = $1`, [org_id]))[0] as Record<string, unknown>;
const raise = (org_id: string, changes: Partial<HeadChanges>) =>
  db.tenant(org_id, (query) =>
    withHead(query, org_id, {
      audit: [
        auditRow(ids, {
          intent_id: null,
          type: "key_revoked",
          actor: "system",
          at: "2026-11-21T00:00:00.000000Z",
          data: {},
        }),
      ],
      ...changes,
    }),
  );

/** Returns sessions whose n-th commit fails before it reaches the server, or after the answer. */
function failing(fail: (n: number) => "before" | "after" | "code:40P01" | undefined): ConnectCommit {
  let n = 0;
  const connect = connectCommit(connection);
  return async () => {
    const session = await connect();
    return {
      ...session,
      async commit(parameters) {
        n += 1;
        const how = fail(n);
        if (how === "before") throw new Error("Connection terminated unexpectedly");
        if (how === "code:40P01")
          throw Object.assign(new Error("deadlock detected"), { code: "40P01", severity: "ERROR" });
        const answer = await session.commit(parameters);
        if (how === "after") throw new Error("Connection terminated unexpectedly");
        return answer;
      },
    };
  };
}

describe("a commit", () => {
  it("stores every row of the set, and documents with any characters byte for byte", async () => {
    const org_id = await organization();
    await raise(org_id, { webhooks_delta: 1 });
    const agent_id = 'a"b\\c\n\u0001\u001e\u001f é😀';
    const intent = '{ "b" : 1.0, "a" : "\\u0041\\n", "a" : null }';
    const wanted = rows(org_id, { agent_id, intent, escalate: true, event: true, idempotency_key: "k" });
    expect(await writer().commit(wanted)).toEqual({ outcome: "committed" });
    expect(await storedDecisions(db, org_id)).toEqual([{ seq: 4, entry: 1, decision: wanted.entry }]);
    const { intent_id, decision_id, membrane_id, actor, at, hash } = wanted.entry;
    const escalation_id = wanted.entry.escalation_id ?? "";
    const [escalation] = await db.query("select * from escalations where org_id = $1", [org_id]);
    expect(escalation).toMatchObject({ escalation_id, intent_id, agent_id });
    const events = await db.query("select event_id, event_type, intent_id from events where org_id = $1", [org_id]);
    expect(events).toEqual([{ event_id: wanted.events[0]?.event_id, event_type: "decision.approved", intent_id }]);
    const audit = await db.query(
      `select audit_id, type, actor, data, intent_id, at, encode(hash, 'hex') as hash from audit where org_id = $1 and seq > 1 order by seq`,
      [org_id],
    );
    const decided_as = { decision_id, policies: ["provenance"], policy_set_sha256: "a".repeat(64), risk_score: 0.1234 };
    const records = [
      [intent_id, "submitted", actor, { agent_id, membrane_id, pipeline_mode: "live" }],
      [decision_id, "decided", "system", { ...decided_as, verdict: "escalate" }],
      [escalation_id, "escalated", "system", { decision_id, escalation_id }],
    ] as const;
    expect(audit).toEqual(
      records.map(([id, type, by, data]) => ({
        ...{ audit_id: `aud_${id.slice(-26)}`, type, actor: by, data, intent_id, at, hash },
      })),
    );
    expect(await head(org_id)).toMatchObject({ audit_seq: 4, entries: 2, usage_used: 1 });
    expect(await db.tenant(org_id, (query) => verifyAudit(query, org_id))).toMatchObject({ sound: true, rows: 4 });
  });

  it("stores events only for organizations with an active webhook", async () => {
    const org_id = await organization();
    await writer().commit(rows(org_id, { event: true }));
    expect(await count("events", org_id)).toBe(0);
  });

  it("coalesces concurrent row sets of many organizations and keeps each organization's chain sound", async () => {
    const organizations = await Promise.all(Array.from({ length: 5 }, () => organization()));
    const batches: number[] = [];
    const all = organizations.flatMap((org_id) => Array.from({ length: 60 }, () => rows(org_id)));
    const subject = writer({ batch_rows_max: 100, metrics: { statement: (n) => batches.push(n) } });
    const outcomes = await commitAll(subject, all);
    expect(outcomes.every((each) => each.status === "fulfilled" && each.value.outcome === "committed")).toBe(true);
    expect(batches).toEqual([100, 100, 100]);
    for (const org_id of organizations) {
      expect(await db.tenant(org_id, (query) => verifyAudit(query, org_id))).toMatchObject({ sound: true, rows: 120 });
      expect(await count("intents", org_id)).toBe(60);
    }
    expect(subject.depth()).toBe(0);
  });

  it("limits a batch by bytes and by rows, and sends a longer row set alone", async () => {
    const org_id = await organization();
    const batches: number[] = [];
    const intent = JSON.stringify("x".repeat(40_000));
    const subject = writer({ batch_bytes_max: 50_000, metrics: { statement: (n) => batches.push(n) } });
    await commitAll(subject, [rows(org_id, { intent }), rows(org_id, { intent }), rows(org_id), rows(org_id)]);
    expect(batches.sort()).toEqual([1, 3]); // Two are in flight at once, and either may end first.
    await subject.commit(rows(org_id, { intent: JSON.stringify("x".repeat(80_000)) }));
    expect(await count("intents", org_id)).toBe(5);
  });

  it("rejects an organization without a head and commits the others", async () => {
    const org_id = await organization();
    const [missing, good] = await commitAll(writer(), [rows("org_missing"), rows(org_id)]);
    expect(missing?.status).toBe("rejected");
    expect(good).toMatchObject({ value: { outcome: "committed" } });
  });
});

describe("conditional commit", () => {
  it.each(["auth", "policy", "context"] as const)(
    "refuses a decision made under another %s epoch and writes nothing",
    async (epoch) => {
      const org_id = await organization();
      const head = await raise(org_id, { raise: [epoch] });
      const epochs = { auth: head.auth_epoch, policy: head.policy_epoch, context: head.context_epoch };
      expect(epochs[epoch]).toBeGreaterThan(0);
      expect(await writer().commit(rows(org_id, { idempotency_key: "k" }))).toEqual({ outcome: "stale", epochs });
      expect([
        await count("intents", org_id),
        await count("idempotency_keys", org_id),
        await count("audit", org_id),
      ]).toEqual([0, 0, 1]);
      expect(await writer().commit(rows(org_id, { epochs, idempotency_key: "k" }))).toEqual({ outcome: "committed" });
    },
  );

  it("answers later requests with the same idempotency key with the first, even concurrent ones", async () => {
    const org_id = await organization();
    const subject = writer();
    const sets = Array.from({ length: 20 }, (_, n) => rows(org_id, { idempotency_key: "k", request: `r${n % 2}` }));
    const outcomes = await Promise.all(sets.map((each) => subject.commit(each)));
    const first = {
      outcome: "duplicate",
      intent_id: sets[0]?.entry.intent_id,
      request_sha256: sets[0]?.idempotency?.request_sha256,
    };
    expect(outcomes).toEqual([{ outcome: "committed" }, ...Array.from({ length: 19 }, () => first)]);
    expect(await count("intents", org_id)).toBe(1);
  });

  it("lets one of many nodes use the idempotency key, and gives the others its answer", async () => {
    const org_id = await organization();
    const sets = Array.from({ length: 8 }, () => rows(org_id, { idempotency_key: "k" }));
    const outcomes = await Promise.all(sets.map((each) => writer().commit(each)));
    const winner = sets[outcomes.findIndex((each) => each.outcome === "committed")]?.entry.intent_id;
    expect(outcomes.filter((each) => each.outcome === "duplicate" && each.intent_id === winner)).toHaveLength(7);
    expect(await count("intents", org_id)).toBe(1);
  });
});

describe("the quota", () => {
  it("is never exceeded, on any number of nodes", async () => {
    const org_id = await organization(37);
    const nodes = [writer({ batch_rows_max: 5 }), writer({ batch_rows_max: 7 }), writer({ batch_rows_max: 3 })];
    const outcomes = await Promise.all(
      Array.from({ length: 120 }, (_, n) => (nodes[n % 3] as CommitWriter).commit(rows(org_id))),
    );
    expect(outcomes.filter((each) => each.outcome === "committed")).toHaveLength(37);
    const refused = outcomes.filter((each) => each.outcome === "quota_exceeded");
    expect(refused).toHaveLength(83);
    expect(refused.at(-1)).toEqual({
      outcome: "quota_exceeded",
      period: "2026-11",
      used: 37,
      hard_limit: 37,
      announced: false,
    });
    expect(await head(org_id)).toMatchObject({ usage_used: 37, audit_seq: 74 });
  });

  it("counts live decisions only", async () => {
    const org_id = await organization(1);
    const sets = [
      { mode: "shadow" },
      { mode: "test" },
      { mode: "live" },
      { mode: "live" },
      { mode: "shadow" },
    ] as const;
    const outcomes = await Promise.all(sets.map((wanted) => writer().commit(rows(org_id, wanted))));
    expect(outcomes.map((each) => each.outcome).filter((each) => each === "quota_exceeded")).toHaveLength(1);
    expect(await head(org_id)).toMatchObject({ usage_used: 1 });
  });

  it("starts again with the month of a decision's own time and keeps the closed month's count", async () => {
    const org_id = await organization(2, "2020-01");
    const subject = writer();
    const at = (created_at: string) => rows(org_id, { created_at });
    const outcomes = await commitAll(subject, [
      at("2020-01-31T23:59:59.999998Z"),
      at("2020-02-01T00:00:00.000000Z"),
      at("2020-01-31T23:59:59.999999Z"),
      at("2020-02-01T00:00:00.000001Z"),
      at("2020-02-01T00:00:00.000002Z"),
    ]);
    expect(outcomes.map((each) => (each.status === "fulfilled" ? each.value.outcome : "rejected"))).toEqual([
      "committed",
      "committed",
      "committed",
      "committed",
      "quota_exceeded",
    ]);
    expect(await db.query("select period, used from usage_periods where org_id = $1", [org_id])).toEqual([
      { period: "2020-01", used: 2 },
    ]);
    expect(await head(org_id)).toMatchObject({ usage_period: "2020-02", usage_used: 2 });
    expect(await db.tenant(org_id, (query) => verifyAudit(query, org_id))).toMatchObject({ sound: true });
  });

  it("reports if quota.exceeded was announced in this month", async () => {
    const org_id = await organization(0);
    await raise(org_id, { usage_met_by: 1 });
    expect(await writer().commit(rows(org_id))).toMatchObject({ outcome: "quota_exceeded", announced: true });
    const december = { created_at: "2026-12-01T00:00:00.000000Z" };
    expect(await writer().commit(rows(org_id, december))).toMatchObject({
      outcome: "quota_exceeded",
      announced: false,
    });
  });
});

describe("when something goes wrong", () => {
  it("one bad row set fails alone", async () => {
    const org_id = await organization();
    const statements: number[] = [];
    const sets = Array.from({ length: 64 }, (_, n) => rows(org_id, n === 21 ? { intent: '{"broken":' } : {}));
    const outcomes = await commitAll(writer({ metrics: { statement: (n) => statements.push(n) } }), sets);
    expect(outcomes.flatMap((each, n) => (each.status === "rejected" ? [n] : []))).toEqual([21]);
    expect(await count("intents", org_id)).toBe(63);
    expect(statements.length).toBeLessThan(16);
    expect(await db.tenant(org_id, (query) => verifyAudit(query, org_id))).toMatchObject({ sound: true, rows: 126 });
  });

  it("a bad row set of one organization does not affect the calls of others, which run once", async () => {
    const [here, there] = [await organization(), await organization()];
    const statements: number[] = [];
    const poison = rows(here, { intent: '{"broken":' });
    const sets = [rows(here), ...Array.from({ length: 10 }, () => rows(there)), poison];
    const outcomes = await commitAll(writer({ metrics: { statement: (n) => statements.push(n) } }), sets);
    expect(outcomes.flatMap((each, n) => (each.status === "rejected" ? [n] : []))).toEqual([11]);
    expect([await count("intents", here), await count("intents", there)]).toEqual([1, 10]);
    // The whole batch, then each of the two.
    expect(statements).toEqual([12, 1, 1]);
  });

  it.each([
    ["NUL", { intent: '{"a":"\u0000"}' }],
    ["NUL, in text", { agent_id: "\u0000" }],
    ["a control character", { intent: '{"a":"\u001f"}' }],
    ["a time that is none", { created_at: "2026-13-45T00:00:00.000000Z" }],
  ])("%s in a field is refused without a trace", async (_, wanted) => {
    const org_id = await organization();
    const [bad, good] = await commitAll(writer(), [rows(org_id, wanted), rows(org_id)]);
    expect(bad?.status).toBe("rejected");
    expect(good).toMatchObject({ value: { outcome: "committed" } });
    expect([await count("intents", org_id), await count("audit", org_id)]).toEqual([1, 2]);
  });

  it.each(["no digest", "abc", "café"])(
    "%s instead of a hash is refused and nothing is stored",
    async (fingerprint) => {
      const org_id = await organization();
      const good = rows(org_id);
      await expect(writer().commit({ ...good, entry: { ...good.entry, fingerprint } })).rejects.toThrow("hash");
      expect(await count("intents", org_id)).toBe(0);
      expect(await writer().commit(good)).toEqual({ outcome: "committed" });
    },
  );

  it.each(["before", "after", "code:40P01"] as const)(
    "a connection lost %s the commit costs nothing and doubles nothing",
    async (how) => {
      const org_id = await organization(50);
      const subject = writer({ connect: failing((n) => (n <= 2 ? how : undefined)) });
      const sets = Array.from({ length: 20 }, (_, n) => rows(org_id, { idempotency_key: `k${n}` }));
      const outcomes = await commitAll(subject, sets);
      expect(outcomes).toEqual(sets.map(() => ({ status: "fulfilled", value: { outcome: "committed" } })));
      expect([await count("intents", org_id), await count("audit", org_id)]).toEqual([20, 40]);
      expect(await head(org_id)).toMatchObject({ usage_used: 20, audit_seq: 40 });
    },
  );

  it("a commit whose answer was lost stays a commit even if the epoch was raised since", async () => {
    const org_id = await organization();
    const connect = connectCommit(connection);
    let n = 0;
    const subject = writer({
      connect: async () => {
        const session = await connect();
        return {
          ...session,
          async commit(parameters) {
            const answer = await session.commit(parameters);
            n += 1;
            if (n > 1) return answer;
            await raise(org_id, { raise: ["auth"] });
            throw new Error("Connection terminated unexpectedly");
          },
        };
      },
    });
    expect(await subject.commit(rows(org_id, { idempotency_key: "k" }))).toEqual({ outcome: "committed" });
    expect(await count("intents", org_id)).toBe(1);
  });

  it("callers get `unavailable` if the database stays away, both in flight and in the queue", async () => {
    let tries = 0;
    const subject = writer({
      connect: () => {
        tries += 1;
        return Promise.reject(new Error("connect ECONNREFUSED"));
      },
      batch_rows_max: 2,
      give_up_ms: 100,
    });
    const outcomes = await commitAll(
      subject,
      Array.from({ length: 5 }, () => rows("org_x")),
    );
    expect(outcomes.map((each) => (each.status === "rejected" ? (each.reason as { code: string }).code : "?"))).toEqual(
      Array.from({ length: 5 }, () => "unavailable"),
    );
    expect(tries).toBeGreaterThan(2);
    expect(subject.depth()).toBe(0);
    await subject.settle();
  });

  it("a full queue refuses at once with `overloaded` and keeps accepted row sets", async () => {
    const org_id = await organization();
    const subject = writer({ queue_rows_max: 10 });
    const outcomes = await commitAll(
      subject,
      Array.from({ length: 25 }, () => rows(org_id)),
    );
    const refused = outcomes.flatMap((each) => (each.status === "rejected" ? [each.reason as { code: string }] : []));
    expect(refused.map((each) => each.code)).toEqual(Array.from({ length: 15 }, () => "overloaded"));
    expect(await count("intents", org_id)).toBe(10);
  });

  it("close answers accepted row sets and refuses later ones", async () => {
    const org_id = await organization();
    const subject = writer({ batch_rows_max: 3 });
    const accepted = commitAll(
      subject,
      Array.from({ length: 10 }, () => rows(org_id)),
    );
    await subject.close();
    expect((await accepted).every((each) => each.status === "fulfilled")).toBe(true);
    await expect(subject.commit(rows(org_id))).rejects.toMatchObject({ code: "unavailable" });
  });
});
