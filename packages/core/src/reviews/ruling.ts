/**
 * Works out a ruling: what an approval of a held action would let through. Pure: a function of the stored action, the
 * rules in force, the review and what the reviewer sent.
 *
 * Without a change the ruling is what policies asked for when they held the action. With a change (`modifications`) the
 * changed action is decided again:
 *
 *   base content            the submitted content, as policies modified it
 *   + reviewer's change   = wanted content
 *   + policies' changes   = modified content, which the approval lets through
 *
 * The rules may refuse that: they block the changed action, or hold it for reviewers of their own (`demands`).
 */
import {
  type Decision,
  type Escalation,
  hiddenTexts,
  type PipelineMode,
  type RulingInput,
} from "@countersign/contract";
import { decide } from "../deciding/decide.ts";
import { type DecidableIntent, default_verdict_name, type MembraneSettings } from "../deciding/decision.ts";
import type { PolicySet } from "../deciding/policy-set.ts";
import type { MergedFacts } from "../facts/merge.ts";
import { heldFor, type ReviewDemand } from "../policy/escalation-terms.ts";
import { parseTimestampUs } from "../time.ts";
import { canonicalJson } from "../values/canonical-json.ts";
import { applyPatch } from "../values/json-patch.ts";
import { redacted_text, withoutTexts } from "../values/redacted-texts.ts";
import type { Ruling } from "./escalation.ts";
import { hiddenTextsInAction, type RedactableAction, redactedValues } from "./redaction.ts";

/** A decided action as it is stored, with all that deciding on it again takes. */
export interface StoredAction extends RedactableAction {
  readonly intent_id: string;
  readonly membrane_id: string;
  readonly mode: PipelineMode;
  /** When it was decided, RFC 3339. */
  readonly created_at: string;
  readonly intent: RedactableAction["intent"] & {
    readonly submitted: DecidableIntent;
    readonly attested?: boolean | undefined;
  };
  readonly facts: MergedFacts;
  readonly decision: Pick<Decision, "reasons" | "modifications" | "modified_content">;
}

/** The rules in force of an organization. */
export interface RulesInForce {
  membrane(membrane_id: string): { readonly membrane: MembraneSettings; readonly policySet: PolicySet } | undefined;
}

/** A vote that a reviewer wants to give. */
export interface WantedVote {
  readonly action: StoredAction;
  readonly review: { readonly record: Pick<Escalation, "votes">; readonly ruling: Ruling | null };
  /** The reviewer. */
  readonly person: string;
  readonly input: RulingInput;
}

/** What a vote would let through, and what the caller must check before it counts. */
export interface ProposedRuling {
  readonly kind: "proposed";
  /** Null exactly for a block. */
  readonly ruling: Ruling | null;
  /** Texts of the reviewer's change that policies hide from people. */
  readonly hidden: readonly string[];
  /** What policies demand that hold the changed action and did not hold the submitted one. */
  readonly demands: readonly ReviewDemand[];
  /** True: the reviewer sent the redacted change that the record shows, in place of the change itself. */
  readonly repeats_redacted: boolean;
  /** True: policies changed, so the change that others approved no longer gives the ruling that they approved. */
  readonly overtaken: boolean;
}

/** Why a vote lets nothing through. */
export type RulingRefusal = { readonly kind: "refused" } & (
  | { readonly because: "modifications_unexpected" | "modifications_missing" | "policies_do_not_apply" | "text_unseen" }
  /** `index`: the modification that lacks a value, or cannot be applied. */
  | { readonly because: "value_missing"; readonly index: number; readonly op: string }
  | { readonly because: "cannot_apply"; readonly index: number; readonly message: string }
  | { readonly because: "blocked"; readonly policies: readonly { readonly policy: string; readonly message: string }[] }
);

