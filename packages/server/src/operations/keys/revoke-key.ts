import { Fault } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { type AuditRow, auditRow } from "../../store/audit/audit.ts";
import { countOtherAdmins, lockKey, markRevoked } from "../../store/keys/keys.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { type KnownCaller, refuseEnded } from "../people/caller-ended.ts";
import { withdrawn } from "../people/invitations.ts";
import type { Runtime } from "../runtime.ts";

/**
 * Revokes a key of the organization. Once this has resolved no request that begins later succeeds with the key, on any
 * node: they all read it from the database or commit under its epoch. Invitations that it or a key before it in its chain of
 * rotations sent are withdrawn. Revoking a revoked key changes nothing.
 * Faults: not_found, those of refuseEnded. Source: contract §3 and §4, api.md §3.
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
      const audit = await revokedKey(runtime, query, caller, key_id);
      return audit.length === 0 ? null : { raise: ["auth"], audit };
    });
  });
}

/**
 * Revokes a key under the head's lock and returns the rows for the audit trail; none: it was revoked before. The caller raises the
 * epoch of keys. Faults: not_found.
 */
export async function revokedKey(
  runtime: Pick<Runtime, "clock" | "ids" | "log">,
  query: Query,
  caller: Pick<KnownCaller, "org_id" | "actor">,
  key_id: string,
): Promise<AuditRow[]> {
  const { org_id, actor } = caller;
  const key = await lockKey(query, org_id, key_id);
  if (key === undefined) throw new Fault("not_found");
  const at = await databaseNow(query);
  if (!(await markRevoked(query, org_id, key_id, at))) return [];
  if (key.role === "admin" && (await countOtherAdmins(query, org_id, key_id)) === 0) {
    runtime.log.warn(
      { org_id, key_id },
      "the last admin key of an organization was revoked: the command line can create another",
    );
  }
  const data = { key_id, name: key.name };
  const revoked = auditRow(runtime.ids, { intent_id: null, at, actor, type: "key_revoked", data });
  return [revoked, ...(await withdrawn(runtime, query, caller, { sent_by_chain: key.lineage_id }))];
}
