import { describe, expect, it } from "vitest";
import { type ConnectCommit, connectCommit } from "../packages/server/src/store/commit/commit-writer.ts";
import type { ConnectionOptions } from "../packages/server/src/store/database/connection.ts";
import { testDatabase } from "../packages/server/src/testing/database/database.ts";
import { silentLog } from "../packages/server/src/testing/nodes/silent-log.ts";
import { runs } from "../scripts/property-runs.ts";
import { plantedFaults } from "./planted-faults.ts";
import { type RunResult, runWorld } from "./world.ts";

// Opening sessions is most of a run, and a world may end all sessions of its database: one each for two at a time.
const databases = [await testDatabase(), await testDatabase()];

/** 30 worlds take 6 seconds on two quiet cores. */
const minutes_ms = (minutes: number): number => minutes * 60_000;

/** Runs the worlds of these seeds until one is unsound; answers with all results. */
async function runWorlds(
  seeds: number,
  connect: (connection: ConnectionOptions) => ConnectCommit,
): Promise<{ seed: number; result: RunResult }[]> {
  const results: { seed: number; result: RunResult }[] = [];
  let next = 1;
  await Promise.all(
    databases.map(async ({ connection, db }) => {
      while (next <= seeds && results.every(({ result }) => result.sound)) {
        const seed = next++;
        results.push({ seed, result: await runWorld(seed, { db, connect: connect(connection), log: silentLog }) });
      }
    }),
  );
  return results;
}

describe("three nodes on one database", () => {
  it(
    "keep every promise of the commit writer in every seeded world, and every kind of answer is given",
    async () => {
      // Every disk is slow to the one half of them, and quick to the other.
      // In fewer than 10 worlds some kind of answer is missing.
      const results = await runWorlds(Math.max(10, runs(30)), (connection) =>
        connectCommit(connection, {
          quick_flush_ms: connection === databases[0]?.connection ? 0 : Number.POSITIVE_INFINITY,
        }),
      );
      expect(results.filter(({ result }) => !result.sound)).toEqual([]);
      const told = new Set(results.flatMap(({ result }) => (result.sound ? Object.keys(result.told) : [])));
      expect([...told].sort()).toEqual(["committed", "duplicate", "quota_exceeded", "refused", "stale", "unknown"]);
    },
    minutes_ms(3),
  );
});

describe("the simulation notices when", () => {
  it.each(plantedFaults)(
    "$name",
    async ({ connect }) => {
      const results = await runWorlds(60, connect);
      expect(results.filter(({ result }) => !result.sound)).not.toEqual([]);
    },
    minutes_ms(3),
  );
});
