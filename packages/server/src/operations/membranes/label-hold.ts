import type { HoldLabel } from "@countersign/contract";
import { Fault, faultAt } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import { readHold, writeLabel } from "../../store/membranes/readiness.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { refuseEnded } from "../people/caller-ended.ts";
import type { Recording } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

/**
 * Notes whether it was right to hold an action in shadow. A later label replaces an earlier one. Faults: not_found,
 * state_conflict (not a hold in shadow), those of refuseEnded.
 */
export function labelHold(
  runtime: Recording,
  caller: Caller,
  intent_id: string,
  is_right: boolean,
): Promise<HoldLabel> {
  const { org_id, actor } = caller;
  return runtime.db.tenant(org_id, async (query) => {
    const head = await lockHead(query, org_id);
    await refuseEnded(query, caller);
    const hold = await readHold(query, org_id, intent_id);
    if (hold === undefined) throw new Fault("not_found");
    const { membrane_id } = hold;
    if (membrane_id === null) throw faultAt("state_conflict", "", "not_allowed", only_holds);
    const at = await databaseNow(query);
    const label: HoldLabel = { intent_id, membrane_id, is_right, labelled_by: actor, labelled_at: at };
    await writeLabel(query, org_id, label);
    const entry = { intent_id, at, actor, type: "hold_labelled", data: { membrane_id, is_right } } as const;
    await changeHead(query, head, { audit: [auditRow(runtime.ids, entry)] });
    return label;
  });
}

const only_holds = "Only actions in shadow that would have been blocked or escalated can have a label.";
