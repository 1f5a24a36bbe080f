import { hiddenTexts, type Reason } from "@countersign/contract";
import { withoutValues } from "../facts/merge.ts";
import { maskedContent, maskingOf } from "../masks/mask.ts";
import type { Change } from "../policy/compile.ts";
import { mergeTerms } from "../policy/escalation-terms.ts";
import { formatTimestampUs } from "../time.ts";
import { applyPatch } from "../values/json-patch.ts";
import { placesOf } from "../values/place-pattern.ts";
import { viewsOfContent } from "./bind-facts.ts";
import { type Concluded, isToolChange } from "./conclude.ts";
import { type Content, type Decided, type EscalationTerms, goesThrough } from "./decision.ts";
import { isOverridden, type Vote } from "./evaluate.ts";
import { evaluateReadings } from "./evaluate-readings.ts";
import { freezeReason, underFreezes } from "./freezes.ts";
import { lookAlikeReason, lookAlikesOf } from "./look-alikes.ts";
import { redactContent } from "./merge-changes.ts";
import type { PlacedPolicy } from "./policy-set.ts";
import { byEffect, fitReasons, membraneReason, reasonsOf, reportedLookAlikes } from "./reasons.ts";
import { combineRisk, type RiskContribution } from "./risk.ts";
import { validUntilUs } from "./valid-until.ts";

/** Stage 7: adds messages, without redacted values. */
export function explain(record: Concluded): Decided {
  const { input, action, conclusion } = record;
  const { plan, objections } = record.modified;
  const { verdict } = conclusion;
  const { policySet } = input;
  const risk = combineRisk(conclusion.contributions);
  const hiding = hidingOf(record);
  const shown = shownContent(action.content, hiding);
  const whole = { record, shown, hiding, stored: false, risk_score: risk.score };
  const reasons = reasonsFor(whole);
  const votes = [...plan.votes, ...objections];
  const is_modified = plan.modifications.length > 0 && (verdict === "approve_modified" || verdict === "escalate");
  const until_us = validUntilUs(record, decidingPolicies(record, votes));
  return {
    content: {
      verdict,
      risk_score: risk.score,
      risk_contributions: risk.contributions as RiskContribution[],
      reasons,
      modifications: is_modified ? plan.modifications : [],
      modified_content: is_modified ? modifiedContent(record) : null,
      valid_until: until_us === null ? null : formatTimestampUs(until_us),
      policy_set: { version: policySet.version, sha256: policySet.sha256 },
    },
    decided_as: action.decided_as,
    escalation: verdict === "escalate" ? escalationTerms(record, votes) : null,
    shown_content: shown.content,
    hidden_texts: shown.texts,
    withheld: shown.paths,
    masked: shown.masked,
    shadow_reasons: shadowReasons(record, shown),
    reasons_for_agents: reasonsForAgents(whole, reasons),
    counted: verdict === "block" ? none : record.counts.actions,
    full_counters: record.counts.full,
  };
}

interface Wording {
  readonly record: Concluded;
  readonly shown: ShownContent;
  readonly hiding: Hiding | null;
  /** The reader must not see stored and pulled facts. */
  readonly stored: boolean;
  readonly risk_score: number;
}

/** Strictest first. */
function reasonsFor(wording: Wording): Reason[] {
  const { record, shown, risk_score } = wording;
  const reasons = liveReasons(wording);
  for (const vote of record.conclusion.membrane_votes) reasons.push(membraneReason(vote, risk_score));
  for (const freeze of record.input.freezes ?? none) reasons.push(freezeReason(freeze, shown.texts));
  for (const alike of reportedLookAlikes(record)) reasons.push(lookAlikeReason(alike, shown.texts));
  return reasons.length > 1 ? fitReasons(reasons.sort(byEffect)) : reasons;
}

/** Omits stored and pulled facts. Returns `reasons` itself if there are none. */
function reasonsForAgents({ record, ...wording }: Wording, reasons: readonly Reason[]): readonly Reason[] {
  const { input, action, modified } = record;
  const facts = reasons.length === 0 ? input.facts : withoutValues(input.facts);
  if (facts === input.facts) return reasons;
  const classified = { action, input: { ...input, facts } };
  const { plan, reevaluation } = modified;
  const without: Concluded = {
    ...record,
    ...classified,
    viewsFor: viewsOfContent(classified, action.content),
    modified: {
      ...modified,
      reevaluation:
        reevaluation === null ? null : { ...reevaluation, viewsFor: viewsOfContent(classified, plan.content) },
    },
  };
  return reasonsFor({ ...wording, record: without, stored: true });
}

const none: readonly never[] = Object.freeze([]);

interface Hiding {
  readonly redactions: readonly Change[];
  /** Paths. */
  readonly masks: readonly string[];
}

