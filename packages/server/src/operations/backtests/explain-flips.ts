import type { Tally } from "@countersign/core";
import { readDeciding } from "../../store/backtests/backtests.ts";
import type { ReplayNeeds } from "./replay-needs.ts";

/** Adds the policies of the recorded verdict to flips that are now approved. */
export async function explain(needs: ReplayNeeds, org_id: string, tally: Tally): Promise<void> {
  const flips = tally.takeUnexplained();
  if (flips.length === 0) return;
  const ids = flips.map(({ intent_id }) => intent_id);
  const deciding = await needs.read((query) => readDeciding(query, org_id, ids));
  for (const flip of flips) flip.policies.push(...(deciding.get(flip.intent_id) ?? []));
}
