import { Fault, faultAt } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import { markOverrideRevoked, readOverride } from "../../store/overrides/overrides.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { demandCurrentKey, untilFresh } from "../shared/stale.ts";

/** Revokes an unspent override. Faults: not_found, state_conflict (spent, expired or revoked already), unavailable. */
export async function revokeOverride(
  runtime: Pick<Runtime, "db" | "ids" | "callers">,
  caller: Caller,
  override_id: string,
): Promise<void> {
  await untilFresh(runtime, caller, (current) =>
    runtime.db.tenant(caller.org_id, (query) => revoke(runtime, query, current, override_id)),
  );
}

async function revoke(runtime: Pick<Runtime, "ids">, query: Query, caller: Caller, override_id: string): Promise<void> {
  const { org_id, actor } = caller;
  const head = await lockHead(query, org_id);
  demandCurrentKey(head, caller);
  const override = await readOverride(query, org_id, override_id);
  if (override === undefined) throw new Fault("not_found");
  if (!(await markOverrideRevoked(query, org_id, override_id)))
    throw faultAt("state_conflict", "", "not_allowed", `The override is ${override.status}.`);
  const { intent_id } = override;
  const at = await databaseNow(query);
  const row = auditRow(runtime.ids, { intent_id, at, actor, type: "override_revoked", data: { override_id } });
  await changeHead(query, head, { audit: [row] });
}
