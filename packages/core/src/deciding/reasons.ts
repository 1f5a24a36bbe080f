import type { Cause, Program } from "@countersign/cel";
import {
  type Assurance,
  look_alike_reason,
  type PullFailure,
  type Reason,
  untrusted_source,
} from "@countersign/contract";
import { countedText } from "../counters/counted-text.ts";
import { assuranceOf, type MergedFacts, originOf } from "../facts/merge.ts";
import { isLookAlikeCause } from "../names/look-alike-cause.ts";
import type { CompiledPolicy } from "../policy/compile.ts";
import { factPath } from "../policy/fact-paths.ts";
import { clipMessage, shownValue } from "../policy/message.ts";
import { clipText } from "../values/clip-text.ts";
import { jsonValue } from "../values/json-value.ts";
import { withoutTexts } from "../values/redacted-texts.ts";
import { bindVariables, runOn, type Views, type ViewsByProfile, viewsOfContent } from "./bind-facts.ts";
import { type Classified, classify } from "./classify.ts";
import type { Concluded, MembraneVote } from "./conclude.ts";
import { type Content, counters_full_name, tool_change_name } from "./decision.ts";
import { causeText, isOverridden, mergeCauses, type Vote } from "./evaluate.ts";
import { asAncestor } from "./evaluate-readings.ts";
import { freezeReasonName } from "./freezes.ts";
import { type ReportedLookAlike, reported } from "./look-alikes.ts";

export interface Unquoted {
  /** Texts of the action. */
  readonly redacted: readonly string[];
  /** The reader must not see stored and pulled facts. The views then lack them. */
  readonly stored: boolean;
}

/**
 * Returns the reasons of these votes. Message values come from `viewsFor`, or from the views of the ancestor that a
 * vote is about.
 */
export function reasonsOf(
  record: Classified,
  votes: readonly Vote[],
  content: Content | null,
  viewsFor: ViewsByProfile,
  unquoted: Unquoted,
): Reason[] {
  const { input, action } = record;
  const above = new Map<string, ViewsByProfile>();
  const viewsAbove = (id: string): ViewsByProfile => {
    const ancestor = input.facts.ancestors?.find((each) => each.id === id);
    const views =
      above.get(id) ??
      (ancestor === undefined ? viewsFor : viewsOfContent(classify(asAncestor(input, ancestor)), content));
    above.set(id, views);
    return views;
  };
  const reasons: Reason[] = [];
  for (const vote of votes) {
    if (!isReason(vote, action.overrides)) continue;
    const views = vote.ancestor === undefined ? viewsFor : viewsAbove(vote.ancestor);
    reasons.push(reasonOf(vote, views(vote.placed.profile), unquoted));
  }
  return reasons;
}

/** Excludes overridden votes and unknown policies that only add risk. */
function isReason(vote: Vote, overrides: ReadonlySet<string>): boolean {
  return (vote.effect !== "none" || vote.unknowns.length === 0) && !isOverridden(vote, overrides);
}

function reasonOf(vote: Vote, views: Views, unquoted: Unquoted): Reason {
  const { policy } = vote.placed;
  const { redacted } = unquoted;
  const causes = (given: readonly Cause[]) =>
    withPullFailure(unquoted.stored ? given.map(withoutError) : given, views.not_pulled);
  const unknowns = causes(vote.unknowns);
  const missing = causes(vote.missing);
  return {
    policy_id: policy.policy_id,
    policy: policy.name,
    version: policy.version,
    effect: vote.effect,
    message: clipMessage(
      messageOf(vote, unknowns, views, unquoted) + countsOf(vote, views) + spentText(vote) + aboveText(vote, redacted),
    ),
    citations: policy.citations as string[],
    unknown_facts: unknownFacts(unknowns, missing, redacted, views.facts),
  };
}

function countsOf({ placed, unknowns }: Vote, views: Views): string {
  return unknowns.length > 0 || placed.policy.read_counters.length === 0 ? "" : countedText(placed.policy, views);
}

function aboveText({ ancestor }: Vote, redacted: readonly string[]): string {
  return ancestor === undefined ? "" : withoutTexts(` (for the agent ${ancestor} above this one)`, redacted);
}

/** Error messages may contain any value, so readers without stored facts see only "error". */
function withoutError(cause: Cause): Cause {
  return cause.path === "" && cause.reason !== "cost" ? { path: "", reason: "error" } : cause;
}

/** Replaces "missing" with the failure of the context source, which gave no facts. */
function withPullFailure(causes: readonly Cause[], failure: PullFailure | null): readonly Cause[] {
  if (failure === null) return causes;
  return causes.map((cause) =>
    cause.reason === "missing" && cause.path.startsWith("facts.") ? { ...cause, reason: failure } : cause,
  );
}

function messageOf(
  { placed: { policy }, obstacle, missing }: Vote,
  unknowns: readonly Cause[],
  views: Views,
  { redacted, stored }: Unquoted,
): string {
  if (unknowns.length > 0) return notEstablished(policy, unknowns, redacted);
  let text = policy.title;
  if (policy.message !== null) {
    text = "";
    for (const part of policy.message)
      text +=
        typeof part === "string" ? part : partText(withoutTexts(messageValue(part, policy, views), redacted), stored);
  }
  if (obstacle !== null && stored && missing.length > 0) return `${text} (not modified: a value cannot be computed)`;
  return obstacle === null ? text : `${text} (not modified: ${withoutTexts(obstacle, redacted)})`;
}

