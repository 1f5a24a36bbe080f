import { limits, type Usage } from "@countersign/contract";
import { formatTimestampUs } from "@countersign/core";
import { readUsage, readUsedMonths, type UsedInMonth } from "../../store/organizations/usage.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

/** Returns the usage of this month and of the months before, in UTC. */
export async function getUsage(runtime: Pick<Runtime, "db" | "clock">, caller: Caller): Promise<Usage> {
  const period = formatTimestampUs(runtime.clock.now_us()).slice(0, 7);
  const { usage, used } = await runtime.db.tenant(caller.org_id, async (query) => ({
    usage: await readUsage(query, caller.org_id, period),
    used: await readUsedMonths(query, caller.org_id, monthAfter(period, 1 - limits.usage_months)),
  }));
  if (usage === undefined) throw new Error(`organization ${caller.org_id} does not exist`);
  return {
    plan_id: usage.plan_id,
    period_start: `${period}-01T00:00:00.000000Z`,
    period_end: `${monthAfter(period, 1)}-01T00:00:00.000000Z`,
    included_actions: usage.included_actions,
    used_actions: usage.used_actions,
    hard_limit: usage.hard_limit,
    batch_size: usage.batch_size,
    months: monthsOf(used, period, usage.used_actions),
  };
}

/** Returns the month this many months later, as `YYYY-MM`. */
function monthAfter(period: string, months: number): string {
  const [year, month] = period.split("-").map(Number) as [number, number];
  const count = year * 12 + month - 1 + months;
  return `${Math.floor(count / 12)}-${String((count % 12) + 1).padStart(2, "0")}`;
}

/** Fills months without decisions with 0. */
function monthsOf(used: readonly UsedInMonth[], period: string, used_now: number): Usage["months"] {
  const found = new Map(used.map((each) => [each.period, each.used]));
  found.set(period, used_now);
  const months: Usage["months"] = [];
  const [first = period] = [...found.entries()].filter(([, count]) => count > 0).map(([month]) => month);
  for (let month = first; month <= period; month = monthAfter(month, 1))
    months.push({ month, used_actions: found.get(month) ?? 0 });
  return months;
}
