import { formatTimestampUs } from "@countersign/core";
import { recordClock } from "../../store/rows/clock-steps.ts";
import type { Runtime } from "../runtime.ts";

/** Notes how far this node's clock has come, so that lists know where it was set back. */
export async function noteClock({ db, clock }: Pick<Runtime, "db" | "clock">): Promise<void> {
  const now_us = clock.now_us();
  const reached_us = Math.max(now_us, clock.reached_us?.() ?? 0);
  await db.system((query) => recordClock(query, formatTimestampUs(now_us), formatTimestampUs(reached_us)));
}
