import { hiddenTexts } from "@countersign/contract";
import { mergeTerms } from "../policy/escalation-terms.ts";
import { formatTimestampUs } from "../time.ts";
import { applyPatch } from "../values/json-patch.ts";
import { viewsOf } from "./bind-facts.ts";
import type { Concluded } from "./conclude.ts";
import { type Content, type Decided, type EscalationTerms, goesThrough } from "./decision.ts";
import { evaluatePolicies, isOverridden, type Vote } from "./evaluate.ts";
import { redactContent } from "./merge-changes.ts";
import type { PlacedPolicy } from "./policy-set.ts";
import { byEffect, fitReasons, membraneReason, reasonsOf } from "./reasons.ts";
import { combineRisk, type RiskContribution } from "./risk.ts";
import { validUntilUs } from "./valid-until.ts";

/** Stage 7: puts the verdict into words, without the values that policies redact. */
export function explain(record: Concluded): Decided {
  const { input, action, conclusion } = record;
  const { content, overrides } = action;
  const { plan, again, objections } = record.modified;
  const { verdict } = conclusion;
  const { policySet } = input;
  const risk = combineRisk(conclusion.contributions);
  const all_votes = [...record.evaluation.votes, ...(again?.evaluation.votes ?? []), ...objections];
  const shown = contentShown(all_votes, content);
  const shown_views = shown.content === content ? record.views : viewsOf(record, shown.content);
  const redacted = hiddenTexts(content, shown.content);
  const reasons = reasonsOf(plan.votes, overrides, shown_views, redacted);
  if (again !== null && objections.length > 0) {
    const modified = contentShown(all_votes, plan.content);
    const modified_views = modified.content === plan.content ? again.views : viewsOf(record, modified.content);
    const texts = [...redacted, ...hiddenTexts(plan.content, modified.content)];
    reasons.push(...reasonsOf(objections, overrides, modified_views, texts));
  }
  for (const vote of conclusion.membrane_votes) reasons.push(membraneReason(vote, risk.score));
  const votes = [...plan.votes, ...objections];
  const is_modified = plan.modifications.length > 0 && (verdict === "approve_modified" || verdict === "escalate");
  const until_us = validUntilUs(record, decidingPolicies(record, votes));
  return {
    content: {
      verdict,
      risk_score: risk.score,
      risk_contributions: risk.contributions as RiskContribution[],
      reasons: reasons.length > 1 ? fitReasons(reasons.sort(byEffect)) : reasons,
      modifications: is_modified ? plan.modifications : [],
      modified_content: is_modified ? modifiedContent(record) : null,
      valid_until: until_us === null ? null : formatTimestampUs(until_us),
      policy_set: { version: policySet.version, sha256: policySet.sha256 },
    },
    decided_as: action.decided_as,
    escalation: verdict === "escalate" ? escalationTerms(record, votes) : null,
    shown_content: shown.content,
    withheld: shown.paths,
    shadow_reasons: shadowReasons(record, shown.content, redacted),
  };
}

const none: readonly never[] = Object.freeze([]);

/** Returns the content without the values that these votes redact, and the JSON Pointers of those values. */
function contentShown(
  votes: readonly Vote[],
  content: Content | null,
): { readonly content: Content | null; readonly paths: readonly string[] } {
  const redactions = votes.flatMap(({ placed }) => placed.policy.redactions);
  if (content === null || redactions.length === 0) return { content, paths: none };
  const redacted = redactContent(content, redactions);
  return { content: redacted.content, paths: redacted.operations.map(({ path }) => path) };
}

/** Applies the modifications to payload.content as the agent sent it: policies may have seen another claim of a review. */
function modifiedContent({ input, action, modified: { plan } }: Concluded): Content {
  const submitted = input.intent.payload?.content ?? null;
  const patched = submitted === action.content ? null : applyPatch(submitted ?? {}, plan.modifications);
  return (patched?.ok ? patched.document : plan.content) as Content;
}

/** Returns the policies that a block or escalation rests on; null if the verdict rests on all policies. */
function decidingPolicies(
  { conclusion: { verdict } }: Concluded,
  votes: readonly Vote[],
): ReadonlySet<PlacedPolicy> | null {
  if (goesThrough(verdict)) return null;
  const deciding = new Set<PlacedPolicy>();
  for (const { placed, effect } of votes) if (effect === verdict) deciding.add(placed);
  return deciding.size > 0 ? deciding : null;
}

function escalationTerms({ input, action, conclusion }: Concluded, votes: readonly Vote[]): EscalationTerms {
  const asked = votes
    .filter((vote) => vote.effect === "escalate" && !isOverridden(vote, action.overrides))
    .map(({ placed }) => placed.policy);
  return mergeTerms(input.membrane.escalation, asked, conclusion.membrane_votes.length > 0);
}

const no_overrides: ReadonlySet<string> = new Set();

/** Evaluates the shadow policies. They have a budget of their own, so that they never change the live votes. */
function shadowReasons(
  record: Concluded,
  shown_content: Content | null,
  redacted: readonly string[],
): Decided["shadow_reasons"] {
  const { shadow } = record.input.policySet;
  if (shadow.placed.length === 0) return none;
  const views = viewsOf(record, shown_content);
  const { votes } = evaluatePolicies(shadow, shadow.candidates(record.action.key), views, record.input.now_us);
  return reasonsOf(votes, no_overrides, views, redacted).sort(byEffect);
}