/** Works out what a vote would let through, by the rules in force. Looks at the rules only where a change is involved. */
export function workOutRuling(vote: WantedVote, rules: RulesInForce): ProposedRuling | RulingRefusal {
  const { outcome, modifications = [] } = vote.input;
  if (outcome !== "approve_modified" && modifications.length > 0) return refused("modifications_unexpected");
  if (outcome === "block") return proposed(vote, rules, { ruling: null });
  const asked = askedRuling(vote.action.decision);
  if (modifications.length > 0) return workOutChange(vote, rules, asked, modifications);
  if (outcome === "approve_modified" && asked.outcome === "approve") return refused("modifications_missing");
  return proposed(vote, rules, { ruling: asked });
}

/**
 * Works out what the time limit lets through; null: a block. No reviewer saw the action, so the rules in force must still
 * allow it: the membrane approves on time-out, no policy blocks the action or forbids approval on time-out, and policies
 * modify it exactly as they did.
 */
export function timeOutRuling(action: StoredAction, rules: RulesInForce): Ruling | null {
  const input = inputAgain(action, rules);
  if (input.membrane.escalation.on_timeout !== "approve") return null;
  const { submitted, attested } = action.intent;
  const { content, escalation } = decide({ ...input, intent: submitted, attested: attested === true });
  if (content.verdict === "block" || escalation?.on_timeout === "block") return null;
  const asked = askedRuling(action.decision);
  return canonicalJson(askedRuling(content)) === canonicalJson(asked) ? asked : null;
}

/** Returns the changes of a ruling that the reviewer made, as other people may see them; null: none. */
export function reviewersChanges(ruling: Ruling | null): NonNullable<RulingInput["modifications"]> | null {
  const own = ruling?.modifications.flatMap(({ policy_id, ...each }) => (policy_id === null ? [each] : [])) ?? [];
  return own.length === 0 ? null : own;
}

/** The ruling of an approval without a change: what policies asked for. */
function askedRuling({
  modifications,
  modified_content,
}: Pick<Decision, "modifications" | "modified_content">): Ruling {
  return { outcome: modifications.length > 0 ? "approve_modified" : "approve", modifications, modified_content };
}

function workOutChange(
  vote: WantedVote,
  rules: RulesInForce,
  asked: Ruling,
  modifications: NonNullable<RulingInput["modifications"]>,
): ProposedRuling | RulingRefusal {
  const { action } = vote;
  for (const [index, { op, value }] of modifications.entries())
    if (op !== "remove" && value === undefined) return { kind: "refused", because: "value_missing", index, op };

  const repeated = repeatedRuling(vote);
  let wanted_content = repeated?.wanted_content;
  if (wanted_content === undefined) {
    const base = asked.modified_content ?? action.intent.submitted.payload?.content ?? {};
    const patched = applyPatch(base, modifications);
    if (!patched.ok)
      return { kind: "refused", because: "cannot_apply", index: patched.index, message: patched.message };
    wanted_content = patched.document;
  }
  const again = decideChanged(action, rules, wanted_content);
  if (again.kind === "refused") return again;
  const { modified_content, hidden, demands } = again;
  // Nobody may approve a text that was never shown to them.
  if (repeated !== null && canonicalJson(withoutTexts(modified_content, hidden)) !== canonicalJson(modified_content))
    return refused("text_unseen");

  const not_shown = [...hiddenTextsInAction(action), ...hidden];
  // A repeated change is redacted already.
  const not_shown_of_own = repeated === null ? not_shown : [];
  const own = modifications.map(({ op, path, value }) => ({
    op,
    path: withoutTexts(path, not_shown_of_own),
    ...(value === undefined ? {} : { value: withoutTexts(value, not_shown_of_own) }),
    policy_id: null,
  }));
  const made = [...asked.modifications, ...own, ...redactedValues(again.modifications, not_shown)];
  const ruling: Ruling = { outcome: "approve_modified", modifications: made, modified_content, wanted_content };
  return proposed(vote, rules, { ruling, hidden, demands, repeats_redacted: repeated !== null });
}

/** Completes a proposal; by default it involves no change. */
function proposed(
  { action, review }: WantedVote,
  rules: RulesInForce,
  {
    ruling,
    hidden = [],
    demands = [],
    repeats_redacted = false,
  }: Pick<ProposedRuling, "ruling"> & Partial<ProposedRuling>,
): ProposedRuling {
  const overtaken = ruling !== null && isOvertaken(action, rules, review.ruling);
  return { kind: "proposed", ruling, hidden, demands, repeats_redacted, overtaken };
}

