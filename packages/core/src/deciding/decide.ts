import { hiddenTexts, type Reason, type Verdict } from "@countersign/contract";
import { mergeTerms } from "../policy/escalation-terms.ts";
import { formatTimestampUs } from "../time.ts";
import { applyPatch } from "../values/json-patch.ts";
import { type Decided, type DecideInput, type EscalationTerms, goesThrough } from "./decision.ts";
import { fitReasons } from "./fit-reasons.ts";
import { isLifted, type Judgement, judge, type MembraneVote, type Scenes, speaks } from "./judge.ts";
import { hideContent } from "./modify.ts";
import type { PlacedPolicy } from "./policy-set.ts";
import { combineRisk, type Risk, type RiskContribution } from "./risk.ts";
import { evaluateRound, type PlacedVote } from "./round.ts";
import { scenesOf } from "./scene.ts";
import { validUntilUs } from "./valid-until.ts";
import { reasonOf } from "./votes.ts";

type Content = Readonly<Record<string, unknown>>;
const nothing: ReadonlySet<string> = new Set();
const nowhere: readonly never[] = Object.freeze([]);

/**
 * Decides on an intent. Pure: the same input gives the same bytes, in whatever order policies and facts were given.
 *
 * All policies that match are evaluated. The verdict is the strictest of what they say, of the membrane's default and of
 * its risk thresholds. Where something is modified, the modified action is evaluated once more, and a block or escalation
 * of it stands. Modifications also come with `escalate`: they are made if people approve.
 * Source: policies.md §3.
 */
export function decide(input: DecideInput): Decided {
  return inWords(input, judge(input));
}

/** The decision that a judgement of this input comes to, with its reasons, its terms and how long it holds. */
export function inWords(input: DecideInput, judgement: Judgement): Decided {
  const { policySet, membrane, now_us } = input;
  const { verdict, action, prepared, content, round, plan, modified, stoppers, lift } = judgement;
  const sceneFor = (seen: Content | null): Scenes => scenesOf(input, prepared, action, seen);
  const risk = combineRisk(judgement.contributions);
  const voices = modified === null ? round.votes : [...round.votes, ...modified.round.votes, ...stoppers];
  const { content: shown, withheld } = shownContent(voices, content);
  const hidden = hiddenTexts(content, shown);
  const reasons = reasonsOf(plan.votes, lift, shown === content ? judgement.scenes : sceneFor(shown), hidden);
  if (modified !== null && stoppers.length > 0) {
    const { content: changed } = shownContent(voices, plan.content);
    const changedScenes = changed === plan.content ? modified.scenes : sceneFor(changed);
    reasons.push(...reasonsOf(stoppers, lift, changedScenes, [...hidden, ...hiddenTexts(plan.content, changed)]));
  }
  for (const vote of judgement.membrane_votes) reasons.push(membraneReason(vote, risk));
  const votes = stoppers.length === 0 ? plan.votes : [...plan.votes, ...stoppers];
  const isModified = plan.modifications.length > 0 && (verdict === "approve_modified" || verdict === "escalate");
  const rounds = modified === null ? [round] : [round, modified.round];
  const until_us = validUntilUs(input.facts, now_us, policySet, prepared, rounds, decidingPolicies(verdict, votes));
  return {
    content: {
      verdict,
      risk_score: risk.score,
      risk_contributions: risk.contributions as RiskContribution[],
      reasons: reasons.length > 1 ? fitReasons(reasons.sort(byEffect)) : reasons,
      modifications: isModified ? plan.modifications : [],
      modified_content: isModified ? modifiedContent(input, judgement) : null,
      valid_until: until_us === null ? null : formatTimestampUs(until_us),
      policy_set: { version: policySet.version, sha256: policySet.sha256 },
    },
    decided_as: action,
    escalation: verdict === "escalate" ? termsOf(membrane, votes, judgement) : null,
    shown_content: shown,
    withheld,
    shadow_reasons: shadowReasons(input, judgement, () => sceneFor(shown), hidden),
  };
}

/**
 * What the modifications make of payload.content as it was submitted. Policies see a claim of review otherwise than it was
 * made; what an agent may carry out is not what they see, but what it sent, and their modifications on it.
 */
function modifiedContent({ intent }: DecideInput, { content, plan }: Judgement): Record<string, unknown> {
  const submitted = intent.payload?.content ?? null;
  const patched = submitted === content ? null : applyPatch(submitted ?? {}, plan.modifications);
  return (patched?.ok ? patched.document : plan.content) as Record<string, unknown>;
}

function membraneReason({ policy, effect, at, modified_risk }: MembraneVote, risk: Risk): Reason {
  const score = modified_risk === null ? risk.score : `${modified_risk} of the modified action`;
  const message =
    at === null
      ? `The membrane's default verdict is ${effect}.`
      : `The risk ${score} has reached the membrane's ${effect} threshold ${at}.`;
  return { policy_id: null, policy, version: null, effect, message, citations: [], unknown_facts: [] };
}

function reasonsOf(
  votes: readonly PlacedVote[],
  lift: ReadonlySet<string>,
  scenes: Scenes,
  hidden: readonly string[],
): Reason[] {
  const reasons: Reason[] = [];
  for (const { placed, vote } of votes) {
    if (speaks(vote, lift)) reasons.push(reasonOf(vote, scenes(placed.profile), hidden));
  }
  return reasons;
}

const effectRank: Readonly<Record<Reason["effect"], number>> = { block: 0, escalate: 1, approve_modified: 2, none: 3 };

function byEffect(a: Reason, b: Reason): number {
  return effectRank[a.effect] - effectRank[b.effect];
}

/** payload.content without what policies hide from people, and where that stood. */
function shownContent(
  votes: readonly PlacedVote[],
  content: Content | null,
): { readonly content: Content | null; readonly withheld: readonly string[] } {
  let hides: PlacedVote["vote"]["policy"]["hides"] | null = null;
  for (const { vote } of votes) if (vote.policy.hides.length > 0) hides = [...(hides ?? []), ...vote.policy.hides];
  return content === null || hides === null ? { content, withheld: nowhere } : hideContent(content, hides);
}

/** The policies that a block or an escalation rests on; null: on all, as an approval does. */
function decidingPolicies(verdict: Verdict, votes: readonly PlacedVote[]): ReadonlySet<PlacedPolicy> | null {
  if (goesThrough(verdict)) return null;
  const deciding = new Set<PlacedPolicy>();
  for (const { placed, vote } of votes) if (vote.effect === verdict) deciding.add(placed);
  return deciding.size > 0 ? deciding : null;
}

/** What the policies that escalate, and the membrane where it does itself, ask of a review. */
function termsOf(
  membrane: DecideInput["membrane"],
  votes: readonly PlacedVote[],
  { lift, membrane_votes }: Judgement,
): EscalationTerms {
  const asked = votes
    .filter(({ vote }) => vote.effect === "escalate" && !isLifted(vote, lift))
    .map(({ vote }) => vote.policy);
  return mergeTerms(membrane.escalation, asked, membrane_votes.length > 0);
}

/** Shadow policies run on a budget of their own, so that trying one out never changes what live ones say. */
function shadowReasons(
  input: DecideInput,
  { key }: Judgement,
  scenes: () => Scenes,
  hidden: readonly string[],
): readonly Reason[] {
  const { shadow } = input.policySet;
  if (shadow.placed.length === 0) return [];
  const own = scenes();
  const { votes } = evaluateRound(shadow, shadow.candidates(key), own, input.now_us);
  return reasonsOf(votes, nothing, own, hidden).sort(byEffect);
}
