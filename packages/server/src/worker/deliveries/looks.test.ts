import { expect, test } from "vitest";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { startLooks } from "./looks.ts";

test("a look follows after a second, after a slow one up to five seconds later, after a failed one too, and none after a stop", async () => {
  const waits: number[] = [];
  let turn: (() => void) | undefined;
  let now_us = 0;
  const timers = {
    after(wait_ms: number, run: () => void) {
      waits.push(wait_ms);
      turn = run;
      return () => {
        turn = undefined;
      };
    },
  };
  const errors: string[] = [];
  const log = { ...silentLog, error: (_: object, message: string) => void errors.push(message) };
  const found: string[] = [];
  const took_ms = [10, 150, 300, 0, 0];
  const find = async () => {
    now_us += (took_ms.shift() as number) * 1_000;
    if (took_ms.length === 1) throw new Error("no database");
    return ["org_1", "org_2"];
  };
  const looks = startLooks({ log, timers, clock: { now_us: () => now_us } }, find, (org_id) => void found.push(org_id));
  for (const next of [1_000, 3_000, 5_000, 1_000]) {
    const begun = waits.length;
    turn?.();
    await expect.poll(() => waits.slice(begun)).toEqual([next]);
  }
  expect(found).toEqual(["org_1", "org_2", "org_1", "org_2", "org_1", "org_2"]);
  expect(errors).toEqual(["looking for deliveries failed"]);
  const last = turn;
  last?.();
  await looks.stop();
  expect(found).toHaveLength(8);
  expect(waits).toHaveLength(5);
});