/** Returns null if no policy voted, because no message can then quote a value. */
function hidingOf({ evaluation, modified, conclusion }: Concluded): Hiding | null {
  const votes = [...evaluation.votes, ...(modified.reevaluation?.votes ?? []), ...modified.objections];
  if (votes.length === 0 && conclusion.verdict === "approve") return null;
  return {
    redactions: votes.flatMap(({ placed }) => placed.policy.redactions),
    masks: votes.flatMap(({ placed }) => placed.policy.masks),
  };
}

interface ShownContent {
  readonly content: Content | null;
  /** JSON Pointers of redacted values. */
  readonly paths: readonly string[];
  readonly masked: readonly string[];
  /** Redacted and masked texts, which messages must not quote. */
  readonly texts: readonly string[];
}

function shownContent(content: Content | null, hiding: Hiding | null): ShownContent {
  if (content === null || hiding === null) return { content, paths: none, masked: none, texts: none };
  const masked = [...new Set(hiding.masks.flatMap((path) => placesOf(content, path)))];
  const masking = maskingOf(content, masked);
  const redacted = hiding.redactions.length === 0 ? null : redactContent(content, hiding.redactions);
  const paths = redacted === null ? none : redacted.operations.map(({ path }) => path);
  const redacted_texts = redacted === null ? none : hiddenTexts(content, redacted.content);
  return {
    content: maskedContent(redacted?.content ?? content, masking),
    paths,
    masked,
    texts: masking.texts.length === 0 ? redacted_texts : [...redacted_texts, ...masking.texts],
  };
}

/** Returns reasons on the submitted content first, then objections on the modified content. */
function liveReasons({ record, shown, hiding, stored }: Wording): Reason[] {
  const { action, modified } = record;
  const { plan, reevaluation, objections } = modified;
  const viewsFor = shown.content === action.content ? record.viewsFor : viewsOfContent(record, shown.content);
  const reasons = reasonsOf(record, plan.votes, shown.content, viewsFor, { redacted: shown.texts, stored });
  if (reevaluation === null || objections.length === 0) return reasons;
  const after = shownContent(plan.content, hiding);
  const viewsAfter = after.content === plan.content ? reevaluation.viewsFor : viewsOfContent(record, after.content);
  const redacted = [...shown.texts, ...after.texts];
  return [...reasons, ...reasonsOf(record, objections, after.content, viewsAfter, { redacted, stored })];
}

/** Starts from the submitted content, because `classify` may have changed the review claim. */
function modifiedContent({ input, action, modified: { plan } }: Concluded): Content {
  const submitted = input.intent.payload?.content ?? null;
  const patched = submitted === action.content ? null : applyPatch(submitted ?? {}, plan.modifications);
  return (patched?.ok ? patched.document : plan.content) as Content;
}

/** Returns the policies behind a block or escalation. Null if the verdict depends on all policies. */
function decidingPolicies(
  { conclusion: { verdict } }: Concluded,
  votes: readonly Vote[],
): ReadonlySet<PlacedPolicy> | null {
  if (goesThrough(verdict)) return null;
  const deciding = new Set<PlacedPolicy>();
  for (const { placed, effect } of votes) if (effect === verdict) deciding.add(placed);
  return deciding.size > 0 ? deciding : null;
}

function escalationTerms(record: Concluded, votes: readonly Vote[]): EscalationTerms {
  const { input, action, conclusion } = record;
  const asked = votes
    .filter((vote) => vote.effect === "escalate" && !isOverridden(vote, action.overrides))
    .map(({ placed }) => placed.policy);
  const membrane_asks = conclusion.membrane_votes.length > 0;
  const merged = mergeTerms(input.membrane.escalation, asked, membrane_asks);
  const terms: EscalationTerms = isToolChange(record) ? { ...merged, on_timeout: "block" } : merged;
  return underFreezes(terms, input.freezes ?? none, asked.length > 0 || membrane_asks);
}

const noOverrides: ReadonlySet<string> = new Set();

/** Evaluates shadow policies with a separate budget, so they never affect live votes. */
function shadowReasons(record: Concluded, shown: ShownContent): Decided["shadow_reasons"] {
  const { shadow } = record.input.policySet;
  if (shadow.placed.length === 0) return none;
  const viewsFor = viewsOfContent(record, shown.content);
  const look_alikes = lookAlikesOf(record.input.intent, record.action.prepared.names.shadow);
  const { votes } = evaluateReadings(record, shadow, look_alikes, shown.content, viewsFor);
  const bare = { ...record, action: { ...record.action, overrides: noOverrides } };
  return reasonsOf(bare, votes, shown.content, viewsFor, { redacted: shown.texts, stored: false }).sort(byEffect);
}
