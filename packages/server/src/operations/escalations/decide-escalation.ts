/** A reviewer's vote on a held action. */
import type { Escalation, RulingInput } from "@countersign/contract";
import { canonicalJson, type ReviewStep, reviewersChanges, workOutRuling } from "@countersign/core";
import { readStateEpochs } from "../../store/organizations/heads.ts";
import type { OnceAnswer } from "../../store/rows/idempotency.ts";
import { demandsMetBy } from "../people/reviewers.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { idempotentAttempts } from "../shared/idempotent-attempts.ts";
import { type Attempt, demandCurrentKey, demandRulesInForce } from "../shared/stale.ts";
import { admitReviewer, demandMet, demandNamed } from "./admit-reviewer.ts";
import { loadReview, lockReview, shownText, takeStep } from "./review-steps.ts";
import { overtakenFault, rulingFault } from "./ruling-faults.ts";

/**
 * Counts a vote. One block closes the review as block; approvals close it when each demand is met. Approving an action
 * that policies modified lets the modified action through. The same Idempotency-Key gets the first answer again.
 * Faults: not_found, forbidden (other reviewers), self_review, escalation_closed, state_conflict (others approved something
 * else), invalid_request (modifications), modified_action_blocked, idempotency_conflict, unavailable (stale each time).
 */
export async function decideEscalation(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "callers" | "orgStates" | "deliveries">,
  caller: Caller,
  escalation_id: string,
  input: RulingInput,
  idempotency_key: string | undefined,
): Promise<OnceAnswer<Escalation>> {
  const terms = { operation: "decide_escalation", idempotency_key, request: { escalation_id, input } };
  const answer = await idempotentAttempts(runtime, caller, terms, (attempt) =>
    castVote(runtime, attempt, escalation_id, input),
  );
  runtime.deliveries.wake(caller.org_id);
  return answer;
}

/** Casts the vote in one transaction. The order of the checks is part of the API: a caller sees the first that fails. */
async function castVote(
  runtime: Pick<Runtime, "ids" | "orgStates">,
  { query, caller, state }: Attempt,
  escalation_id: string,
  input: RulingInput,
): Promise<Escalation> {
  const { org_id, actor } = caller;

  // Load the review and the action, and check that the reviewer may vote.
  const loaded = await loadReview(query, org_id, escalation_id);
  const person = await admitReviewer(query, caller, loaded);

  // Work out the ruling. If a reviewer changed the action, the ruling or refusal rests on the rules, so those must be current.
  const { review, intent: action } = loaded;
  const rests_on_rules = input.modifications !== undefined || review.ruling?.wanted_content !== undefined;
  if (rests_on_rules) await demandRulesInForce(runtime, query, org_id, await readStateEpochs(query, org_id), state);
  const proposed = workOutRuling({ action, review, person, input }, state);
  if (proposed.kind === "refused") throw rulingFault(proposed);
  const { ruling, hidden, demands, repeats_redacted, overtaken } = proposed;

  // Check the demands of other rules that hold the changed action. Refuse a redacted change that is overtaken.
  await demandMet(query, demands, review, caller, person);
  if (overtaken && repeats_redacted) throw overtakenFault();

  // Redact what records and events show of the vote.
  const { outcome } = input;
  const comment = shownText(loaded, input.comment, hidden);
  const modifications = reviewersChanges(ruling);

  // Lock, and repeat the checks with what may have changed since the first reads.
  const locked = await lockReview(query, org_id, escalation_id);
  demandCurrentKey(locked.head, caller);
  if (ruling !== null && rests_on_rules) await demandRulesInForce(runtime, query, org_id, locked.head, state);
  await demandNamed(query, locked.review.record.reviewers, caller, person);
  const meets = await demandsMetBy(query, locked.review.demands, caller, person);
  // Another vote may have replaced the overtaken ruling meanwhile. The state machine then compares this vote with the new one.
  const same_ruling = canonicalJson(locked.review.ruling) === canonicalJson(review.ruling);

  // Take a step of the state machine, and write the result.
  const vote = { person, meets, outcome, ruling, comment, modifications, hidden, at: locked.at };
  const step: ReviewStep = { kind: "vote", ...vote, overtaken: overtaken && same_ruling };
  const data = { person, outcome, comment, modifications };
  return takeStep(runtime, query, locked, step, { actor, type: "voted", data });
}
