import { describe, expect, it } from "vitest";
import { testDatabase } from "../packages/server/src/testing/database/database.ts";
import { fewRuns } from "../scripts/property-runs.ts";
import { deliveryFaults } from "./deliveries-faults.ts";
import { type DeliveryResult, type DeliverySetting, runDeliveries } from "./deliveries-world.ts";

const { db } = await testDatabase();
const upTo = (last: number): number[] => Array.from({ length: last }, (_, n) => n + 1);
const minutes_ms = (minutes: number): number => minutes * 60_000;

async function firstUnsound(
  seeds: readonly number[],
  setting: DeliverySetting,
): Promise<{ seed: number; result: DeliveryResult } | null> {
  for (const seed of seeds) {
    const result = await runDeliveries(seed, setting);
    if (!result.sound) return { seed, result };
  }
  return null;
}

describe("deliveries on two nodes that die between any two steps", () => {
  it(
    "are never lost, never sent a fourth time, and end as the audit trail says, in every seeded world",
    async () => {
      expect(await firstUnsound(upTo(fewRuns(50)), { db })).toBeNull();
    },
    minutes_ms(8),
  );

  it(
    "repeat from their seed",
    async () => {
      for (const seed of [3, 11].slice(0, fewRuns(20)))
        expect(await runDeliveries(seed, { db })).toEqual(await runDeliveries(seed, { db }));
    },
    minutes_ms(1),
  );
});

describe("the simulation notices when", () => {
  it.each(deliveryFaults)(
    "$name",
    async ({ right, wrong, seed }) => {
      let altered = false;
      const alter = (text: string) => {
        if (!text.includes(right)) return text;
        altered = true;
        return text.replace(right, wrong);
      };
      const found = await firstUnsound([seed, ...upTo(60)], { db, alter });
      expect(altered, `no statement contains: ${right}`).toBe(true);
      expect(found).not.toBeNull();
      // Excludes failing statements, which every world would notice.
      expect(found?.result).not.toHaveProperty("problem", expect.stringMatching(/^a step failed/));
    },
    minutes_ms(4),
  );
});
