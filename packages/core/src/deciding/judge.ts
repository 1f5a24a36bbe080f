import { hiddenTexts, type Modification, type Reason, type Verdict } from "@countersign/contract";
import { type DecidedAction, decidedAction } from "../policy/action.ts";
import type { ActionKey } from "../policy/action-index.ts";
import type { Scene } from "../policy/evaluate.ts";
import { holdsHidden } from "../values/hidden-text.ts";
import { type DecideInput, default_verdict_name, risk_threshold_name, stricter } from "./decision.ts";
import { type ChangeRequest, holds_hidden, planChanges } from "./modify.ts";
import type { PlacedPolicy, PreparedMembrane } from "./policy-set.ts";
import { type RiskContribution, riskScore } from "./risk.ts";
import { evaluateRound, type PlacedVote, type Round } from "./round.ts";
import { attestedContent, scenesOf } from "./scene.ts";
import { obstructed, unknownFacts, type Vote } from "./votes.ts";

type Content = Readonly<Record<string, unknown>>;
const nothing: ReadonlySet<string> = new Set();

/** The scenes of one action with one content, by staleness profile. */
export type Scenes = (profile: number) => Scene;

/**
 * What the membrane itself says. `at`: the threshold that the risk has reached; null: it is the default verdict.
 * `modified_risk`: it was reached by this risk of the modified action only; null: by that of the submitted one.
 */
export interface MembraneVote {
  readonly policy: string;
  readonly effect: "block" | "escalate";
  readonly at: number | null;
  readonly modified_risk: number | null;
}

/** What is to be changed, and the votes that are left when that is settled. */
interface Plan {
  readonly votes: readonly PlacedVote[];
  readonly modifications: Modification[];
  readonly content: Content | null;
}

/** A verdict and what it rests on, before any of it is put into words: `decide` does that. */
export interface Judgement {
  readonly verdict: Verdict;
  readonly action: DecidedAction;
  readonly key: ActionKey;
  readonly prepared: PreparedMembrane;
  /** payload.content as policies see it. */
  readonly content: Content | null;
  readonly scenes: Scenes;
  readonly lift: ReadonlySet<string>;
  /** The action as it was submitted. */
  readonly round: Round;
  readonly contributions: readonly RiskContribution[];
  readonly plan: Plan;
  /** The modified action; null where it was not evaluated. */
  readonly modified: { readonly scenes: Scenes; readonly round: Round } | null;
  /** Votes against the modified action that the submitted one did not have, and what is hidden of it because of them. */
  readonly stoppers: readonly PlacedVote[];
  readonly membrane_votes: readonly MembraneVote[];
}

/** What one policy, or the membrane, says: a reason without its words. */
export interface Said {
  readonly policy: string;
  readonly effect: Reason["effect"];
  /** Of the facts that were unknown. */
  readonly paths: readonly string[];
}

const none: readonly never[] = Object.freeze([]);

/**
 * Comes to the verdict that `decide` gives for the same input, and to nothing else: it takes half the time. Where `budget` is
 * given, what only words would cost is not taken from it.
 */
