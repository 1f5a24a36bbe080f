/**
 * A decision uses the node's clock, but expiries the database's. So a node whose clock is far off refuses to decide.
 * See docs/decisions/0026-expiries-by-the-databases-time.md.
 */
import { aheadAtLeast } from "@countersign/core";
import type { ClockWatch } from "../operations/shared/node-services.ts";
import type { Clock, Db, Log, Timers } from "../ports.ts";
import { databaseNowUs } from "../store/rows/database-now.ts";
import { type Loop, startPasses } from "./passes.ts";

const look_every_ms = 10_000;
const warning_us = 30_000_000;
const refusing_us = 300_000_000;

const advice = "synchronize the clocks of this machine and of the database's (NTP)";

/** Compares the clocks once, then every ten seconds. Rejects if the database does not answer the first time. */
export async function startClockWatch(runtime: {
  readonly db: Db;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
}): Promise<ClockWatch & Loop> {
  let offset_us = await measureOffset(runtime);
  logOffset(runtime.log, 0, offset_us);
  const loop = startPasses(runtime, look_every_ms, "the clock could not be compared with the database's", async () => {
    const before_us = offset_us;
    offset_us = await measureOffset(runtime);
    logOffset(runtime.log, before_us, offset_us);
  });
  return {
    offset_s: () => offset_us / 1_000_000,
    isFarOff: () => Math.abs(offset_us) >= refusing_us,
    stop: () => loop.stop(),
  };
}

/** Ahead by at least this much. */
async function measureOffset({ db, clock }: { readonly db: Db; readonly clock: Clock }): Promise<number> {
  return db.system(async (query) => {
    const asked_us = clock.now_us();
    const database_us = await databaseNowUs(query);
    return aheadAtLeast(asked_us, database_us, clock.now_us());
  });
}

function logOffset(log: Log, before_us: number, offset_us: number): void {
  const level = levelOf(offset_us);
  if (level === levelOf(before_us)) return;
  const offset_s = offset_us / 1_000_000;
  if (level === 0) log.info({ offset_s }, "this node's clock agrees with the database's again");
  else if (level === 1) log.warn({ offset_s }, `this node's clock differs from the database's: ${advice}`);
  else log.error({ offset_s }, `this node makes no decisions, because its clock is too far off: ${advice}`);
}

/** 0: close to the database's time. 1: a warning. 2: too far off to decide. */
function levelOf(offset_us: number): 0 | 1 | 2 {
  const far_us = Math.abs(offset_us);
  if (far_us >= refusing_us) return 2;
  return far_us >= warning_us ? 1 : 0;
}
