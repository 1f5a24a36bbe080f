import type { RateCategory } from "@countersign/contract";
import { Fault, formatTimestampUs } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import { setKeyLimits as writeKeyLimits } from "../../store/keys/keys.ts";
import { withHead } from "../../store/organizations/heads.ts";
import type { Recording } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

/** Requests per minute by category, each at least 1. */
export type KeyLimits = Readonly<Partial<Record<RateCategory, number>>>;

/**
 * Sets the rate limits of a key and its rotations, which share one window. Null: the instance's limits. Applies on
 * every node from the key's next request; for keys that only submit, lowered limits apply one request later. Faults:
 * not_found. Source: spec §8 rule 3.
 */
export async function setKeyLimits(
  runtime: Recording,
  caller: Pick<Caller, "org_id" | "actor">,
  key_id: string,
  rate_limits: KeyLimits | null,
): Promise<void> {
  const { org_id, actor } = caller;
  const at = formatTimestampUs(runtime.clock.now_us());
  await runtime.db.tenant(org_id, async (query) => {
    await withHead(query, org_id, async () => {
      if (!(await writeKeyLimits(query, org_id, key_id, rate_limits))) throw new Fault("not_found");
      const data = { key_id, rate_limits };
      return {
        raise: ["auth"],
        audit: [auditRow(runtime.ids, { intent_id: null, at, actor, type: "key_limits_changed", data })],
      };
    });
  });
}
