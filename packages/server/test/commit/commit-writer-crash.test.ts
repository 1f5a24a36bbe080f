/** Answered commits survive a killed server. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { createClock } from "../../src/edge/clock.ts";
import { createIds } from "../../src/edge/ids.ts";
import { timers } from "../../src/edge/timers.ts";
import { verifyAudit } from "../../src/store/audit/verify-audit.ts";
import { connectCommit, createCommitWriter } from "../../src/store/commit/commit-writer.ts";
import { openDb } from "../../src/store/database/db.ts";
import { migrate } from "../../src/store/database/migrate.ts";
import { startEmbedded } from "../../src/store/embedded-postgres/index.ts";
import { createHead } from "../../src/store/organizations/heads.ts";
import { decisionRows } from "../../src/testing/database/decision-rows.ts";
import { silentLog } from "../../src/testing/nodes/silent-log.ts";
import { whenFileIsDone } from "../../src/testing/when-file-is-done.ts";

const parent = await mkdtemp(join(tmpdir(), "cs-"));
whenFileIsDone(() => rm(parent, { recursive: true, force: true }));
// Created once, because creating a database takes longer than a test.
const server = await startEmbedded({ data_dir: join(parent, "data") }, silentLog);
whenFileIsDone(() => server.stop());
await migrate(server.connection, silentLog);

const kills = Math.max(2, runs(4));

// With one caller or a quick disk, each commit flushes the log itself.
test.each([
  [32, "slow", 0],
  [32, "quick", Number.POSITIVE_INFINITY],
  [1, "slow", 0],
])(
  "every answered decision is stored, once, after the server and single sessions of it were killed under load (%i callers, a %s disk)",
  async (callers, _disk, quick_flush_ms) => {
    const db = openDb(server.connection, silentLog);
    onTestFinished(() => db.close());
    const clock = createClock();
    const ids = createIds(clock);
    const org_id = ids.next("organization");
    await db.tenant(org_id, (query) => createHead(query, org_id, "2026-11"));
    const connect = connectCommit(server.connection, { quick_flush_ms });
    // Longer than any restart, because `unavailable` says nothing about the outcome.
    const writer = createCommitWriter({ connect, log: silentLog, clock, timers, give_up_ms: 120_000 });

    const answered: string[] = [];
    let running = true;
    const calling = Array.from({ length: callers }, async () => {
      while (running) {
        const rows = decisionRows(ids, org_id);
        expect(await writer.commit(rows)).toEqual({ outcome: "committed" });
        answered.push(rows.entry.intent_id);
      }
    });
    for (let kill = 0; kill < kills; kill++) {
      const before = answered.length;
      await expect.poll(() => answered.length).toBeGreaterThan(before + 10 * callers);
      // A killed session makes the server drop the unwritten log and recover.
      const [session] = await db.query<{ pid: number }>(
        "select pid from pg_stat_activity where application_name = 'countersign commit writer' order by pid limit 1",
      );
      process.kill(kill % 2 === 0 ? (session?.pid ?? server.pid()) : server.pid(), "SIGKILL");
    }
    const before = answered.length;
    await expect.poll(() => answered.length).toBeGreaterThan(before + 10 * callers);
    running = false;
    await Promise.all(calling);
    await writer.close();

    const stored = await db.query<{ intent_id: string }>("select intent_id from intents where org_id = $1", [org_id]);
    expect(stored.map((row) => row.intent_id).sort()).toEqual(answered.sort());
    expect(await db.tenant(org_id, (query) => verifyAudit(query, org_id))).toMatchObject({ sound: true });
  },
  300_000,
);
