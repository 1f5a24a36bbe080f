import { Fault, faultAt } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { markOverrideRevoked, readOverride } from "../../store/overrides/overrides.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { demandCurrent, withCurrentCaller } from "../escalations/change-escalation.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

/**
 * Withdraws an override before it is spent; once this has answered no retry is approved by it. Faults: not_found,
 * state_conflict (spent, over or revoked already). Source: api.md §6.
 */
export async function revokeOverride(
  runtime: Pick<Runtime, "db" | "ids" | "callers">,
  caller: Caller,
  override_id: string,
): Promise<void> {
  await withCurrentCaller(runtime, caller, (current) =>
    runtime.db.tenant(current.org_id, async (query) => {
      const { org_id, actor } = current;
      await withHead(query, org_id, async (head) => {
        demandCurrent(head, current);
        const override = await readOverride(query, org_id, override_id);
        if (override === undefined) throw new Fault("not_found");
        if (!(await markOverrideRevoked(query, org_id, override_id))) {
          const message = `The override is ${override.status}.`;
          throw faultAt("state_conflict", "", "not_allowed", message);
        }
        const { intent_id } = override;
        const at = await databaseNow(query);
        return {
          audit: [auditRow(runtime.ids, { intent_id, at, actor, type: "override_revoked", data: { override_id } })],
        };
      });
    }),
  );
}
