import { describe, expect, it } from "vitest";
import { connectCommit } from "../packages/server/src/store/commit/commit-writer.ts";
import { testDatabase } from "../packages/server/src/testing/database/database.ts";
import { silentLog } from "../packages/server/src/testing/nodes/silent-log.ts";
import { whenFileIsDone } from "../packages/server/src/testing/when-file-is-done.ts";
import { fewRuns } from "../scripts/property-runs.ts";
import { keepConnections } from "./kept-connections.ts";
import { peopleFaults } from "./people-faults.ts";
import type { PeopleSetting } from "./people-node.ts";
import { type PeopleResult, runPeople } from "./people-world.ts";
import { misspeltCommit } from "./planted-faults.ts";

const { connection, db } = await testDatabase({ system_sessions_max: 8, tenant_sessions_max: 10 });
const kept = keepConnections(connectCommit(connection));
whenFileIsDone(async () => kept.end());
const sound: PeopleSetting = { db, connect: kept.connect, log: silentLog };
/** The seeds from 1 to `last`. */
const upTo = (last: number): number[] => Array.from({ length: last }, (_, n) => n + 1);
const minutes_ms = (minutes: number): number => minutes * 60_000;

/** Returns the first unsound world of these seeds, or null. */
async function firstUnsound(
  seeds: readonly number[],
  setting: PeopleSetting,
): Promise<{ seed: number; result: PeopleResult } | null> {
  for (const seed of seeds) {
    const result = await runPeople(seed, setting);
    if (!result.sound) return { seed, result };
  }
  return null;
}

describe("people, clocks and retries on two nodes", () => {
  it(
    "keep every promise of reviews and overrides in every seeded world",
    async () => {
      expect(await firstUnsound(upTo(fewRuns(60)), sound)).toBeNull();
    },
    minutes_ms(8),
  );

  it(
    "let nothing of the frozen pass in any seeded world",
    async () => {
      expect(await firstUnsound(upTo(fewRuns(60)), { ...sound, freezes: true })).toBeNull();
    },
    minutes_ms(8),
  );

  it(
    "repeat byte for byte from their seed",
    async () => {
      for (const seed of [3, 11, 40].slice(0, fewRuns(20)))
        expect(await runPeople(seed, sound)).toEqual(await runPeople(seed, sound));
    },
    minutes_ms(1),
  );
});

describe("the simulation notices when", () => {
  it.each(peopleFaults)(
    "$name",
    async (fault) => {
      let altered = fault.within === "commit";
      const setting: PeopleSetting = {
        ...sound,
        freezes: fault.freezes === true,
        connect: fault.within === "commit" ? misspeltCommit(connection, [fault.right, fault.wrong]) : sound.connect,
        alter: (text) => {
          if (fault.within === "commit" || !text.includes(fault.right)) return text;
          altered = true;
          return text.replace(fault.right, fault.wrong);
        },
      };
      const found = await firstUnsound([fault.seed, ...upTo(200)], setting);
      expect(altered, `no statement says: ${fault.right}`).toBe(true);
      expect(found).not.toBeNull();
      // A statement that fails would be noticed by any world.
      expect(found?.result).not.toHaveProperty("problem", expect.stringMatching(/^an operation failed/));
    },
    minutes_ms(8),
  );
});
