import { type ApiKeyRotated, limits } from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs, hashApiKey, newApiKey, us_per_second } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import { countOtherAdmins, insertKey, lockKey, markRevoked } from "../../store/keys/keys.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { databaseNowUs } from "../../store/rows/database-now.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

/**
 * Replaces the calling key by one with the same settings and rate window, in one transaction. Only the key itself may;
 * other callers get the same refusal whether or not it exists. Of concurrent rotations one succeeds. Open invitations
 * belong to the chain and stay.
 *
 * Takes no Idempotency-Key, because the old key cannot repeat the request. If the answer is lost, use another admin key
 * or the command line. Faults: forbidden, invalid_api_key, expired_api_key. Source: spec §3 and §5 rule 7.
 */
export async function rotateKey(
  runtime: Pick<Runtime, "db" | "ids" | "log">,
  caller: Caller,
  key_id: string,
): Promise<ApiKeyRotated> {
  if (caller.key_id !== key_id) {
    const message = "A key is rotated with itself only. Without it, create a new key and revoke this one.";
    throw faultAt("forbidden", "", "not_allowed", message);
  }
  const { org_id, actor } = caller;
  const new_key_id = runtime.ids.next("api_key");
  return runtime.db.tenant(org_id, async (query) => {
    let answer: ApiKeyRotated | undefined;
    await withHead(query, org_id, async () => {
      const key = await lockKey(query, org_id, key_id);
      if (key === undefined) throw new Fault("invalid_api_key");
      const { last_used_at: _, revoked_at: __, state, ...kept } = key;
      if (state !== "valid") throw new Fault(state === "expired" ? "expired_api_key" : "invalid_api_key");
      const now_us = await databaseNowUs(query);

      const api_key = newApiKey(key.environment, key.scope, runtime.ids.secret(limits.api_key_random_chars_min));
      const created_at = formatTimestampUs(now_us);
      const expires_at = formatTimestampUs(now_us + key.lifetime_seconds * us_per_second);
      const replaced = { org_id, key_id: new_key_id, key_sha256: hashApiKey(api_key), rotated_from: key_id };
      await insertKey(query, { ...kept, ...replaced, created_at, expires_at });
      await markRevoked(query, org_id, key_id, created_at);
      if (key.role === "admin" && (await countOtherAdmins(query, org_id, new_key_id)) === 0) {
        runtime.log.warn(
          { org_id, key_id: new_key_id },
          "the only admin key was rotated: if its answer is lost, only the command line helps",
        );
      }
      answer = { key_id: new_key_id, api_key, expires_at, rotated_from: key_id };
      const data = { key_id: new_key_id, rotated_from: key_id, expires_at };
      return {
        raise: ["auth"],
        audit: [auditRow(runtime.ids, { intent_id: null, at: created_at, actor, type: "key_rotated", data })],
      };
    });
    return answer as ApiKeyRotated;
  });
}