const not_shown_text = "[not shown]";

function partText(value: unknown, stored: boolean): string {
  return value === undefined && stored ? not_shown_text : shownValue(value);
}

const spenders_named_max = 5;

function spentText({ spenders }: Vote): string {
  if (spenders.length === 0) return "";
  const named = spenders.slice(0, spenders_named_max);
  const costs = named.map(({ policy, units }) => `${policy} took ${units.toLocaleString("en-US")} units`).join(", ");
  const others = spenders.length > named.length ? `, ${spenders.length - named.length} others took less` : "";
  return `. The budget is for all policies together: ${costs}${others}`;
}

export function notEstablished(
  { title }: CompiledPolicy,
  unknowns: readonly Cause[],
  redacted: readonly string[],
): string {
  const causes = withoutTexts(unknowns.slice(0, 8).map(causeText), redacted);
  return `${title}: not established, because ${causes.join(", ")}`;
}

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
  facts: MergedFacts,
): Reason["unknown_facts"] {
  const causes = missing.length === 0 ? unknowns : mergeCauses(unknowns, missing);
  return causes.slice(0, 64).map((cause) => {
    const { path, reason } = cause;
    const fact = {
      path: clipText(withoutTexts(path, redacted), 256),
      // An error message or a known name may contain a redacted text.
      reason: clipText(path === "" || isLookAlikeCause(cause) ? withoutTexts(reason, redacted) : reason, 64),
    };
    return reason === untrusted_source ? { ...fact, assurance: assuranceAt(facts, path) } : fact;
  });
}

/** `path` is for example `facts.identity.account_status`. */
function assuranceAt(facts: MergedFacts, path: string): Assurance {
  const fact = factPath(path.split(".").slice(1, 3).join("."));
  const origin = fact === null ? null : originOf(facts, fact.category, fact.field);
  return origin === null ? "reported" : assuranceOf(origin);
}

const fixedMessages: Readonly<Record<string, string>> = {
  [look_alike_reason]: "The names of the action look like too many known names to evaluate the rules on all of them.",
  [counters_full_name]:
    "A counter has no room for the action: the organization has as many keys as it may, or too many actions count in the key.",
  [tool_change_name]:
    "The definition of a tool changed. A person must compare `was` and `now` before the agent may use the tool.",
};

export function membraneReason({ policy, effect, threshold, modified_risk }: MembraneVote, risk_score: number): Reason {
  const score = modified_risk === null ? risk_score : `${modified_risk} of the modified action`;
  const default_message = fixedMessages[policy] ?? `The membrane's default verdict is ${effect}.`;
  const message =
    threshold === null
      ? default_message
      : `The risk ${score} has reached the membrane's ${effect} threshold ${threshold}.`;
  return { policy_id: null, policy, version: null, effect, message, citations: [], unknown_facts: [] };
}

export function reportedLookAlikes({ input, action, modified }: Concluded): readonly ReportedLookAlike[] {
  const votes = action.look_alikes.length === 0 ? [] : [...modified.plan.votes, ...modified.objections];
  const causes = votes.flatMap(({ unknowns, missing }) => [...unknowns, ...missing]);
  return reported(action.look_alikes, causes, input);
}

export interface BareReason {
  readonly policy: string;
  readonly effect: Reason["effect"];
  /** `assurance` only if it was too low. */
  readonly unknown: readonly Pick<Reason["unknown_facts"][number], "path" | "assurance">[];
}

/** In another order than those of `explain`. */
export function bareReasons(record: Concluded): BareReason[] {
  const { input, action, modified, conclusion } = record;
  const { facts } = input;
  const reasons: BareReason[] = [];
  for (const votes of [modified.plan.votes, modified.objections]) {
    for (const vote of votes) {
      if (!isReason(vote, action.overrides)) continue;
      const unknown = unknownFacts(vote.unknowns, vote.missing, [], facts);
      reasons.push({ policy: vote.placed.policy.name, effect: vote.effect, unknown });
    }
  }
  for (const { policy, effect } of conclusion.membrane_votes) reasons.push({ policy, effect, unknown: [] });
  for (const freeze of input.freezes ?? [])
    reasons.push({ policy: freezeReasonName(freeze), effect: freeze.mode, unknown: [] });
  for (const _ of reportedLookAlikes(record)) reasons.push({ policy: look_alike_reason, effect: "none", unknown: [] });
  return reasons;
}

const effectOrder: Readonly<Record<Reason["effect"], number>> = {
  block: 0,
  escalate: 1,
  approve_modified: 2,
  none: 3,
};

/** Strictest first. */
export function byEffect(a: Reason, b: Reason): number {
  return effectOrder[a.effect] - effectOrder[b.effect];
}

/** For the texts of all reasons of one decision; enough for some hundred usual reasons. */
export const reasons_chars_max = 65_536;

export const left_out = "Omitted, because the decision has too many reasons.";

/**
 * Keeps all reasons but omits texts beyond `reasons_chars_max`. Otherwise a thousand policies could make a decision of
 * 10 MB.
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
