import { describe, expect, it } from "vitest";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { silentLog } from "../../packages/server/src/testing/nodes/silent-log.ts";
import { fewRuns } from "../../scripts/property-runs.ts";
import { keepConnections } from "../kept-connections.ts";
import { connectOnSimClock, misspeltFunction } from "./clock.ts";
import { type CountersFault, countersFaults } from "./faults.ts";
import { type CountersResult, type CountersSetting, runCounters } from "./world.ts";

const { connection, db } = await testDatabase({ system_sessions_max: 8, tenant_sessions_max: 10 });
const upTo = (last: number): number[] => Array.from({ length: last }, (_, n) => n + 1);
const minutes_ms = (minutes: number): number => minutes * 60_000;

/** Returns the first world that broke a promise; null: none did. */
async function firstUnsound(
  seeds: readonly number[],
  setting: Omit<CountersSetting, "db" | "log">,
): Promise<{ seed: number; result: CountersResult } | null> {
  const kept = keepConnections(setting.connect);
  try {
    for (const seed of seeds) {
      const result = await runCounters(seed, { ...setting, connect: kept.connect, db, log: silentLog });
      if (!result.sound) return { seed, result };
    }
    return null;
  } finally {
    kept.end();
  }
}

async function settingWith({ function: misspelling, statement, setting }: CountersFault) {
  const connect = await connectOnSimClock(connection, misspelling);
  let replaced = statement;
  if (misspelling?.name === "change_counted")
    replaced = ["change_counted(", `${await misspeltFunction(connection, misspelling)}(`];
  const unsaid = new Set(replaced === undefined ? [] : [replaced[0]]);
  const alter = (text: string): string => {
    if (replaced === undefined || !text.includes(replaced[0])) return text;
    unsaid.delete(replaced[0]);
    return text.replace(...replaced);
  };
  return { unsaid, setting: { ...setting, connect, alter } };
}

describe("three nodes whose connections and processes are lost", () => {
  it(
    "keep every limit and count every action once, in every seeded world",
    async () => {
      const connect = await connectOnSimClock(connection);
      expect(await firstUnsound(upTo(fewRuns(120)), { connect })).toBeNull();
    },
    minutes_ms(20),
  );
});

describe("the simulation notices when", () => {
  it.each(countersFaults)(
    "$name",
    async (fault) => {
      const { setting, unsaid } = await settingWith(fault);
      const found = await firstUnsound([fault.seed, ...upTo(200)], setting);
      expect([...unsaid], "no statement contains").toEqual([]);
      expect(found).not.toBeNull();
      // Excludes failing statements, which every world would notice.
      expect(found?.result).not.toHaveProperty("problem", expect.stringMatching(/^an operation failed/));
    },
    minutes_ms(8),
  );
});
