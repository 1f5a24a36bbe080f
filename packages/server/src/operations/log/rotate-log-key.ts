import { type LogKey, type LogKeyRotation, limits } from "@countersign/contract";
import { faultAt, formatTimestampUs } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import { insertLogKey, readSigningKeys, retireLogKeys } from "../../store/log/log-keys.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { type KnownCaller, refuseEnded } from "../people/caller-ended.ts";
import type { Runtime } from "../runtime.ts";
import { newLogKey, type Signing } from "./log-signing.ts";
import { checkpointOf, shownKey } from "./read-log.ts";

/**
 * Gives the log a new key, which signs from the next checkpoint on: that of the rotation's own audit entry. Faults:
 * state_conflict (too many keys sign), unavailable (no checkpoint yet).
 */
export async function rotateLogKey(
  runtime: Signing & Pick<Runtime, "db">,
  caller: KnownCaller,
  { overlap_days = limits.log_key_overlap_days_default }: LogKeyRotation = {},
): Promise<LogKey> {
  const { ids, clock } = runtime;
  const { org_id, actor } = caller;
  const at = formatTimestampUs(clock.now_us());
  return runtime.db.tenant(org_id, async (query) => {
    const { origin } = await checkpointOf(query, org_id);
    const { key } = newLogKey(runtime, org_id, origin);
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      const signing = await readSigningKeys(query, org_id);
      if (overlap_days > 0 && signing.length >= limits.log_keys_signing_max) throw tooMany(signing.length);
      await retireLogKeys(query, org_id, overlap_days);
      await insertLogKey(query, org_id, key);
      const data = { key_id: key.key_id, overlap_days };
      return { audit: [auditRow(ids, { intent_id: null, at, actor, type: "log_key_rotated", data })] };
    });
    return shownKey({ ...key, retired_at: null }, origin);
  });
}

function tooMany(keys: number) {
  const message = `${keys} keys sign already. Wait until an overlap ends, or rotate without an overlap.`;
  return faultAt("state_conflict", "/overlap_days", "not_allowed", message);
}
