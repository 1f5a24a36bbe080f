import type { Cause, Program } from "@countersign/cel";
import { look_alike_reason, type PullFailure, type Reason } from "@countersign/contract";
import { isLookAlikeCause } from "../names/look-alike-cause.ts";
import type { CompiledPolicy } from "../policy/compile.ts";
import { clipMessage, shownValue } from "../policy/message.ts";
import { clipText } from "../values/clip-text.ts";
import { jsonValue } from "../values/json-value.ts";
import { withoutTexts } from "../values/redacted-texts.ts";
import { bindVariables, runOn, type Views, type ViewsByProfile } from "./bind-facts.ts";
import type { Concluded, MembraneVote } from "./conclude.ts";
import { causeText, isOverridden, mergeCauses, type Vote } from "./evaluate.ts";
import { freezeReasonName } from "./freezes.ts";
import { type ReportedLookAlike, reported } from "./look-alikes.ts";

/** Returns the reasons of these votes. Messages read their values from `viewsFor`, and quote none of the `redacted` texts. */
export function reasonsOf(
  votes: readonly Vote[],
  overrides: ReadonlySet<string>,
  viewsFor: ViewsByProfile,
  redacted: readonly string[],
): Reason[] {
  const reasons: Reason[] = [];
  for (const vote of votes) {
    if (isReason(vote, overrides)) reasons.push(reasonOf(vote, viewsFor(vote.placed.profile), redacted));
  }
  return reasons;
}

/** Whether a vote is a reason. Overridden votes are not, and votes of unknown policies that only add risk are not. */
function isReason(vote: Vote, overrides: ReadonlySet<string>): boolean {
  return (vote.effect !== "none" || vote.unknowns.length === 0) && !isOverridden(vote, overrides);
}

function reasonOf(vote: Vote, views: Views, redacted: readonly string[]): Reason {
  const { policy } = vote.placed;
  const unknowns = withPullFailure(vote.unknowns, views.not_pulled);
  const missing = withPullFailure(vote.missing, views.not_pulled);
  return {
    policy_id: policy.policy_id,
    policy: policy.name,
    version: policy.version,
    effect: vote.effect,
    message: clipMessage(messageOf(vote, unknowns, views, redacted) + spentText(vote)),
    citations: policy.citations as string[],
    unknown_facts: unknownFacts(unknowns, missing, redacted),
  };
}

/** Names the failure of the context source as the cause of each missing fact, because the source gave no facts. */
function withPullFailure(causes: readonly Cause[], failure: PullFailure | null): readonly Cause[] {
  if (failure === null) return causes;
  return causes.map((cause) =>
    cause.reason === "missing" && cause.path.startsWith("facts.") ? { ...cause, reason: failure } : cause,
  );
}

function messageOf(
  { placed: { policy }, obstacle }: Vote,
  unknowns: readonly Cause[],
  views: Views,
  redacted: readonly string[],
): string {
  if (unknowns.length > 0) return notEstablished(policy, unknowns, redacted);
  let text = policy.title;
  if (policy.message !== null) {
    text = "";
    for (const part of policy.message)
      text += typeof part === "string" ? part : shownValue(withoutTexts(messageValue(part, policy, views), redacted));
  }
  return obstacle === null ? text : `${text} (not modified: ${withoutTexts(obstacle, redacted)})`;
}

/** The most policies that a message names. */
const spenders_named_max = 5;

/** Returns a sentence that names what used up the cost budget; empty if the vote lacks nothing because of that. */
function spentText({ spenders }: Vote): string {
  if (spenders.length === 0) return "";
  const named = spenders.slice(0, spenders_named_max);
  const costs = named.map(({ policy, units }) => `${policy} took ${units.toLocaleString("en-US")} units`).join(", ");
  const others = spenders.length > named.length ? `, ${spenders.length - named.length} others took less` : "";
  return `. The budget is for all policies together: ${costs}${others}`;
}

/** Returns why a policy is unknown, in a sentence that quotes none of the `redacted` texts. */
export function notEstablished(
  { title }: CompiledPolicy,
  unknowns: readonly Cause[],
  redacted: readonly string[],
): string {
  const causes = withoutTexts(unknowns.slice(0, 8).map(causeText), redacted);
  return `${title}: not established, because ${causes.join(", ")}`;
}

