import type { CancelInput, Decision, Escalation } from "@countersign/contract";
import { Fault, faultAt } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { countsOf } from "../../store/audit/state/counts-of.ts";
import { changeCounted } from "../../store/counters/counters.ts";
import { markApprovalRevoked, readApproval } from "../../store/escalations/approvals.ts";
import { changeHead } from "../../store/organizations/heads.ts";
import { identityOf } from "../people/identity.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { demandCurrentKey, untilFresh } from "../shared/stale.ts";
import { lockReview, readAction, shownText } from "./review-steps.ts";

/**
 * Revokes an approval by people before it is claimed or handed on. Revoking again returns the same. Faults: not_found,
 * already_claimed, state_conflict (nobody approved it, or it needs no claim), unavailable.
 */
export async function revokeApproval(
  runtime: Pick<Runtime, "db" | "ids" | "callers">,
  caller: Caller,
  escalation_id: string,
  input: CancelInput,
): Promise<Escalation> {
  return untilFresh(runtime, caller, (current) =>
    runtime.db.tenant(caller.org_id, (query) => revoke(runtime, query, current, escalation_id, input)),
  );
}

async function revoke(
  runtime: Pick<Runtime, "ids">,
  query: Query,
  caller: Caller,
  escalation_id: string,
  input: CancelInput,
): Promise<Escalation> {
  const { org_id, actor } = caller;
  const { person } = await identityOf(query, org_id, caller.lineage_id);
  const { head, review, at } = await lockReview(query, org_id, escalation_id);
  demandCurrentKey(head, caller);
  const intent = await readAction(query, org_id, review);
  const approval = await readApproval(query, org_id, escalation_id);
  if (approval.revoked) return review.record;
  demandRevocable({ ...intent.decision, ...intent.resolution });
  if (approval.spent) throw new Fault("already_claimed");
  await markApprovalRevoked(query, org_id, escalation_id, { at, actor });
  const { intent_id } = intent;
  const counts_of = await changeCounted(query, org_id, approval.holder ?? intent_id, null, null);
  const reason = shownText({ review, intent }, input.reason);
  const data = { escalation_id, person, reason, ...countsOf(counts_of) };
  const row = auditRow(runtime.ids, { intent_id, at, actor, type: "approval_revoked", data });
  await changeHead(query, head, { audit: [row] });
  return review.record;
}

function demandRevocable({ outcome, claim }: Decision): void {
  if (outcome !== "approve" && outcome !== "approve_modified")
    throw conflict("Nothing was approved. Cancel the review to end it without an approval.");
  if (claim === "required") return;
  throw conflict(
    "The agent may carry out this action without a claim, so it may have done so. Freeze the agent to stop it.",
  );
}

function conflict(message: string): Fault {
  return faultAt("state_conflict", "", "not_allowed", message);
}