/**
 * Returns the ruling that the reviewer repeats: the reviewer sent the same redacted change that the record shows of
 * another reviewer's vote, because the record shows nobody the change itself. Null: the reviewer sent a change of their own.
 */
function repeatedRuling({ review, person, input: { modifications = [] } }: WantedVote): Ruling | null {
  const sent = canonicalJson(modifications);
  if (!sent.includes(redacted_text)) return null;
  const shown = review.record.votes.some(
    (vote) => vote.reviewer !== person && vote.modifications !== null && canonicalJson(vote.modifications) === sent,
  );
  return shown ? review.ruling : null;
}

/** Whether the change that others approved no longer gives the ruling that they approved, by the rules in force. */
function isOvertaken(action: StoredAction, rules: RulesInForce, known: Ruling | null): boolean {
  if (known?.wanted_content === undefined) return false;
  const again = decideChanged(action, rules, known.wanted_content);
  if (again.kind === "refused") return true;
  const made = redactedValues(again.modifications, [...hiddenTextsInAction(action), ...again.hidden]);
  const asked = askedRuling(action.decision).modifications.length;
  const known_made = known.modifications.slice(asked).filter(({ policy_id }) => policy_id !== null);
  return canonicalJson([again.modified_content, made]) !== canonicalJson([known.modified_content, known_made]);
}

/** The changed action as the rules in force let it through. */
interface ChangedAction {
  readonly kind: "passes";
  /** What policies change on top of the reviewer's change. */
  readonly modifications: Ruling["modifications"];
  readonly modified_content: Readonly<Record<string, unknown>>;
  /** Texts of the changed content that policies hide from people. */
  readonly hidden: readonly string[];
  readonly demands: readonly ReviewDemand[];
}

/** Decides the action again with `content` in place of the submitted content, as a person has reviewed it. */
function decideChanged(
  action: StoredAction,
  rules: RulesInForce,
  content: Readonly<Record<string, unknown>>,
): ChangedAction | RulingRefusal {
  const { submitted } = action.intent;
  const input = inputAgain(action, rules);
  const { content: again, shown_content } = decide({
    ...input,
    intent: { ...submitted, payload: { ...submitted.payload, content } },
    // The reviewers decide in place of the membrane's default verdict.
    overrides: [default_verdict_name],
    human_reviewed: true,
  });
  const blocking = again.reasons.filter((reason) => reason.effect === "block");
  if (blocking.length > 0) {
    // A message may quote hidden texts of the submitted action, because they can occur in places that the change left alone.
    const hidden = hiddenTextsInAction(action);
    const policies = blocking.map(({ policy, message }) => ({ policy, message: withoutTexts(message, hidden) }));
    return { kind: "refused", because: "blocked", policies };
  }
  const modified = applyPatch(content, again.modifications);
  if (!modified.ok) return refused("policies_do_not_apply");
  return {
    kind: "passes",
    modifications: again.modifications,
    modified_content: modified.document,
    hidden: hiddenTexts(content, shown_content),
    demands: heldFor(again.reasons, input.policySet, action.decision.reasons),
  };
}

/**
 * The input for deciding the action again: the rules in force, with the facts and the time of its decision. The question is
 * what changed since then, not how stale the facts became while the action waited.
 */
function inputAgain({ intent_id, membrane_id, facts, mode, created_at }: StoredAction, rules: RulesInForce) {
  const deciding = rules.membrane(membrane_id);
  if (deciding === undefined) throw new Error(`${intent_id} has no membrane ${membrane_id}`);
  const { policySet, membrane } = deciding;
  return { facts, mode, now_us: parseTimestampUs(created_at) ?? 0, policySet, membrane };
}

function refused(
  because: "modifications_unexpected" | "modifications_missing" | "policies_do_not_apply" | "text_unseen",
): RulingRefusal {
  return { kind: "refused", because };
}
