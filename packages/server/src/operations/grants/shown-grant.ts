import type { Grant } from "@countersign/contract";
import { grantText, rulesInForce } from "@countersign/core";
import type { StoredGrant } from "../../store/grants/grants.ts";
import type { OrgState } from "../shared/node-services.ts";

/** Returns a grant as callers see it. `state` says whether its rules changed. */
export function shownGrant(grant: StoredGrant, state: Pick<OrgState, "membrane">): Grant {
  const { rules, scope, action_type, status, ...stored } = grant;
  const { grant_id, intent_id, membrane_id, pipeline_mode, times, times_used, ...end } = stored;
  const deciding = state.membrane(membrane_id);
  const unchanged = deciding !== undefined && rulesInForce(grant, deciding);
  return {
    ...{ grant_id, intent_id, membrane_id, pipeline_mode, action_type, scope },
    summary: grantText(scope, times),
    policies: rules.map(({ policy }) => policy),
    ...{ times, times_used, status: status === "active" && !unchanged ? "rule_changed" : status },
    ...end,
  };
}
