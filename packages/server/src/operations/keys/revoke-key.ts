import { Fault } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { type AuditRow, auditRow } from "../../store/audit/audit.ts";
import { countOtherAdmins, lockKeys, markAllRevoked } from "../../store/keys/keys.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { type KnownCaller, refuseEnded } from "../people/caller-ended.ts";
import { withdrawn } from "../people/invitations.ts";
import type { Runtime } from "../runtime.ts";

/**
 * Revokes a key on all nodes, and withdraws the invitations of its chain of rotations. Revoking again changes nothing.
 * Faults: not_found, those of refuseEnded. Source: spec §3 and §4.
 */
export async function revokeKey(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "log">,
  caller: KnownCaller,
  key_id: string,
): Promise<void> {
  const { org_id } = caller;
  await runtime.db.system(async (query) => {
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      const audit = await revokedKeys(runtime, query, caller, [key_id]);
      return audit.length === 0 ? null : { raise: ["auth"], audit };
    });
  });
}

/**
 * Revokes keys under the head's lock. Returns audit rows; none: all were already revoked. The caller raises the epoch
 * of keys. Faults: not_found.
 */
export async function revokedKeys(
  runtime: Pick<Runtime, "clock" | "ids" | "log">,
  query: Query,
  caller: Pick<KnownCaller, "org_id" | "actor">,
  key_ids: readonly string[],
): Promise<AuditRow[]> {
  const { org_id, actor } = caller;
  const keys = await lockKeys(query, org_id, key_ids);
  if (keys.length < key_ids.length) throw new Fault("not_found");
  const at = await databaseNow(query);
  const marked = new Set(await markAllRevoked(query, org_id, key_ids, at));
  const revoked = keys.filter(({ key_id }) => marked.has(key_id));
  if (revoked.length === 0) return [];
  const admin = revoked.findLast(({ role }) => role === "admin");
  if (admin !== undefined && (await countOtherAdmins(query, org_id, admin.key_id)) === 0) {
    runtime.log.warn(
      { org_id, key_id: admin.key_id },
      "the last admin key of an organization was revoked: the command line can create another",
    );
  }
  const audit = revoked.map(({ key_id, name }) =>
    auditRow(runtime.ids, { intent_id: null, at, actor, type: "key_revoked", data: { key_id, name } }),
  );
  const sent_by_chains = revoked.map(({ lineage_id }) => lineage_id);
  return [...audit, ...(await withdrawn(runtime, query, caller, { sent_by_chains }))];
}