/** Returns the value of a program on the raw view; undefined if it has no value. */
function messageValue(program: Program, policy: CompiledPolicy, views: Views): unknown {
  const view = views.raw ?? views.fresh;
  bindVariables(policy, view.bindings);
  const result = runOn(program, view, views.options);
  return jsonValue(result.kind === "value" ? result.value : undefined);
}

function unknownFacts(
  unknowns: readonly Cause[],
  missing: readonly Cause[],
  redacted: readonly string[],
): Reason["unknown_facts"] {
  const causes = missing.length === 0 ? unknowns : mergeCauses(unknowns, missing);
  return causes.slice(0, 64).map((cause) => ({
    path: clipText(withoutTexts(cause.path, redacted), 256),
    // Without a path the reason is the message of an error, which may contain a value. A known name may be one, too.
    reason: clipText(
      cause.path === "" || isLookAlikeCause(cause) ? withoutTexts(cause.reason, redacted) : cause.reason,
      64,
    ),
  }));
}

/** Returns the reason of a vote of the membrane itself. */
export function membraneReason({ policy, effect, threshold, modified_risk }: MembraneVote, risk_score: number): Reason {
  const score = modified_risk === null ? risk_score : `${modified_risk} of the modified action`;
  const default_message =
    policy === look_alike_reason
      ? "The names of the action look like too many known names to evaluate the rules on all of them."
      : `The membrane's default verdict is ${effect}.`;
  const message =
    threshold === null
      ? default_message
      : `The risk ${score} has reached the membrane's ${effect} threshold ${threshold}.`;
  return { policy_id: null, policy, version: null, effect, message, citations: [], unknown_facts: [] };
}

/** Returns the look-alikes that this record's decision reports. */
export function reportedLookAlikes({ input, action, modified }: Concluded): readonly ReportedLookAlike[] {
  const votes = action.look_alikes.length === 0 ? [] : [...modified.plan.votes, ...modified.objections];
  const causes = votes.flatMap(({ unknowns, missing }) => [...unknowns, ...missing]);
  return reported(action.look_alikes, causes, input);
}

/** A reason without its words. */
export interface BareReason {
  readonly policy: string;
  readonly effect: Reason["effect"];
  /** The paths of the facts that were unknown. */
  readonly paths: readonly string[];
}

/** Returns the reasons that `explain` gives for this record, without their words and in another order. */
export function bareReasons(record: Concluded): BareReason[] {
  const { input, action, modified, conclusion } = record;
  const reasons: BareReason[] = [];
  for (const votes of [modified.plan.votes, modified.objections]) {
    for (const vote of votes) {
      if (!isReason(vote, action.overrides)) continue;
      const paths = unknownFacts(vote.unknowns, vote.missing, []).map(({ path }) => path);
      reasons.push({ policy: vote.placed.policy.name, effect: vote.effect, paths });
    }
  }
  for (const { policy, effect } of conclusion.membrane_votes) reasons.push({ policy, effect, paths: [] });
  for (const freeze of input.freezes ?? [])
    reasons.push({ policy: freezeReasonName(freeze), effect: freeze.mode, paths: [] });
  for (const _ of reportedLookAlikes(record)) reasons.push({ policy: look_alike_reason, effect: "none", paths: [] });
  return reasons;
}

const effectOrder: Readonly<Record<Reason["effect"], number>> = {
  block: 0,
  escalate: 1,
  approve_modified: 2,
  none: 3,
};

/** Orders reasons by effect, the strictest first. */
export function byEffect(a: Reason, b: Reason): number {
  return effectOrder[a.effect] - effectOrder[b.effect];
}

/** The most characters that the texts of all reasons of one decision may have; enough for some hundred usual reasons. */
export const reasons_chars_max = 65_536;

/** The message of a reason whose own texts do not fit. */
export const left_out = "Omitted, because the decision has too many reasons.";

/**
 * Drops the texts of reasons that do not fit into `reasons_chars_max`, and keeps all reasons. Otherwise a thousand policies
 * that fire on a small action would make a decision of 10 MB.
 */
export function fitReasons(reasons: readonly Reason[]): Reason[] {
  let left = reasons_chars_max;
  return reasons.map((reason) => {
    const chars = charsOf(reason);
    if (chars > left) return { ...reason, message: left_out, citations: [], unknown_facts: [] };
    left -= chars;
    return reason;
  });
}

function charsOf({ message, citations, unknown_facts }: Reason): number {
  let chars = message.length;
  for (const citation of citations) chars += citation.length;
  for (const { path, reason } of unknown_facts) chars += path.length + reason.length;
  return chars;
}
