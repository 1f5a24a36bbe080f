import { describe, expect, it } from "vitest";
import { type ConnectCommit, connectCommit } from "../packages/server/src/store/commit/commit-writer.ts";
import type { ConnectionOptions } from "../packages/server/src/store/database/connection.ts";
import { testDatabase } from "../packages/server/src/testing/database/database.ts";
import { silentLog } from "../packages/server/src/testing/nodes/silent-log.ts";
import { fewRuns } from "../scripts/property-runs.ts";
import { plantedFaults } from "./planted-faults.ts";
import { type RunResult, runWorld } from "./world.ts";

// One database for each of two parallel worlds, because a world may end all sessions of its database.
const databases = [await testDatabase(), await testDatabase()];

const upTo = (last: number): number[] => Array.from({ length: last }, (_, n) => n + 1);
/** 30 worlds take 6 s on two idle cores. */
const minutes_ms = (minutes: number): number => minutes * 60_000;

/** Runs two worlds at a time until one is unsound. Returns all results. */
async function runWorlds(
  seeds: readonly number[],
  connect: (connection: ConnectionOptions) => ConnectCommit,
): Promise<{ seed: number; result: RunResult }[]> {
  const results: { seed: number; result: RunResult }[] = [];
  const left = [...seeds];
  await Promise.all(
    databases.map(async ({ connection, db }) => {
      for (let seed = left.shift(); seed !== undefined; seed = left.shift()) {
        if (results.some(({ result }) => !result.sound)) return;
        results.push({ seed, result: await runWorld(seed, { db, connect: connect(connection), log: silentLog }) });
      }
    }),
  );
  return results;
}

describe("three nodes on one database", () => {
  it(
    "keep every promise of the commit writer in every seeded world, with every kind of answer",
    async () => {
      // Half of the worlds have a slow disk. Each of the first four gives every kind of answer.
      const seeds = [8, 10, 16, 19, ...upTo(30)].slice(0, Math.max(4, fewRuns(34)));
      const results = await runWorlds(seeds, (connection) =>
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
    async ({ connect, seed }) => {
      const unsound = async (seeds: readonly number[]) =>
        (await runWorlds(seeds, connect)).filter(({ result }) => !result.sound);
      const found = await unsound([seed]);
      expect(found.length > 0 ? found : await unsound(upTo(60))).not.toEqual([]);
    },
    minutes_ms(3),
  );
});
