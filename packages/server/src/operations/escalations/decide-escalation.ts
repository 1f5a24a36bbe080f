import { type Escalation, type RulingInput, strictestConfirm } from "@countersign/contract";
import {
  type CountedDemand,
  isChangeShown,
  newDemands,
  type ProposedRuling,
  paceVote,
  type Review,
  type ReviewStep,
  reviewersChanges,
  stepReview,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import type { PasskeySite } from "../../sign-in-ports.ts";
import { measureVote, noteRuled } from "../../store/escalations/reviewer-times.ts";
import { markUntold } from "../../store/people/mails.ts";
import type { OnceAnswer } from "../../store/rows/idempotency.ts";
import { demandApprovable } from "../freezes/frozen.ts";
import { standingReview } from "../people/voting/standing.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { idempotentAttempts } from "../shared/idempotent-attempts.ts";
import { type Attempt, demandCurrentKey, demandRulesInForce } from "../shared/stale.ts";
import { admitReviewer, demandMet, demandNamed, votersOf } from "./admit-reviewer.ts";
import {
  checkProof,
  confirmVote,
  type Proof,
  type RecordedConfirmation,
  wrongCode,
} from "./confirmations/confirm-vote.ts";
import { countForCurrentRules, workOutNow } from "./current-rules.ts";
import { type LoadedReview, loadReview, lockReview, shownText, takeStep } from "./review-steps.ts";
import { overtakenFault, stepFault, tooFastFault } from "./ruling-faults.ts";

/**
 * Counts a reviewer's vote. One block closes the review; approvals close it when each demand is met. A repeated
 * Idempotency-Key gets the first answer. Faults: not_found, forbidden, self_review, escalation_closed, state_conflict
 * (others approved something else, or it is not the reviewer's turn), invalid_request (modifications),
 * modified_action_blocked, blocked_now, frozen, reason_required (too fast, without a reason), confirmation_required,
 * confirmation_invalid, idempotency_conflict, unavailable. `site`: where the person's passkeys belong; absent: the
 * caller cannot confirm.
 */
export async function decideEscalation(
  runtime: Voting & Pick<Runtime, "db" | "callers" | "deliveries" | "mails">,
  caller: Caller,
  escalation_id: string,
  input: RulingInput,
  idempotency_key: string | undefined,
  site?: () => PasskeySite,
): Promise<OnceAnswer<Escalation>> {
  // Challenges, and the end of a session after wrong codes, are outside of the organization's rows.
  const scope = input.confirmation === undefined ? "tenant" : "system";
  const terms = { operation: "decide_escalation", idempotency_key, request: { escalation_id, input }, scope } as const;
  const { response, replayed } = await idempotentAttempts(runtime, caller, terms, (attempt) =>
    castVote(runtime, attempt, escalation_id, input, site),
  );
  if (response === null) throw wrongCode();
  runtime.deliveries.wake(caller.org_id);
  runtime.mails.wake();
  return { response, replayed };
}

type Voting = Pick<Runtime, "ids" | "clock" | "sealer" | "passkeys" | "orgStates">;

/**
 * Null: the code of the confirmation is wrong, which the commit counts. The order of the checks is part of the API: the
 * first failure is reported.
 */
async function castVote(
  runtime: Voting,
  { query, caller, state }: Attempt,
  escalation_id: string,
  input: RulingInput,
  site: (() => PasskeySite) | undefined,
): Promise<Escalation | null> {
  const { org_id, actor } = caller;
  const { outcome } = input;

  // Check the reviewer first, so that an unauthorized caller cannot hold the lock.
  const loaded = await loadReview(query, org_id, escalation_id);
  const { intent: action } = loaded;
  const admitted = await admitReviewer(query, caller, loaded, outcome);
  const proof = await checkProof(runtime, query, caller, input.confirmation, site);
  if (proof === "wrong") return null;

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
  const { proposed, present } = await workOutNow(query, org_id, { action, review, person, input, state, at });
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
  const unconfirmed = { ...vote, ...marks, ...places, ...by_now };
  const confirmation = await confirmed(query, caller, action, { proposed, counted_review, step: unconfirmed, proof });

  const { fast } = marks;
  const own = {
    ...(caller.via === undefined ? {} : { via: caller.via }),
    ...(self_reviewed ? { self_reviewed } : {}),
    ...(fast === undefined ? {} : { fast }),
    ...(lapsed.length === 0 ? {} : { lapsed: lapsed.map(lapsedVote) }),
    ...(confirmation === undefined ? {} : { confirmation }),
  };
  const data = { person, outcome, comment, ...said, modifications, ...own };
  const ruled = { at, approved: outcome !== "block", fast: fast !== undefined };
  await noteRuled(query, org_id, escalation_id, person, ruled);
  const step = { ...unconfirmed, ...(proof === null ? {} : { confirmed: proof.kind }) };
  if (lapsed.length > 0) await markUntold(query, org_id, escalation_id);
  const audit = { actor, type: "voted", data } as const;
  return takeStep(runtime, query, { ...locked, review: counted_review }, step, audit, counted);
}

interface ConfirmedVote {
  readonly proposed: ProposedRuling;
  /** With the demands of rules that hold the action now. */
  readonly counted_review: Review;
  readonly step: Extract<ReviewStep, { kind: "vote" }>;
  readonly proof: Proof;
}

/**
 * Confirms a vote as the strictest rule of the review asks, after every other check. Returns what the vote's entry
 * records; undefined: no confirmation. Faults: those of `stepFault` and `confirmVote`.
 */
async function confirmed(
  query: Query,
  caller: Caller,
  action: LoadedReview["intent"],
  { proposed: { ruling, hidden }, counted_review, step, proof }: ConfirmedVote,
): Promise<RecordedConfirmation | undefined> {
  const stepped = stepReview(counted_review, step);
  if (stepped.kind === "refused") throw stepFault(stepped);
  const { demands, record } = counted_review;
  const { person, outcome, at } = step;
  const asked = strictestConfirm(demands.map(({ confirm }) => confirm));
  const about = { escalation_id: record.escalation_id, intent_id: action.intent_id, person, outcome };
  const is_shown = isChangeShown(action, ruling, hidden);
  return confirmVote(query, caller, { asked, proof, about, ruling, is_shown, at });
}

function lapsedVote({ reviewer, lapsed }: Escalation["votes"][number]) {
  return { reviewer, ...lapsed };
}
