import type { Escalation, ReassignInput } from "@countersign/contract";
import { Fault } from "@countersign/core";
import { readReview } from "../../store/escalations/escalations.ts";
import { readIntent } from "../../store/intents/intents.ts";
import { markUntold } from "../../store/people/mails.ts";
import { shownRemark, withheldInChange } from "../intents/shown-remark.ts";
import { identityOf } from "../people/identity.ts";
import { refuseTooFew, refuseUnfitReviewers } from "../people/reviewers.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { changeEscalation, demandCurrent, withCurrentCaller } from "./change-escalation.ts";

/**
 * Hands a review to different reviewers, all of whom are told by mail. Its time limit stays what it was, and so do the
 * votes given before.
 * Faults: not_found, escalation_closed, invalid_request (a reviewer who could not decide, too few for the quorum).
 * Source: api.md §6.
 */
export async function reassignEscalation(
  runtime: Pick<Runtime, "db" | "ids" | "callers" | "deliveries" | "mails">,
  caller: Caller,
  escalation_id: string,
  { reviewers, reason }: ReassignInput,
): Promise<Escalation> {
  const record = await withCurrentCaller(runtime, caller, (current) =>
    runtime.db.tenant(current.org_id, async (query) => {
      const { org_id } = current;
      const review = await readReview(query, org_id, escalation_id);
      const intent = await readIntent(query, org_id, review?.record.intent_id ?? "");
      if (review === undefined || intent === undefined) throw new Fault("not_found");
      const because = reason === undefined ? null : shownRemark(intent, reason, withheldInChange(review.ruling));
      const audit = { actor: current.actor, type: "reassigned", data: { reviewers, reason: because } } as const;
      const changed = await changeEscalation(runtime, query, org_id, escalation_id, audit, async (at, head, now) => {
        demandCurrent(head, current);
        const { status, votes, quorum } = now.record;
        const submitter = await identityOf(query, org_id, intent.lineage_id);
        const people = await refuseUnfitReviewers(query, org_id, reviewers, "/reviewers", submitter);
        // Votes of a pending review are approvals: a rejection would have closed it.
        const approved = votes.map(({ reviewer }) => reviewer);
        if (status === "pending") refuseTooFew(people, approved, quorum.required, "/reviewers");
        return { kind: "reassign", reviewers, at };
      });
      await markUntold(query, org_id, escalation_id);
      return changed;
    }),
  );
  runtime.deliveries.poke();
  runtime.mails.poke();
  return record;
}
