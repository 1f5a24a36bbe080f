import type { Modification, Reason, Verdict } from "@countersign/contract";
import { decidedAction } from "./action.ts";
import { type Decided, type DecideInput, default_verdict_name, risk_threshold_name, stricter } from "./decision.ts";
import { mergeTerms } from "./escalation-terms.ts";
import { hideContent, planChanges } from "./modify.ts";
import type { Scene } from "./policy/evaluate.ts";
import type { PlacedPolicy } from "./policy-set.ts";
import { combineRisk, type Risk, type RiskContribution } from "./risk.ts";
import { evaluateRound, type PlacedVote, type Round } from "./round.ts";
import { attestedContent, scenesOf } from "./scene.ts";
import { formatTimestampUs } from "./time.ts";
import { validUntilUs } from "./valid-until.ts";
import { obstructed, reasonOf, type Vote } from "./votes.ts";

type Content = Readonly<Record<string, unknown>>;
const nothing: ReadonlySet<string> = new Set();

type Scenes = (profile: number) => Scene;

/**
 * Decides on an intent. Pure: the same input gives the same bytes, in whatever order policies and facts were given.
 *
 * All policies that match are evaluated. The verdict is the strictest of what they say, of the membrane's default and of
 * its risk thresholds. Where something is modified, the modified action is evaluated once more, and a block or escalation
 * of it stands. Modifications also come with `escalate`: they are made if people approve.
 * Source: policies.md §3.
 */
export function decide(input: DecideInput): Decided {
  const { policySet, membrane, now_us } = input;
  const prepared = policySet.prepare(membrane);
  const action = decidedAction(input.intent, prepared.catalogue);
  const key = { type: action.type, verb: input.intent.action.verb, agent_id: input.intent.agent.id };
  const content = attestedContent(input);
  const sceneFor = (shown: Content | null): Scenes => scenesOf(input, prepared, action, shown);
  const scenes = sceneFor(content);
  const lift = input.overrides === undefined ? nothing : new Set(input.overrides);

  const round = evaluateRound(policySet.live, policySet.live.candidates(key), scenes, now_us);
  const risk = combineRisk(contributionsOf(round.votes));
  const plan = planOf(round.votes, content);
  const membraneReasons = membraneReasonsOf(input, risk, lift);
  let verdict = verdictOf(plan.votes, membraneReasons, lift);

  const shown = shownContent(round.votes, content);
  const reasons = reasonsOf(plan.votes, lift, shown === content ? scenes : sceneFor(shown));
  let stoppers: readonly PlacedVote[] = [];
  // Also when people are to decide: what they approve is the modified action, and a block of that must not wait for them.
  if (plan.modifications.length > 0 && verdict !== "block") {
    const modified = sceneFor(plan.content);
    const again = evaluateRound(policySet.live, round.candidates, modified, now_us);
    stoppers = again.votes.filter(({ placed, vote }) => stops(vote, lift) && !hasSaid(plan.votes, placed, vote));
    verdict = verdictOf([...plan.votes, ...stoppers], membraneReasons, lift);
    reasons.push(...reasonsOf(stoppers, lift, modified));
  }
  reasons.push(...membraneReasons);
  const votes = stoppers.length === 0 ? plan.votes : [...plan.votes, ...stoppers];
  const isModified = plan.modifications.length > 0 && (verdict === "approve_modified" || verdict === "escalate");
  const until_us = validUntilUs(input.facts, now_us, policySet, prepared, round, decidingPolicies(verdict, votes));
  return {
    content: {
      verdict,
      risk_score: risk.score,
      risk_contributions: risk.contributions as RiskContribution[],
      reasons: reasons.length > 1 ? reasons.sort(byEffect) : reasons,
      modifications: isModified ? plan.modifications : [],
      modified_content: isModified ? (plan.content as Record<string, unknown>) : null,
      valid_until: until_us === null ? null : formatTimestampUs(until_us),
      policy_set: { version: policySet.version, sha256: policySet.sha256 },
    },
    decided_as: action,
    escalation: verdict === "escalate" ? mergeTerms(membrane.escalation, escalating(votes, lift)) : null,
    shown_content: shown,
    shadow_reasons: shadowReasons(input, key, () => sceneFor(shown)),
    lifted:
      lift.size === 0 ? [] : votes.filter(({ vote }) => isLifted(vote, lift)).map(({ vote }) => vote.policy.policy_id),
  };
}

function contributionsOf(votes: readonly PlacedVote[]): RiskContribution[] {
  const contributions: RiskContribution[] = [];
  for (const { vote } of votes) {
    if (vote.risk > 0) contributions.push({ source: vote.policy.name, group: vote.policy.group, value: vote.risk });
  }
  return contributions;
}

interface Plan {
  readonly votes: readonly PlacedVote[];
  readonly modifications: Modification[];
  readonly content: Content | null;
}

/**
 * Gathers what all votes want changed. Votes whose changes conflict fall back to what they say otherwise; when all
 * changes turn out needless (a cap above the amount), nothing is modified and the votes for it have no effect.
 */
