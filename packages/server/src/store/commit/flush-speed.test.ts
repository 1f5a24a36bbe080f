import type pg from "pg";
import { expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { openClient } from "../database/connection.ts";
import { openFlushSpeed } from "./flush-speed.ts";

const { connection } = await testDatabase();

/** Returns a session whose flushes take these times. The last time repeats; `null` fails. */
function sessionOf(flushes: (number | null)[]): { session: pg.Client; looks: () => number } {
  let now_ms = 1_700_000_000_000;
  let looks = 0;
  const session = {
    async query({ name }: { name: string }) {
      if (name !== "flush-log") return { rows: [{ at_ms: now_ms }] };
      const at_ms = now_ms;
      const flush_ms = flushes.length > 1 ? flushes.shift() : flushes[0];
      looks += 1;
      if (flush_ms === null || flush_ms === undefined) throw new Error("Connection terminated unexpectedly");
      now_ms += flush_ms;
      return { rows: [{ at_ms }] };
    },
  };
  return { session: session as never, looks: () => looks };
}

test("the flush time is the median of the last five measurements", async () => {
  const { session, looks } = sessionOf([0.125, 40, 0.25, -3_600_000, 0.5]);
  expect((await openFlushSpeed(session)).flush_ms()).toBe(0.25);
  expect(looks()).toBe(5);
});

test("the flush time is measured again every thousand statements, and a lost session raises no error", async () => {
  const { session, looks } = sessionOf([...Array<number>(5).fill(0.125), 4, 4, 4, null]);
  const speed = await openFlushSpeed(session);
  const after = async (statements: number) => {
    for (let n = 0; n < statements; n++) speed.count();
    await new Promise(setImmediate);
    return [looks(), speed.flush_ms()];
  };
  expect(await after(999)).toEqual([5, 0.125]);
  expect(await after(1)).toEqual([6, 0.125]);
  expect(await after(1_000)).toEqual([7, 0.125]);
  expect(await after(1_000)).toEqual([8, 4]);
  expect(await after(2_000)).toEqual([10, 4]);
});

test("the server's own clock measures its commit", async () => {
  const session = await openClient(connection, "flush speed");
  const started_ms = performance.now();
  const { flush_ms } = await openFlushSpeed(session);
  expect(flush_ms()).toBeGreaterThan(0);
  expect(flush_ms()).toBeLessThan(performance.now() - started_ms);
  await session.end();
});
