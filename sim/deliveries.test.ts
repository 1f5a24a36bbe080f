import { describe, expect, it } from "vitest";
import { testDatabase } from "../packages/server/src/testing/database/database.ts";
import { runs } from "../scripts/property-runs.ts";
import { deliveryFaults } from "./deliveries-faults.ts";
import { type DeliveryResult, type DeliverySetting, runDeliveries } from "./deliveries-world.ts";

const { db } = await testDatabase();
const minutes_ms = (minutes: number): number => minutes * 60_000;

/** Returns the first unsound of `seeds` worlds, or null. */
async function firstUnsound(
  seeds: number,
  setting: DeliverySetting,
): Promise<{ seed: number; result: DeliveryResult } | null> {
  for (let seed = 1; seed <= seeds; seed++) {
    const result = await runDeliveries(seed, setting);
    if (!result.sound) return { seed, result };
  }
  return null;
}

describe("deliveries on two nodes that die between any two steps", () => {
  it(
    "are never lost, never sent a fourth time, and end as the audit trail says, in every seeded world",
    async () => {
      expect(await firstUnsound(runs(50), { db })).toBeNull();
    },
    minutes_ms(8),
  );

  it(
    "repeat from their seed",
    async () => {
      for (const seed of [3, 11]) expect(await runDeliveries(seed, { db })).toEqual(await runDeliveries(seed, { db }));
    },
    minutes_ms(1),
  );
});

describe("the simulation notices when", () => {
  it.each(deliveryFaults)(
    "$name",
    async ({ right, wrong }) => {
      let altered = false;
      const alter = (text: string) => {
        if (!text.includes(right)) return text;
        altered = true;
        return text.replace(right, wrong);
      };
      const found = await firstUnsound(60, { db, alter });
      expect(altered, `no statement says: ${right}`).toBe(true);
      expect(found).not.toBeNull();
    },
    minutes_ms(4),
  );
});