function planOf(votes: readonly PlacedVote[], content: Content | null): Plan {
  if (!votes.some(({ vote }) => vote.requests.length > 0)) return { votes, modifications: [], content };
  const plan = planChanges(
    content ?? {},
    votes.flatMap(({ vote }) => vote.requests),
  );
  if (plan.kind === "planned" && plan.operations.length > 0) {
    return { votes, modifications: plan.operations as Modification[], content: plan.content };
  }
  const settled = votes.map(({ placed, vote }): PlacedVote => {
    if (vote.effect !== "approve_modified") return { placed, vote };
    if (plan.kind === "planned") return { placed, vote: { ...vote, effect: "none" } };
    return plan.policies.includes(vote.policy.name)
      ? { placed, vote: obstructed(vote, `${plan.path}: ${plan.message}`) }
      : { placed, vote };
  });
  return { votes: settled, modifications: [], content };
}

/** Whether a person's override takes this vote out. It lifts blocks and escalations, never a modification. */
function isLifted(vote: Vote, lift: ReadonlySet<string>): boolean {
  return lift.has(vote.policy.policy_id) && (vote.effect === "block" || vote.effect === "escalate");
}

function stops(vote: Vote, lift: ReadonlySet<string>): boolean {
  return (vote.effect === "block" || vote.effect === "escalate") && !isLifted(vote, lift);
}

function hasSaid(votes: readonly PlacedVote[], placed: PlacedPolicy, { effect }: Vote): boolean {
  return votes.some((earlier) => earlier.placed === placed && earlier.vote.effect === effect);
}

function verdictOf(
  votes: readonly PlacedVote[],
  membraneReasons: readonly Reason[],
  lift: ReadonlySet<string>,
): Verdict {
  let verdict: Verdict = "approve";
  for (const { vote } of votes) {
    if (vote.effect !== "none" && !isLifted(vote, lift)) verdict = stricter(verdict, vote.effect);
  }
  for (const reason of membraneReasons) verdict = stricter(verdict, reason.effect as Verdict);
  return verdict;
}

/** What the membrane itself says: its default verdict, and the thresholds that the risk has reached. */
function membraneReasonsOf({ membrane }: DecideInput, risk: Risk, lift: ReadonlySet<string>): Reason[] {
  const reasons: Reason[] = [];
  const { default_verdict, thresholds } = membrane;
  if (default_verdict !== "approve" && !lift.has(default_verdict_name)) {
    reasons.push(
      membraneReason(default_verdict_name, default_verdict, `The membrane's default verdict is ${default_verdict}.`),
    );
  }
  if (lift.has(risk_threshold_name)) return reasons;
  for (const [effect, from] of [
    ["block", thresholds.block_at],
    ["escalate", thresholds.escalate_at],
  ] as const) {
    if (from === null || risk.score < from) continue;
    reasons.push(
      membraneReason(
        risk_threshold_name,
        effect,
        `The risk ${risk.score} has reached the membrane's ${effect} threshold ${from}.`,
      ),
    );
    break;
  }
  return reasons;
}

function membraneReason(policy: string, effect: "block" | "escalate", message: string): Reason {
  return { policy_id: null, policy, version: null, effect, message, citations: [], unknown_facts: [] };
}

function reasonsOf(votes: readonly PlacedVote[], lift: ReadonlySet<string>, scenes: Scenes): Reason[] {
  const reasons: Reason[] = [];
  for (const { placed, vote } of votes) {
    if (vote.effect === "none" && vote.unknowns.length > 0) continue;
    if (!isLifted(vote, lift)) reasons.push(reasonOf(vote, scenes(placed.profile)));
  }
  return reasons;
}

const effectRank: Readonly<Record<Reason["effect"], number>> = { block: 0, escalate: 1, approve_modified: 2, none: 3 };

function byEffect(a: Reason, b: Reason): number {
  return effectRank[a.effect] - effectRank[b.effect];
}

/** payload.content without what policies hide from people. */
function shownContent(votes: readonly PlacedVote[], content: Content | null): Content | null {
  if (content === null) return null;
  let hides: PlacedVote["vote"]["policy"]["hides"] | null = null;
  for (const { vote } of votes) if (vote.policy.hides.length > 0) hides = [...(hides ?? []), ...vote.policy.hides];
  return hides === null ? content : hideContent(content, hides);
}

/** The policies that a block or an escalation rests on; null: on all, as an approval does. */
function decidingPolicies(verdict: Verdict, votes: readonly PlacedVote[]): ReadonlySet<PlacedPolicy> | null {
  if (verdict === "approve" || verdict === "approve_modified") return null;
  const deciding = new Set<PlacedPolicy>();
  for (const { placed, vote } of votes) if (vote.effect === verdict) deciding.add(placed);
  return deciding.size > 0 ? deciding : null;
}

function escalating(
  votes: readonly PlacedVote[],
  lift: ReadonlySet<string>,
): PlacedVote["vote"]["policy"]["escalation"][] {
  return votes
    .filter(({ vote }) => vote.effect === "escalate" && !isLifted(vote, lift))
    .map(({ vote }) => vote.policy.escalation);
}

/** Shadow policies run on a budget of their own, so that trying one out never changes what live ones say. */
function shadowReasons(
  input: DecideInput,
  key: Parameters<Round["group"]["candidates"]>[0],
  scenes: () => Scenes,
): readonly Reason[] {
  const { shadow } = input.policySet;
  if (shadow.placed.length === 0) return [];
  const own = scenes();
  return reasonsOf(evaluateRound(shadow, shadow.candidates(key), own, input.now_us).votes, nothing, own).sort(byEffect);
}