export function judge(input: DecideInput): Judgement {
  const { policySet, membrane, now_us } = input;
  const prepared = policySet.prepare(membrane);
  const action = decidedAction(input.intent, prepared.catalogue);
  const key = { type: action.type, verb: input.intent.action.verb, agent_id: input.intent.agent.id };
  const content = attestedContent(input);
  const scenes = scenesOf(input, prepared, action, content);
  const lift = input.overrides === undefined || input.overrides.length === 0 ? nothing : new Set(input.overrides);

  const round = evaluateRound(policySet.live, policySet.live.candidates(key), scenes, now_us);
  const contributions = contributionsOf(round.votes);
  let plan = planOf(round.votes, content);
  let membrane_votes = membraneVotes(input, contributions, lift);
  let verdict = verdictOf(plan, membrane_votes, lift);
  let modified: Judgement["modified"] = null;
  let stoppers: readonly PlacedVote[] = none;
  // Also when people are to decide: what they approve is the modified action, and a block of that must not wait for them.
  // And when it is blocked: an override lifts what stands in the reasons, and then the modified action is what goes through.
  if (plan.modifications.length > 0) {
    const again = (seen: Plan) => {
      const changed = scenesOf(input, prepared, action, seen.content);
      const silent = silencedBy(seen.votes);
      return { scenes: changed, round: evaluateRound(policySet.live, round.candidates, changed, now_us, silent) };
    };
    modified = again(plan);
    const asked = { content, votes: plan.votes };
    const hides: ChangeRequest[] = [];
    for (let said: readonly PlacedVote[] = plan.votes; ; said = [...plan.votes, ...stoppers]) {
      const more = stoppersOf(asked, said, plan.content, modified.round.votes, lift);
      stoppers = [...stoppers, ...more];
      // This ends: whatever a policy hides is hidden from then on.
      const hidden = more.flatMap(({ placed, vote }) => (isPlanned(said, placed) ? none : vote.requests));
      if (hidden.length === 0) break;
      hides.push(...hidden);
      plan = planOf(round.votes, content, hides);
      verdict = verdictOf(plan, membrane_votes, lift);
      modified = again(plan);
    }
    for (const { vote } of stoppers) if (stops(vote, lift)) verdict = stricter(verdict, vote.effect as Verdict);
    const reached = reachedAgain(input, membrane_votes, contributionsOf(modified.round.votes), lift);
    if (reached !== null) {
      membrane_votes = [...membrane_votes, reached];
      verdict = stricter(verdict, reached.effect);
    }
  }
  return {
    verdict,
    action,
    key,
    prepared,
    content,
    scenes,
    lift,
    round,
    contributions,
    plan,
    modified,
    stoppers,
    membrane_votes,
  };
}

/** Who says what: one for each reason that `decide` gives for the same input, in another order. */
export function saidBy({ plan, stoppers, lift, membrane_votes }: Judgement): Said[] {
  const said: Said[] = [];
  for (const votes of [plan.votes, stoppers]) {
    for (const { vote } of votes) {
      if (speaks(vote, lift)) said.push({ policy: vote.policy.name, effect: vote.effect, paths: pathsOf(vote) });
    }
  }
  for (const { policy, effect } of membrane_votes) said.push({ policy, effect, paths: none });
  return said;
}

function pathsOf(vote: Vote): readonly string[] {
  return vote.unknowns.length === 0 && vote.lacking.length === 0 ? none : unknownFacts(vote).map(({ path }) => path);
}

/** Whether a vote is a reason. */
export function speaks(vote: Vote, lift: ReadonlySet<string>): boolean {
  return (vote.effect !== "none" || vote.unknowns.length === 0) && !isLifted(vote, lift);
}

/** Whether a person's override takes this vote out. It lifts blocks and escalations, never a modification. */
export function isLifted(vote: Vote, lift: ReadonlySet<string>): boolean {
  return lift.has(vote.policy.policy_id) && (vote.effect === "block" || vote.effect === "escalate");
}

function contributionsOf(votes: readonly PlacedVote[]): RiskContribution[] {
  const contributions: RiskContribution[] = [];
  for (const { vote } of votes) {
    if (vote.risk > 0) contributions.push({ source: vote.policy.name, group: vote.policy.group, value: vote.risk });
  }
  return contributions;
}

/**
 * What all votes want changed, and on top of it `hides` (only remove and redact): no value that is written holds what they
 * hide, also where it is hidden only after it was written.
 */
function planOf(votes: readonly PlacedVote[], content: Content | null, hides: readonly ChangeRequest[] = none): Plan {
  const plan = gather(votes, content, hides);
  if (hides.length === 0) return plan;
  const hidden = planChanges(plan.content ?? {}, hides);
  if (hidden.kind === "conflict") throw new Error("what only hides is in no conflict");
  const texts = hiddenTexts(plan.content, hidden.content);
  const telling = plan.votes.map((each) => {
    const told = writes(each.vote).find(({ value }) => holdsHidden(value, texts));
    return told === undefined ? each : { ...each, vote: obstructed(each.vote, `${told.path}: ${holds_hidden}`) };
  });
  if (telling.some((each, index) => each !== plan.votes[index])) return planOf(telling, content, hides);
  const modifications = [...plan.modifications, ...(hidden.operations as Modification[])];
  return { votes: plan.votes, modifications, content: hidden.content };
}

