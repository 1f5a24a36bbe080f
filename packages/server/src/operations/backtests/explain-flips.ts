import type { Tally } from "@countersign/core";
import { readDeciding } from "../../store/backtests/backtests.ts";
import type { ReplayNeeds } from "./replay-needs.ts";

/** Adds the policies of the recorded verdict to flips that are now approved. */
export function explain(needs: ReplayNeeds, org_id: string, tally: Tally): Promise<void> {
  return tally.explain((intent_ids) => needs.read((query) => readDeciding(query, org_id, intent_ids)));
}
