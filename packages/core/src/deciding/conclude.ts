import { look_alike_reason, tool_change_action_type, type Verdict } from "@countersign/contract";
import type { WithCounts } from "../counters/counted.ts";
import type { Classified } from "./classify.ts";
import {
  counters_full_name,
  default_verdict_name,
  type MembraneSettings,
  risk_threshold_name,
  stricter,
  strictness,
  tool_change_name,
} from "./decision.ts";
import { isOverridden, type Vote } from "./evaluate.ts";
import { asAncestor } from "./evaluate-readings.ts";
import { lookAlikesOf, readingsOf } from "./look-alikes.ts";
import { type RiskContribution, riskScore } from "./risk.ts";

export interface MembraneVote {
  /** A name of the service's own, such as `default_verdict_name`. */
  readonly policy: string;
  readonly effect: "block" | "escalate";
  /** Set only for a risk threshold. */
  readonly threshold: number | null;
  /** Set if only the modified action reached the threshold. */
  readonly modified_risk: number | null;
}

interface Conclusion {
  /** Contributions of the submitted action. */
  readonly contributions: readonly RiskContribution[];
  readonly membrane_votes: readonly MembraneVote[];
  readonly verdict: Verdict;
}

export interface Concluded extends WithCounts {
  readonly conclusion: Conclusion;
}

/** Stage 6: takes the strictest effect that is not overridden. */
export function conclude(record: WithCounts): Concluded {
  const { input, action, viewsFor, evaluation, draft, modified, counts } = record;
  const { plan, objections } = modified;
  const contributions = contributionsOf(evaluation.votes);
  const membrane_votes = membraneVotesOf(record, contributions);
  // A redaction modifies the action even if an override cancels its vote.
  let verdict: Verdict = plan.modifications.length > 0 ? "approve_modified" : "approve";
  for (const votes of [plan.votes, objections]) {
    for (const vote of votes) {
      if (vote.effect !== "none" && !isOverridden(vote, action.overrides)) verdict = stricter(verdict, vote.effect);
    }
  }
  for (const { effect } of membrane_votes) verdict = stricter(verdict, effect);
  for (const { mode } of input.freezes ?? []) verdict = stricter(verdict, mode);
  const conclusion = { contributions, membrane_votes, verdict };
  return { input, action, viewsFor, evaluation, draft, modified, counts, conclusion };
}

function contributionsOf(votes: readonly Vote[]): RiskContribution[] {
  const contributions: RiskContribution[] = [];
  for (const { placed, risk } of votes) {
    if (risk > 0) contributions.push({ source: placed.policy.name, group: placed.policy.group, value: risk });
  }
  return contributions;
}

function membraneVotesOf(record: WithCounts, contributions: readonly RiskContribution[]): MembraneVote[] {
  const { reevaluation } = record.modified;
  const { overrides } = record.action;
  const { default_verdict, thresholds } = record.input.membrane;
  const votes: MembraneVote[] = [];
  if (default_verdict !== "approve" && !overrides.has(default_verdict_name)) {
    votes.push({ policy: default_verdict_name, effect: default_verdict, threshold: null, modified_risk: null });
  }
  if (!overrides.has(look_alike_reason) && hasTooManyReadings(record))
    votes.push({ policy: look_alike_reason, effect: "escalate", threshold: null, modified_risk: null });
  if (!overrides.has(counters_full_name) && record.counts.full.length > 0)
    votes.push({ policy: counters_full_name, effect: "escalate", threshold: null, modified_risk: null });
  if (!overrides.has(tool_change_name) && isToolChange(record))
    votes.push({ policy: tool_change_name, effect: "escalate", threshold: null, modified_risk: null });
  if (overrides.has(risk_threshold_name)) return votes;
  const reached = thresholdVote(thresholds, contributions);
  if (reached !== null) votes.push(reached);
  if (reevaluation === null) return votes;
  const modified_contributions = contributionsOf(reevaluation.votes);
  const modified = thresholdVote(thresholds, modified_contributions);
  if (modified !== null && (reached === null || strictness[modified.effect] > strictness[reached.effect])) {
    votes.push({ ...modified, modified_risk: riskScore(modified_contributions) });
  }
  return votes;
}

/** Reads the declared type, too, because a catalogue entry must not release such an action. */
export function isToolChange({ input, action }: Classified): boolean {
  const declared = input.intent.action.type?.toLowerCase();
  return declared === tool_change_action_type || action.decided_as.type === tool_change_action_type;
}

/** Checks the acting agent and the agents above it. */
function hasTooManyReadings({ input, action: { look_alikes, prepared } }: WithCounts): boolean {
  if (look_alikes.length > 0 && readingsOf(input.intent, look_alikes) === null) return true;
  return (input.facts.ancestors ?? []).some((ancestor) => {
    const { intent } = asAncestor(input, ancestor);
    return readingsOf(intent, lookAlikesOf(intent, prepared.names.live)) === null;
  });
}

function thresholdVote(
  { block_at, escalate_at }: MembraneSettings["thresholds"],
  contributions: readonly RiskContribution[],
): MembraneVote | null {
  if (block_at === null && escalate_at === null) return null;
  const score = riskScore(contributions);
  const reached = { policy: risk_threshold_name, modified_risk: null };
  if (block_at !== null && score >= block_at) return { ...reached, effect: "block", threshold: block_at };
  if (escalate_at !== null && score >= escalate_at) return { ...reached, effect: "escalate", threshold: escalate_at };
  return null;
}
