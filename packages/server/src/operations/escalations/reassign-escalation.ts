import type { Escalation, ReassignInput } from "@countersign/contract";
import { isCounted } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { markUntold } from "../../store/people/mails.ts";
import { identityOf } from "../people/identity.ts";
import { refuseTooFew, refuseUnfitReviewers } from "../people/reviewers.ts";
import { standingReview } from "../people/voting/standing.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { demandCurrentKey, untilFresh } from "../shared/stale.ts";
import { loadReview, lockReview, shownText, takeStep } from "./review-steps.ts";

/**
 * Assigns a review to other reviewers and mails them. Time limit and votes stay. Faults: not_found, escalation_closed,
 * invalid_request (a reviewer who could not decide, too few for the quorum), unavailable.
 */
export async function reassignEscalation(
  runtime: Pick<Runtime, "db" | "ids" | "callers" | "deliveries" | "mails">,
  caller: Caller,
  escalation_id: string,
  input: ReassignInput,
): Promise<Escalation> {
  const record = await untilFresh(runtime, caller, (current) =>
    runtime.db.tenant(caller.org_id, (query) => reassignReview(runtime, query, current, escalation_id, input)),
  );
  runtime.deliveries.wake(caller.org_id);
  runtime.mails.wake();
  return record;
}

async function reassignReview(
  runtime: Pick<Runtime, "ids">,
  query: Query,
  caller: Caller,
  escalation_id: string,
  { reviewers, reason }: ReassignInput,
): Promise<Escalation> {
  const { org_id, actor } = caller;
  const loaded = await loadReview(query, org_id, escalation_id);
  const data = { reviewers, reason: shownText(loaded, reason) };

  const found = await lockReview(query, org_id, escalation_id);
  demandCurrentKey(found.head, caller);
  const locked = { ...found, review: (await standingReview(query, org_id, found.review, found.at)).review };
  const {
    demands,
    record: { status, votes, quorum },
  } = locked.review;
  const submitter = await identityOf(query, org_id, loaded.intent.lineage_id);
  const people = await refuseUnfitReviewers(query, org_id, reviewers, "/reviewers", submitter);
  const approved = votes.flatMap((vote) => (isCounted(vote, demands) ? [vote.reviewer] : []));
  if (status === "pending") refuseTooFew(people, approved, quorum.required, "/reviewers");

  const step = { kind: "reassign", reviewers, at: locked.at } as const;
  const record = await takeStep(runtime, query, locked, step, { actor, type: "reassigned", data });
  await markUntold(query, org_id, escalation_id);
  return record;
}
