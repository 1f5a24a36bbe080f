import { Fault, faultAt } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { markGrantRevoked, readGrant } from "../../store/grants/grants.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { identityOf } from "../people/identity.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { demandCurrentKey, untilFresh } from "../shared/stale.ts";

/**
 * Revokes a grant. No later commit uses it. Faults: not_found, state_conflict (spent, expired or revoked already),
 * unavailable.
 */
export async function revokeGrant(
  runtime: Pick<Runtime, "db" | "ids" | "callers">,
  caller: Caller,
  grant_id: string,
): Promise<void> {
  await untilFresh(runtime, caller, (current) =>
    runtime.db.tenant(caller.org_id, (query) => revoke(runtime, query, current, grant_id)),
  );
}

async function revoke(runtime: Pick<Runtime, "ids">, query: Query, caller: Caller, grant_id: string): Promise<void> {
  const { org_id, actor } = caller;
  const head = await lockHead(query, org_id);
  demandCurrentKey(head, caller);
  const grant = await readGrant(query, org_id, grant_id);
  if (grant === undefined) throw new Fault("not_found");
  const { person } = await identityOf(query, org_id, caller.lineage_id);
  const at = await databaseNow(query);
  if (!(await markGrantRevoked(query, org_id, grant_id, { at, person })))
    throw faultAt("state_conflict", "", "not_allowed", `The grant is ${grant.status}, so nobody can revoke it.`);
  const { intent_id, times_used } = grant;
  const data = { grant_id, person, times_used };
  await changeHead(query, head, {
    audit: [auditRow(runtime.ids, { intent_id, at, actor, type: "grant_revoked", data })],
  });
}
