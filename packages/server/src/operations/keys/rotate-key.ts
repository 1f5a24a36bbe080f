import { type ApiKeyRotated, limits } from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs, hashApiKey, newApiKey, us_per_second } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import { countOtherAdmins, insertKey, lockKey, markRevoked } from "../../store/keys/keys.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { databaseNowUs } from "../../store/rows/database-now.ts";
import { type KnownCaller, refuseEnded } from "../people/caller-ended.ts";
import type { Runtime } from "../runtime.ts";
import { type Caller, command_line_person } from "../shared/caller.ts";

/**
 * Replaces a key by one with the same settings, in one transaction. Of concurrent rotations one succeeds.
 *
 * A key that rotates itself continues its chain: rate window, intents and open invitations stay. An admin's rotation of
 * another key begins a new chain, which the admin made. Otherwise the admin could submit or vote as the person behind
 * the old key. Other callers get the same refusal whether or not the key exists.
 *
 * Takes no Idempotency-Key, because the old key cannot repeat the request. If the answer is lost, use another admin key
 * or the command line. Faults: forbidden, not_found, state_conflict (not valid), invalid_api_key, expired_api_key.
 * Source: spec §3 and §5 rule 7.
 */
export async function rotateKey(
  runtime: Pick<Runtime, "db" | "ids" | "log">,
  caller: KnownCaller & Caller,
  key_id: string,
): Promise<ApiKeyRotated> {
  const is_own = caller.key_id === key_id;
  if (!is_own && caller.role !== "admin") {
    const message = "A key is rotated with itself only, or by an admin.";
    throw faultAt("forbidden", "", "not_allowed", message);
  }
  const { org_id, actor } = caller;
  const new_key_id = runtime.ids.next("api_key");
  return runtime.db.tenant(org_id, async (query) => {
    let answer: ApiKeyRotated | undefined;
    await withHead(query, org_id, async () => {
      if (!is_own) await refuseEnded(query, caller);
      const key = await lockKey(query, org_id, key_id);
      if (key === undefined) throw new Fault(is_own ? "invalid_api_key" : "not_found");
      const { last_used_at: _, revoked_at: __, state, ...kept } = key;
      if (state !== "valid" && !is_own) throw faultAt("state_conflict", "", "not_allowed", `The key is ${state}.`);
      if (state !== "valid") throw new Fault(state === "expired" ? "expired_api_key" : "invalid_api_key");
      const now_us = await databaseNowUs(query);

      const api_key = newApiKey(key.environment, key.scope, runtime.ids.secret(limits.api_key_random_chars_min));
      const created_at = formatTimestampUs(now_us);
      const expires_at = formatTimestampUs(now_us + key.lifetime_seconds * us_per_second);
      const replaced = { org_id, key_id: new_key_id, key_sha256: hashApiKey(api_key), rotated_from: key_id };
      const chain = is_own ? {} : newChain(caller, new_key_id);
      await insertKey(query, { ...kept, ...replaced, ...chain, created_at, expires_at });
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

/** Person null: that of the maker. */
function newChain({ key_id, user_id, lineage_id }: Caller, new_key_id: string) {
  const person = lineage_id === null ? command_line_person : null;
  return { lineage_id: new_key_id, created_by: key_id ?? user_id, person };
}
