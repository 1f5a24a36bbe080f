/** A person's vote on a held action. Source: api.md §6. */
import { type Decision, type Escalation, hiddenTexts, type Reviewer, type RulingInput } from "@countersign/contract";
import {
  applyPatch,
  canonicalJson,
  type DecidableIntent,
  decide,
  default_verdict_name,
  Fault,
  faultAt,
  heldFor,
  parseTimestampUs,
  type Review,
  type ReviewDemand,
  type Ruling,
  redacted_text,
  withoutTexts,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import { readReview } from "../../store/escalations/escalations.ts";
import { readIntent } from "../../store/intents/intents.ts";
import { readStateEpochs } from "../../store/organizations/heads.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import type { OnceAnswer } from "../../store/rows/idempotency.ts";
import { shownRemark, withheldInChange, withheldTexts } from "../intents/shown-remark.ts";
import { identityOf, isOwn } from "../people/identity.ts";
import { isReviewer, unmetDemands } from "../people/reviewers.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { idempotent } from "../shared/idempotent.ts";
import type { OrgState } from "../shared/org-state.ts";
import {
  changeEscalation,
  demandCurrent,
  demandInForce,
  type IntentInReview,
  inputAgain,
  rulingOf,
  withCurrentCaller,
} from "./change-escalation.ts";

/**
 * Votes. One rejection closes the review as block; approvals close it when enough different people gave them. An
 * approval of an action that policies modified lets the modified action through. Faults: not_found, forbidden (handed to
 * others), self_review, escalation_closed, state_conflict (others approved something else), invalid_request
 * (modifications), modified_action_blocked, idempotency_conflict.
 */
export async function decideEscalation(
  runtime: Runtime,
  caller: Caller,
  escalation_id: string,
  input: RulingInput,
  idempotency_key: string | undefined,
): Promise<OnceAnswer<Escalation>> {
  const terms = { operation: "decide_escalation", idempotency_key, request: { escalation_id, input } };
  const answer = await withCurrentCaller(runtime, caller, async (current) => {
    const { org_id } = current;
    const state = await runtime.orgStates.get(org_id);
    return idempotent(runtime, current, terms, async (query) => {
      const { person, intent, review } = await admit(query, current, escalation_id);
      // Neither a refusal nor a ruling may rest on policies and membranes of before.
      const rests_on_policies = input.modifications !== undefined || review.ruling?.wanted_content !== undefined;
      if (rests_on_policies) await demandInForce(runtime, query, org_id, await readStateEpochs(query, org_id), state);
      const alike = approvedAlike(review, person, input);
      const { ruling, hidden, demands } = rulingFor(intent, input, state, alike);
      await refuseHeldForOthers(query, demands, review.record.quorum.required, current, person);
      const overtaken = ruling !== null && isOvertaken(intent, state, review.ruling);
      if (overtaken && alike !== null) throw madeOtherwise();
      const { outcome } = input;
      const kept_back = [...hidden, ...withheldInChange(review.ruling)];
      const comment = input.comment === undefined ? null : shownRemark(intent, input.comment, kept_back);
      const modifications = changedBy(ruling);
      const data = { person, outcome, comment, modifications };
      const audit = { actor: current.actor, type: "voted", data } as const;
      return changeEscalation(runtime, query, org_id, escalation_id, audit, async (at, head, now) => {
        demandCurrent(head, current);
        if (ruling !== null && rests_on_policies) await demandInForce(runtime, query, org_id, head, state);
        await demandReviewer(query, now.record.reviewers, current, person);
        const same = canonicalJson(now.ruling) === canonicalJson(review.ruling);
        return {
          kind: "vote",
          person,
          outcome,
          ruling,
          comment,
          modifications,
          overtaken: overtaken && same,
          hidden,
          at,
        };
      });
    });
  });
  runtime.deliveries.poke();
  return answer;
}

/**
 * Who the caller is, and the intent in review. That somebody may not rule, or comes too late, is said before anything of
 * what the change would do; it is asked again under the lock. Faults: not_found, self_review, forbidden, escalation_closed.
 */
async function admit(
  query: Query,
  caller: Caller,
  escalation_id: string,
): Promise<{ readonly person: string; readonly intent: IntentInReview; readonly review: Review }> {
  const review = await readReview(query, caller.org_id, escalation_id);
  const intent = await readIntent(query, caller.org_id, review?.record.intent_id ?? "");
  if (review === undefined || intent === undefined) throw new Fault("not_found");
  const reviewer = await identityOf(query, caller.org_id, caller.lineage_id);
  const submitter = await identityOf(query, caller.org_id, intent.lineage_id);
  if (isOwn(reviewer, submitter)) throw new Fault("self_review");
  await demandReviewer(query, review.record.reviewers, caller, reviewer.person);
  const { status, expires_at } = review.record;
  if (status !== "pending" || isReached(expires_at, await databaseNow(query))) throw new Fault("escalation_closed");
  return { person: reviewer.person, intent, review };
}

function isReached(moment: string, now: string): boolean {
  return (parseTimestampUs(now) ?? 0) >= (parseTimestampUs(moment) ?? 0);
}

/** Faults: forbidden unless the caller is one of the reviewers named. */
async function demandReviewer(
  query: Query,
  reviewers: readonly Reviewer[],
  caller: Caller,
  person: string,
): Promise<void> {
  if (await isReviewer(query, reviewers, caller, person)) return;
  throw faultAt("forbidden", "", "not_allowed", "This escalation is in the hands of other reviewers.");
}

/**
 * A change may make the action one that further policies hold. Where they name reviewers or a quorum of their own, it is not
 * for this review to let it through unless it does for them, too. Faults: modified_action_blocked naming the policies.
 */
async function refuseHeldForOthers(
  query: Query,
  demands: readonly ReviewDemand[],
  required: number,
  caller: Caller,
  person: string,
): Promise<void> {
  const details = (await unmetDemands(query, demands, required, caller, person)).map(({ policy, quorum, few }) => ({
    path: "/modifications",
    code: "not_allowed",
    policy,
    message: few
      ? `The policy ${policy} asks for ${quorum} approvals of the modified action; this review takes ${required}.`
      : `The policy ${policy} holds the modified action for other reviewers.`,
  }));
  if (details.length > 0) throw new Fault("modified_action_blocked", { details });
}

/**
 * What others have approved, where this is the change that is told of theirs and something of it is hidden; null: it is not.
 * What policies hide of a change is told to nobody, so whoever approves the same cannot send it as it is.
 */
function approvedAlike({ record, ruling }: Review, person: string, { modifications = [] }: RulingInput): Ruling | null {
  const same = canonicalJson(modifications);
  if (!same.includes(redacted_text)) return null;
  const is_told = record.votes.some(
    (vote) => vote.reviewer !== person && vote.modifications !== null && canonicalJson(vote.modifications) === same,
  );
  return is_told ? ruling : null;
}

/**
 * What an approval would let through, null for a block, and the texts of the reviewer's change that policies keep from
 * people; `demands` are what policies that hold only the modified action ask for. Faults: invalid_request,
 * modified_action_blocked, state_conflict (what is approved alike holds a text that is told to nobody).
 */
function rulingFor(
  row: IntentInReview,
  { outcome, modifications = [] }: RulingInput,
  state: OrgState,
  alike: Ruling | null,
): { readonly ruling: Ruling | null; readonly hidden: readonly string[]; readonly demands: readonly ReviewDemand[] } {
  if (outcome !== "approve_modified" && modifications.length > 0)
    throw invalid("/modifications", "Modifications go with the outcome approve_modified only.");
  if (outcome === "block") return { ruling: null, hidden: [], demands: [] };
  const decision = row.decision as unknown as Decision;
  const asked = rulingOf(decision);
  if (modifications.length === 0) {
    if (outcome === "approve_modified" && asked.outcome === "approve")
      throw invalid("/modifications", "Say what is modified: no policy asks for a modification.");
    return { ruling: asked, hidden: [], demands: [] };
  }
  for (const [index, { op, value }] of modifications.entries())
    if (op !== "remove" && value === undefined) throw invalid(`/modifications/${index}/value`, `${op} needs a value.`);

  const { submitted } = row.intent as unknown as { submitted: DecidableIntent };
  const base = asked.modified_content ?? submitted.payload?.content ?? {};
  const wanted_content = alike?.wanted_content ?? changed(base, modifications);
  const { policyMade, modified_content, hidden, demands } = evaluateAgain(state, row, submitted, wanted_content);
  if (alike !== null && canonicalJson(withoutTexts(modified_content, hidden)) !== canonicalJson(modified_content))
    throw unseen();
  const kept_back = [...withheldTexts(row), ...hidden];
  const not_told = alike === null ? kept_back : [];
  const own = modifications.map(({ op, path, ...rest }) => ({
    op,
    path: withoutTexts(path, not_told),
    ...(rest.value === undefined ? {} : { value: withoutTexts(rest.value, not_told) }),
    policy_id: null,
  }));
  const made = [...asked.modifications, ...own, ...toldOf(policyMade, kept_back)];
  const ruling: Ruling = { outcome: "approve_modified", modifications: made, modified_content, wanted_content };
  return { ruling, hidden, demands };
}

/**
 * Whether policies have changed what is let through of a reviewer's change since others approved that: nobody could approve
 * the same any more.
 */
function isOvertaken(row: IntentInReview, state: OrgState, known: Ruling | null): boolean {
  if (known?.wanted_content === undefined) return false;
  const { submitted } = row.intent as unknown as { submitted: DecidableIntent };
  try {
    const { policyMade, modified_content, hidden } = evaluateAgain(state, row, submitted, known.wanted_content);
    const told = toldOf(policyMade, [...withheldTexts(row), ...hidden]);
    const asked = rulingOf(row.decision as unknown as Decision).modifications.length;
    const known_made = known.modifications.slice(asked).filter(({ policy_id }) => policy_id !== null);
    return canonicalJson([modified_content, told]) !== canonicalJson([known.modified_content, known_made]);
  } catch (error) {
    if (error instanceof Fault) return true;
    throw error;
  }
}

/** What only the first reviewer has seen is approved by no second one; what policies take out again is let through nowhere. */
function unseen(): Fault {
  const message =
    "The change lets through a text that is told to nobody; approve it by sending the change itself, or decide block.";
  return faultAt("state_conflict", "/modifications", "not_allowed", message);
}

/** What is told of a change says not what policies of now let through of it, and what they hid may be let through by now. */
function madeOtherwise(): Fault {
  const message =
    "Policies have changed what is let through of this change since it was approved; send the change itself, or approve something else.";
  return faultAt("state_conflict", "/modifications", "not_allowed", message);
}

/** Faults: invalid_request, naming the first change that cannot be made. */
function changed(content: Readonly<Record<string, unknown>>, modifications: NonNullable<RulingInput["modifications"]>) {
  const patched = applyPatch(content, modifications);
  if (!patched.ok) throw invalid(`/modifications/${patched.index}`, `It cannot be applied: ${patched.message}.`);
  return patched.document as Readonly<Record<string, unknown>>;
}

/** What policies make of a reviewer's change: they may copy out of it what it quotes, and its place hides nothing now. */
function toldOf(policyMade: Ruling["modifications"], kept_back: readonly string[]): Ruling["modifications"] {
  return policyMade.map((each) =>
    each.value === undefined ? each : { ...each, value: withoutTexts(each.value, kept_back) },
  );
}

/** What the reviewer changed, as others may see it; null: nothing. */
function changedBy(ruling: Ruling | null) {
  const own = ruling?.modifications.flatMap(({ policy_id, ...each }) => (policy_id === null ? [each] : [])) ?? [];
  return own.length === 0 ? null : own;
}

/**
 * The modified action, decided again. What policies still modify is modified on top; `hidden` are the texts of the change
 * that they keep from people. Faults: modified_action_blocked naming the policies.
 */
function evaluateAgain(
  state: OrgState,
  row: IntentInReview,
  submitted: DecidableIntent,
  content: Readonly<Record<string, unknown>>,
) {
  const input = inputAgain(state, row);
  const { content: again, shown_content } = decide({
    ...input,
    intent: { ...submitted, payload: { ...submitted.payload, content } },
    // People decide in its stead on what no policy speaks about; what it would block has no modifications.
    overrides: [default_verdict_name],
    human_reviewed: true,
  });
  const blocking = again.reasons.filter((reason) => reason.effect === "block");
  if (blocking.length > 0) {
    // What stands in the place of a hidden value by now hides nothing: the intent may say it elsewhere.
    const withheld = withheldTexts(row);
    throw new Fault("modified_action_blocked", {
      details: blocking.map(({ policy, message }) => ({
        path: "/modifications",
        code: "not_allowed",
        policy,
        message: withoutTexts(message, withheld),
      })),
    });
  }
  const policyMade = again.modifications;
  const modified = applyPatch(content, policyMade);
  if (!modified.ok) throw invalid("/modifications", "What policies modify cannot be applied to the modified action.");
  const { reasons } = row.decision as unknown as Decision;
  const demands = heldFor(again.reasons, input.policySet, reasons);
  return { policyMade, modified_content: modified.document, hidden: hiddenTexts(content, shown_content), demands };
}

function invalid(path: string, message: string): Fault {
  return faultAt("invalid_request", path, "not_allowed", message);
}
