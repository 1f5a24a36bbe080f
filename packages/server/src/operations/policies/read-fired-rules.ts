import { type FiredRules, limits } from "@countersign/contract";
import { formatTimestampUs, us_per_day, us_per_hour } from "@countersign/core";
import { countTail, readSums } from "../../store/figures/read-figures.ts";
import { policiesOf, summed } from "../membranes/read-overview.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

/** Longest lag in seconds of a replica that may serve the counts. */
const behind_s_max = 60;

/** Returns how often each rule fired in the last 7 days, in all modes, as the list of decisions shows them. */
export async function readFiredRules(
  { db, clock }: Pick<Runtime, "db" | "clock">,
  { org_id }: Pick<Caller, "org_id">,
): Promise<FiredRules> {
  const end = Math.ceil(clock.now_us() / us_per_hour) * us_per_hour;
  const from = formatTimestampUs(end - limits.policy_readiness_days * us_per_day);
  const window = { from, to: formatTimestampUs(end), membrane_id: null, modes: ["live", "shadow", "test"] } as const;
  return db.reading(org_id, { within_s: behind_s_max }, async (query) => {
    const tail = await countTail(query, org_id, window);
    const figures = tail.readable ? [...(await readSums(query, org_id, window)), ...tail.figures] : [];
    const rules = policiesOf(summed(figures));
    return { from, to: window.to, complete: tail.complete, rules };
  });
}
