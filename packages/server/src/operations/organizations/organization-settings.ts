import { isDeepStrictEqual } from "node:util";
import type { OrganizationChange, OrganizationSettings } from "@countersign/contract";
import { faultAt } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import { countFreezes } from "../../store/freezes/freezes.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import { readOrganizationSettings, writeOrganizationSettings } from "../../store/organizations/organizations.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { refuseEnded } from "../people/caller-ended.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

export function readSettings(
  runtime: Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
): Promise<OrganizationSettings> {
  return runtime.db.tenant(org_id, (query) => readOrganizationSettings(query, org_id));
}

/**
 * Changes settings. While something is frozen, the second person for unfreezing cannot be switched off. Faults:
 * state_conflict, those of refuseEnded.
 */
export function changeSettings(
  runtime: Pick<Runtime, "db" | "ids">,
  caller: Caller,
  change: OrganizationChange,
): Promise<OrganizationSettings> {
  const { org_id, actor } = caller;
  return runtime.db.tenant(org_id, async (query) => {
    const head = await lockHead(query, org_id);
    await refuseEnded(query, caller);
    const before = await readOrganizationSettings(query, org_id);
    const after = { ...before, ...change };
    if (isDeepStrictEqual(after, before)) return before;
    const ends_second = before.unfreeze_needs_second_person && !after.unfreeze_needs_second_person;
    if (ends_second && (await countFreezes(query, org_id)) > 0)
      throw faultAt("state_conflict", "/unfreeze_needs_second_person", "not_allowed", "Unfreeze everything first.");
    await writeOrganizationSettings(query, after);
    const at = await databaseNow(query);
    const row = auditRow(runtime.ids, {
      intent_id: null,
      at,
      actor,
      type: "organization_changed",
      data: { ...change },
    });
    await changeHead(query, head, { audit: [row] });
    return after;
  });
}
