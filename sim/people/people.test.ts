import { describe, expect, it } from "vitest";
import { connectCommit } from "../../packages/server/src/store/commit/commit-writer.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { silentLog } from "../../packages/server/src/testing/nodes/silent-log.ts";
import { whenFileIsDone } from "../../packages/server/src/testing/when-file-is-done.ts";
import { fewRuns } from "../../scripts/property-runs.ts";
import { keepConnections } from "../kept-connections.ts";
import { misspeltCommit } from "../planted-faults.ts";
import { peopleFaults } from "./faults.ts";
import type { PeopleSetting } from "./node.ts";
import { type PeopleResult, runPeople } from "./world.ts";

const { connection, db } = await testDatabase({ system_sessions_max: 8, tenant_sessions_max: 10 });
const kept = keepConnections(connectCommit(connection));
whenFileIsDone(async () => kept.end());
const sound: PeopleSetting = { db, connect: kept.connect, log: silentLog };
/** Events besides votes, retries and time limits. */
const worlds = { freezing: { freezes: true }, ruling: { rulings: true }, all: { freezes: true, rulings: true } };
const upTo = (last: number): number[] => Array.from({ length: last }, (_, n) => n + 1);
const minutes_ms = (minutes: number): number => minutes * 60_000;

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
  it.each([
    ["of reviews and overrides", upTo(fewRuns(30)), {}],
    ["while people freeze and unfreeze", upTo(fewRuns(30)), worlds.freezing],
    ["of rules that change, claims and withdrawals", upTo(fewRuns(60)), worlds.ruling],
    ["of all of these together", upTo(fewRuns(60)), worlds.all],
  ])(
    "keep every promise %s in every seeded world",
    async (_, seeds, what) => {
      expect(await firstUnsound(seeds, { ...sound, ...what })).toBeNull();
    },
    minutes_ms(8),
  );

  it(
    "repeat byte for byte from their seed",
    async () => {
      const all = { ...sound, ...worlds.all };
      for (const seed of [3, 11, 40].slice(0, fewRuns(20)))
        expect(await runPeople(seed, all)).toEqual(await runPeople(seed, all));
    },
    minutes_ms(1),
  );
});

describe("the simulation notices when", () => {
  it.each(peopleFaults)(
    "$name",
    async ({ within, seed, right, wrong, also, worlds: kind }) => {
      const unsaid = new Set(within === "commit" ? [] : [right, ...(also === undefined ? [] : [also[0]])]);
      const replace = (text: string, [from, to]: readonly [string, string]): string => {
        if (!text.includes(from)) return text;
        unsaid.delete(from);
        return text.replace(from, to);
      };
      const alter = (text: string): string =>
        (also === undefined ? [] : [also]).reduce(replace, replace(text, [right, wrong]));
      const setting: PeopleSetting = {
        ...sound,
        ...(kind === undefined ? {} : worlds[kind]),
        ...(within === "commit" ? { connect: misspeltCommit(connection, [right, wrong]) } : { alter }),
      };
      const found = await firstUnsound([seed, ...upTo(200)], setting);
      expect([...unsaid], "no statement contains").toEqual([]);
      expect(found).not.toBeNull();
      // Excludes failing statements, which every world would notice.
      expect(found?.result).not.toHaveProperty("problem", expect.stringMatching(/^an operation failed/));
    },
    minutes_ms(8),
  );
});
