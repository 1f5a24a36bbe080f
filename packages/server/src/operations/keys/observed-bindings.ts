import { foldName, limits, type ObservedBindings } from "@countersign/contract";
import { Fault, formatTimestampUs, us_per_day } from "@countersign/core";
import { readSubmittedFor } from "../../store/keys/key-warnings.ts";
import { readKey, readKeyLineage } from "../../store/keys/keys.ts";
import { databaseNowUs } from "../../store/rows/database-now.ts";
import { firstIdAt } from "../../store/rows/first-id-at.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

/**
 * Returns bindings that would have allowed the last 30 days of submissions by a key and its rotations. Null: a list
 * with too many entries. Faults: not_found.
 */
export async function readObservedBindings(
  runtime: Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
  key_id: string,
): Promise<ObservedBindings> {
  return runtime.db.tenant(org_id, async (query) => {
    const key = await readKey(query, org_id, key_id);
    const lineage_id = await readKeyLineage(query, org_id, key_id);
    if (key === undefined || lineage_id === undefined) throw new Fault("not_found");
    const since_us = (await databaseNowUs(query)) - limits.observed_bindings_days * us_per_day;
    const max = limits.observed_decisions_max;
    const seen = await readSubmittedFor(query, org_id, lineage_id, {
      first_id: firstIdAt("intent", Math.floor(since_us / 1000)),
      ...{ max, listed_max: 10 * limits.key_bindings_max },
    });
    const agents = [...new Map(seen.agent_ids.map((id) => [foldName(id), id])).values()];
    const few = (list: readonly string[]) => (list.length > limits.key_bindings_max ? null : [...list]);
    const bindings = {
      membrane_ids: few(seen.membrane_ids),
      agent_ids: key.scope === "agent" ? null : few(agents),
      source_cidrs: null,
      forbid_shadow: key.environment !== "shadow",
    };
    return {
      since: formatTimestampUs(since_us),
      decisions: seen.decisions,
      complete: seen.looked_at < max,
      bindings: seen.decisions === 0 ? null : bindings,
    };
  });
}
