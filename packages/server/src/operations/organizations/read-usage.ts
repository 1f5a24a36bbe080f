import type { Usage } from "@countersign/contract";
import { formatTimestampUs } from "@countersign/core";
import { readUsage } from "../../store/organizations/usage.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

export async function getUsage(runtime: Pick<Runtime, "db" | "clock">, caller: Caller): Promise<Usage> {
  const now = formatTimestampUs(runtime.clock.now_us());
  const period = now.slice(0, 7);
  const usage = await runtime.db.tenant(caller.org_id, (query) => readUsage(query, caller.org_id, period));
  if (usage === undefined) throw new Error(`organization ${caller.org_id} does not exist`);
  const [year, month] = period.split("-").map(Number) as [number, number];
  const next = month === 12 ? `${year + 1}-01` : `${year}-${String(month + 1).padStart(2, "0")}`;
  return {
    plan_id: usage.plan_id,
    period_start: `${period}-01T00:00:00.000000Z`,
    period_end: `${next}-01T00:00:00.000000Z`,
    included_actions: usage.included_actions,
    used_actions: usage.used_actions,
    hard_limit: usage.hard_limit,
    batch_size: usage.batch_size,
  };
}
