import { Fault, formatTimestampUs } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { setPlan } from "../../store/organizations/organizations.ts";
import type { Recording } from "../runtime.ts";

export interface Plan {
  readonly plan_id: string;
  /** Included live decisions per month; null: unlimited. */
  readonly included_actions: number | null;
  /** Live decisions per month after which new intents are refused; null: unlimited. */
  readonly hard_limit: number | null;
}

/**
 * Puts an organization on a plan. Every later commit uses the new limit; this month's usage stays. Reaching a raised
 * limit is announced again. Faults: not_found.
 */
export async function changePlan(
  runtime: Recording,
  caller: { readonly org_id: string; readonly actor: string },
  plan: Plan,
): Promise<void> {
  const { org_id, actor } = caller;
  const at = formatTimestampUs(runtime.clock.now_us());
  await runtime.db.tenant(org_id, async (query) => {
    if (!(await setPlan(query, org_id, plan.plan_id, plan.included_actions))) throw new Fault("not_found");
    const audit = [auditRow(runtime.ids, { intent_id: null, at, actor, type: "plan_changed", data: { ...plan } })];
    await withHead(query, org_id, ({ usage_used }) => {
      const { hard_limit } = plan;
      const isMet = hard_limit !== null && usage_used >= hard_limit;
      return { hard_limit, audit, ...(isMet ? {} : { usage_met_by: null }) };
    });
  });
}