function writes({ effect, requests }: Vote): readonly ChangeRequest[] {
  return effect === "approve_modified" ? requests.filter(({ value }) => value !== undefined) : none;
}

/**
 * Gathers what all votes want changed. Votes whose changes conflict fall back to what they say otherwise, and the others
 * are gathered again: what they change stands. When all changes turn out needless (a cap above the amount), nothing is
 * modified and the votes for it have no effect.
 */
function gather(votes: readonly PlacedVote[], content: Content | null, hides: readonly ChangeRequest[]): Plan {
  if (!votes.some(({ vote }) => vote.requests.length > 0)) return { votes, modifications: [], content };
  const plan = planChanges(
    content ?? {},
    votes.flatMap(({ vote }) => vote.requests),
    [...votes.flatMap(({ vote }) => vote.policy.hides), ...hides],
  );
  if (plan.kind === "conflict") {
    const obstacles = new Map<string, string>();
    for (const { path, message, policies } of plan.conflicts) {
      for (const name of policies) if (!obstacles.has(name)) obstacles.set(name, `${path}: ${message}`);
    }
    // This ends: only values conflict, and each time there are fewer votes that want one written.
    const rest = votes.map((each): PlacedVote => {
      const { vote } = each;
      const obstacle = vote.effect === "approve_modified" ? obstacles.get(vote.policy.name) : undefined;
      return obstacle === undefined ? each : { ...each, vote: obstructed(vote, obstacle) };
    });
    return gather(rest, content, hides);
  }
  if (plan.operations.length > 0) {
    return { votes, modifications: plan.operations as Modification[], content: plan.content };
  }
  const settled = votes.map(
    (each): PlacedVote =>
      each.vote.effect === "approve_modified" ? { ...each, vote: { ...each.vote, effect: "none" } } : each,
  );
  return { votes: settled, modifications: [], content };
}

/**
 * What stays suppressed while the modified action is evaluated: what a policy suppresses that fired and whose changes are
 * made. They may be all that it fired for, and then it would not fire again.
 */
function silencedBy(votes: readonly PlacedVote[]): number[] {
  return votes.flatMap(({ vote, silences }) => (vote.requests.length > 0 ? silences : none));
}

/**
 * What the evaluation of the modified action adds: blocks and escalations, and changes that only the modified action asks
 * for. Those are not made, since changes are computed from the action as it was submitted (`asked`): such a vote falls back to
 * what it says otherwise, as in a conflict. What it hides is hidden all the same, also where it is lifted.
 */
function stoppersOf(
  asked: Pick<Plan, "content" | "votes">,
  before: readonly PlacedVote[],
  content: Content | null,
  again: readonly PlacedVote[],
  lift: ReadonlySet<string>,
): PlacedVote[] {
  const hides = before.flatMap(({ vote }) => (vote.requests.length > 0 ? vote.policy.hides : none));
  return again.flatMap((each) => {
    const { placed, vote } = each;
    const planned = isPlanned(before, placed);
    const asks = planned ? breaksBound(asked, placed, content, vote, hides) : isNeeded(content, vote.requests);
    const said =
      asks && vote.effect === "approve_modified"
        ? obstructed(vote, "the action asks for it only as others modify it")
        : vote;
    if (!asks && !stops(said, lift)) return [];
    const hidesMore = asks && !planned && said.requests.length > 0;
    return !hidesMore && hasSaid(before, placed, said) ? [] : [{ ...each, vote: said }];
  });
}

