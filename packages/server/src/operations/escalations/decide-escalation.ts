import type { Escalation, RulingInput } from "@countersign/contract";
import {
  type CountedDemand,
  newDemands,
  paceVote,
  parseTimestampUs,
  reviewersChanges,
  workOutRuling,
} from "@countersign/core";
import { measureVote, noteRuled } from "../../store/escalations/reviewer-times.ts";
import { markUntold } from "../../store/people/mails.ts";
import type { OnceAnswer } from "../../store/rows/idempotency.ts";
import { CountsNow } from "../counters/counts-now.ts";
import { demandApprovable } from "../freezes/frozen.ts";
import { standingReview } from "../people/voting/standing.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { idempotentAttempts } from "../shared/idempotent-attempts.ts";
import { readPresent } from "../shared/present.ts";
import { type Attempt, demandCurrentKey, demandRulesInForce } from "../shared/stale.ts";
import { admitReviewer, demandMet, demandNamed, votersOf } from "./admit-reviewer.ts";
import { countForCurrentRules } from "./current-rules.ts";
import { loadReview, lockReview, shownText, takeStep } from "./review-steps.ts";
import { overtakenFault, rulingFault, tooFastFault } from "./ruling-faults.ts";

/**
 * Counts a reviewer's vote. One block closes the review; approvals close it when each demand is met. A repeated
 * Idempotency-Key gets the first answer. Faults: not_found, forbidden, self_review, escalation_closed, state_conflict
 * (others approved something else, or it is not the reviewer's turn), invalid_request (modifications),
 * modified_action_blocked, blocked_now, frozen, reason_required (too fast, without a reason), idempotency_conflict,
 * unavailable.
 */
export async function decideEscalation(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "callers" | "orgStates" | "deliveries" | "mails">,
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
  runtime.mails.wake();
  return answer;
}

/** The order of the checks is part of the API: the first failure is reported. */
async function castVote(
  runtime: Pick<Runtime, "ids" | "orgStates">,
  { query, caller, state }: Attempt,
  escalation_id: string,
  input: RulingInput,
): Promise<Escalation> {
  const { org_id, actor } = caller;
  const { outcome } = input;

  // Check the reviewer first, so that an unauthorized caller cannot hold the lock.
  const loaded = await loadReview(query, org_id, escalation_id);
  const { intent: action } = loaded;
  const admitted = await admitReviewer(query, caller, loaded, outcome);

  // Lock, and repeat the checks. Nothing changes until the commit.
  const locked = await lockReview(query, org_id, escalation_id);
  demandCurrentKey(locked.head, caller);
  if (outcome !== "block") await demandRulesInForce(runtime, query, org_id, locked.head, state);
  const { at } = locked;
  const { review, lapsed } = await standingReview(query, org_id, locked.review, at);
  await demandNamed(query, votersOf(review, outcome), caller, admitted);
  // Solo mode may have ended, and absences may have changed.
  const may_have_changed = admitted.self_reviewed || admitted.absent.length > 0;
  const now_loaded = { review, intent: action };
  const reviewer = may_have_changed ? await admitReviewer(query, caller, now_loaded, outcome) : admitted;
  const { person, self_reviewed } = reviewer;
  if (outcome !== "block") await demandApprovable(query, caller, action);
  const { mode, intent_id } = action;
  const counts = new CountsNow({ org_id, mode, own: [intent_id], now_us: parseTimestampUs(at) ?? 0 });
  const present = { ...(await readPresent(query, org_id, action, state, at)), counts };

  const proposed = await counts.settle(query, () => workOutRuling({ action, review, person, input }, present));
  if (proposed.kind === "refused") throw rulingFault(proposed);
  const { ruling, hidden, overtaken } = proposed;

  await demandMet(query, newDemands(action, proposed.demands, review.demands), review, caller, person);
  if (overtaken && proposed.repeats_redacted) throw overtakenFault();

  const comment = shownText(now_loaded, input.comment, hidden);
  const message = shownText(now_loaded, input.message_to_agent, hidden);
  const said = message === null ? {} : { message_to_agent: message };
  const modifications = reviewersChanges(ruling);

  const change = { ruling, modifications, hidden, overtaken };
  const vote = { kind: "vote", person, self_reviewed, outcome, comment, ...said, ...change, at } as const;
  const measured = await measureVote(query, org_id, escalation_id, person, at);
  const paced = (demands: readonly CountedDemand[], meets: readonly number[]) =>
    paceVote(demands, meets, measured, input);
  const closing = { action, present, review, vote, paced, reviewer, demands: proposed.demands };
  const by_rules = await countForCurrentRules(query, caller, closing);
  const { review: counted_review, places, counted, ...by_now } = by_rules;
  const { marks, lacking } = paced(counted_review.demands, places.meets);
  if (lacking !== null) throw tooFastFault(lacking, measured);

  const { fast } = marks;
  const own = {
    ...(caller.via === undefined ? {} : { via: caller.via }),
    ...(self_reviewed ? { self_reviewed } : {}),
    ...(fast === undefined ? {} : { fast }),
    ...(lapsed.length === 0 ? {} : { lapsed: lapsed.map(lapsedVote) }),
  };
  const data = { person, outcome, comment, ...said, modifications, ...own };
  const ruled = { at, approved: outcome !== "block", fast: fast !== undefined };
  await noteRuled(query, org_id, escalation_id, person, ruled);
  const step = { ...vote, ...marks, ...places, ...by_now };
  if (lapsed.length > 0) await markUntold(query, org_id, escalation_id);
  const audit = { actor, type: "voted", data } as const;
  return takeStep(runtime, query, { ...locked, review: counted_review }, step, audit, counted);
}

function lapsedVote({ reviewer, lapsed }: Escalation["votes"][number]) {
  return { reviewer, ...lapsed };
}