/** Whether what this policy wants changed is among the changes, or what it hides. */
function isPlanned(votes: readonly PlacedVote[], placed: PlacedPolicy): boolean {
  return votes.some((each) => each.placed === placed && each.vote.requests.length > 0);
}

function isNeeded(content: Content | null, requests: readonly ChangeRequest[]): boolean {
  if (requests.length === 0) return false;
  const plan = planChanges(content ?? {}, requests);
  return plan.kind === "conflict" || plan.operations.length > 0;
}

/**
 * Whether the modified action is beyond a bound (cap or floor) of this policy that the submitted one kept. What is gone (it is
 * one of the `hides`, and no next entry of a list came to stand in its place) is beyond none.
 */
function breaksBound(
  asked: Pick<Plan, "content" | "votes">,
  placed: PlacedPolicy,
  content: Content | null,
  { requests }: Vote,
  hides: readonly ChangeRequest[],
): boolean {
  const isGone = (path: string) =>
    hides.some((hide) => `${path}/`.startsWith(`${hide.path}/`) && !isNeeded(content, [hide]));
  return requests.some((bound) => {
    if ((bound.op !== "cap" && bound.op !== "floor") || !isNeeded(content, [bound]) || isGone(bound.path)) return false;
    const earlier = asked.votes.flatMap((each) => (each.placed === placed ? each.vote.requests : none));
    const same = earlier.filter(({ op, path }) => op === bound.op && path === bound.path);
    return same.length > 0 && !isNeeded(asked.content, same);
  });
}

function stops(vote: Vote, lift: ReadonlySet<string>): boolean {
  return (vote.effect === "block" || vote.effect === "escalate") && !isLifted(vote, lift);
}

function hasSaid(votes: readonly PlacedVote[], placed: PlacedPolicy, { effect }: Vote): boolean {
  return votes.some((earlier) => earlier.placed === placed && earlier.vote.effect === effect);
}

function verdictOf(
  { votes, modifications }: Plan,
  membrane_votes: readonly MembraneVote[],
  lift: ReadonlySet<string>,
): Verdict {
  // A vote that is lifted may still hide something.
  let verdict: Verdict = modifications.length > 0 ? "approve_modified" : "approve";
  for (const { vote } of votes) {
    if (vote.effect !== "none" && !isLifted(vote, lift)) verdict = stricter(verdict, vote.effect);
  }
  for (const { effect } of membrane_votes) verdict = stricter(verdict, effect);
  return verdict;
}

/** Its default verdict, and the stricter of the thresholds that the risk has reached. */
function membraneVotes(
  { membrane }: DecideInput,
  contributions: readonly RiskContribution[],
  lift: ReadonlySet<string>,
): readonly MembraneVote[] {
  const { default_verdict, thresholds } = membrane;
  const said: MembraneVote[] = [];
  if (default_verdict !== "approve" && !lift.has(default_verdict_name)) {
    said.push({ policy: default_verdict_name, effect: default_verdict, at: null, modified_risk: null });
  }
  const { block_at, escalate_at } = thresholds;
  if ((block_at === null && escalate_at === null) || lift.has(risk_threshold_name)) return said;
  const score = riskScore(contributions);
  if (block_at !== null && score >= block_at) {
    said.push({ policy: risk_threshold_name, effect: "block", at: block_at, modified_risk: null });
  } else if (escalate_at !== null && score >= escalate_at) {
    said.push({ policy: risk_threshold_name, effect: "escalate", at: escalate_at, modified_risk: null });
  }
  return said;
}

/** The threshold that the risk of the modified action reaches, where that of the submitted one reached none as strict. */
function reachedAgain(
  input: DecideInput,
  said: readonly MembraneVote[],
  contributions: readonly RiskContribution[],
  lift: ReadonlySet<string>,
): MembraneVote | null {
  const reached = membraneVotes(input, contributions, lift).find(({ at }) => at !== null);
  if (reached === undefined) return null;
  const known = said.some(({ at, effect }) => at !== null && stricter(effect, reached.effect) === effect);
  return known ? null : { ...reached, modified_risk: riskScore(contributions) };
}
