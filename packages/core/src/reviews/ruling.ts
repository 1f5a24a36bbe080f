/**
 * Computes a ruling: what an approval of a held action would let through. Without a reviewer's change these are the
 * changes that policies asked for. A reviewer's change is decided again:
 *
 *   base content            the submitted content, as policies modified it
 *   + reviewer's change   = wanted content
 *   + policies' changes   = modified content, which the approval lets through
 *
 * The rules may block the changed action or add reviewers (`demands`). A change that makes a blocking rule unknown is
 * refused like a block.
 */
import type { Escalation, RulingInput } from "@countersign/contract";
import { decide } from "../deciding/decide.ts";
import { notEstablished } from "../deciding/reasons.ts";
import { maskedContent } from "../masks/mask.ts";
import { unmasked } from "../masks/unmask.ts";
import { heldFor, type ReviewDemand } from "../policy/escalation-terms.ts";
import { canonicalJson } from "../values/canonical-json.ts";
import { applyPatch } from "../values/json-patch.ts";
import { redacted_text, withoutTexts } from "../values/redacted-texts.ts";
import {
  askedRuling,
  decideAgain,
  inputAgain,
  type Present,
  reviewedInput,
  type StoredAction,
} from "./decide-again.ts";
import { blindedBlocks, type ChangedType, changedType } from "./edit-limits.ts";
import type { Ruling } from "./escalation.ts";
import { hiddenTextsInAction, maskingOfAction, redactedValues, textsAt } from "./redaction.ts";

export interface WantedVote {
  readonly action: StoredAction;
  readonly review: { readonly record: Pick<Escalation, "votes">; readonly ruling: Ruling | null };
  readonly person: string;
  readonly input: RulingInput;
}

export interface ProposedRuling {
  readonly kind: "proposed";
  /** Null exactly for a block. */
  readonly ruling: Ruling | null;
  readonly hidden: readonly string[];
  /** Demands that only the changed action has. */
  readonly demands: readonly ReviewDemand[];
  /** The reviewer sent the redacted change from the record. */
  readonly repeats_redacted: boolean;
  /** Policy changes made the ruling of others obsolete. */
  readonly overtaken: boolean;
}

export type RulingRefusal = { readonly kind: "refused" } & (
  | { readonly because: "modifications_unexpected" | "modifications_missing" | "policies_do_not_apply" | "text_unseen" }
  /** `index`: position of the refused modification. */
  | { readonly because: "value_missing"; readonly index: number; readonly op: string }
  | { readonly because: "mask_changed"; readonly index: number }
  | { readonly because: "cannot_apply"; readonly index: number; readonly message: string }
  | ({ readonly because: "type_changed" } & ChangedType)
  | { readonly because: "blocked"; readonly policies: readonly { readonly policy: string; readonly message: string }[] }
);

/** Reads the rules only if a reviewer changed the action. */
export function workOutRuling(vote: WantedVote, present: Present): ProposedRuling | RulingRefusal {
  const { outcome, modifications = [] } = vote.input;
  if (outcome !== "approve_modified" && modifications.length > 0) return refused("modifications_unexpected");
  if (outcome === "block") return proposed(vote, present, { ruling: null });
  const asked = askedRuling(vote.action, vote.action.decision);
  if (modifications.length > 0) return workOutChange(vote, present, asked, modifications);
  if (outcome === "approve_modified" && asked.outcome === "approve") return refused("modifications_missing");
  return proposed(vote, present, { ruling: asked });
}

/**
 * Returns the ruling of a timed-out review; null is a block. The action passes only if:
 * - The membrane approves on timeout.
 * - Nothing blocks the action, and no policy forbids approval on timeout.
 * - Policies modify the action exactly as when they held it.
 */
export function timeOutRuling(action: StoredAction, present: Present): Ruling | null {
  const { membrane } = inputAgain(action, present);
  if (membrane.escalation.on_timeout !== "approve") return null;
  const asked = askedRuling(action, action.decision);
  const again = decideAgain(action, { ...asked, human_reviewed: false }, present);
  if (again.blocked.length > 0 || again.on_timeout === "block") return null;
  return canonicalJson(again.asked) === canonicalJson(asked) ? asked : null;
}

export function reviewersChanges(ruling: Ruling | null): NonNullable<RulingInput["modifications"]> | null {
  const own = ruling?.modifications.flatMap(({ policy_id, ...each }) => (policy_id === null ? [each] : [])) ?? [];
  return own.length === 0 ? null : own;
}

/** `asked`: the ruling without the change. */
function workOutChange(
  vote: WantedVote,
  present: Present,
  asked: Ruling,
  modifications: NonNullable<RulingInput["modifications"]>,
): ProposedRuling | RulingRefusal {
  const { action } = vote;
  for (const [index, { op, value }] of modifications.entries())
    if (op !== "remove" && value === undefined) return { kind: "refused", because: "value_missing", index, op };

  const repeated = repeatedRuling(vote);
  let wanted_content = repeated?.wanted_content;
  const masking = maskingOfAction(action);
  const submitted = action.intent.submitted.payload?.content ?? {};
  const base = asked.modified_content ?? submitted;
  if (wanted_content === undefined) {
    const meant = unmasked({ content: base, shown: maskedContent(base, masking) }, modifications);
    if (meant.kind === "mask_changed") return { kind: "refused", because: "mask_changed", index: meant.index };
    const patched = applyPatch(base, meant.operations);
    if (!patched.ok)
      return { kind: "refused", because: "cannot_apply", index: patched.index, message: patched.message };
    wanted_content = patched.document;
  }
  const changed = decideChanged(action, present, wanted_content);
  if (changed.kind === "refused") return changed;
  const { modified_content, hidden, demands, redacted } = changed;
  const all_hidden = [...hiddenTextsInAction(action), ...hidden];
  const other =
    repeated === null ? changedType(reviewedInput(action, present), [base, submitted], wanted_content) : null;
  if (other !== null)
    return { kind: "refused", because: "type_changed", type: other.type, path: withoutTexts(other.path, all_hidden) };
  // The reviewer has not seen the redacted texts, and must not approve them.
  if (repeated !== null && canonicalJson(withoutTexts(modified_content, redacted)) !== canonicalJson(modified_content))
    return refused("text_unseen");

  // A repeated change is already redacted.
  const hidden_in_own = repeated === null ? all_hidden : [];
  const own = modifications.map(({ op, path, value }) => ({
    op,
    path: withoutTexts(path, hidden_in_own),
    ...(value === undefined ? {} : { value: withoutTexts(value, hidden_in_own) }),
    policy_id: null,
  }));
  const all = [...asked.modifications, ...own, ...redactedValues(changed.modifications, all_hidden)];
  const ruling: Ruling = { outcome: "approve_modified", modifications: all, modified_content, wanted_content };
  return proposed(vote, present, { ruling, hidden, demands, repeats_redacted: repeated !== null });
}

function proposed(
  { action, review }: WantedVote,
  present: Present,
  {
    ruling,
    hidden = [],
    demands = [],
    repeats_redacted = false,
  }: Pick<ProposedRuling, "ruling"> & Partial<ProposedRuling>,
): ProposedRuling {
  const overtaken = ruling !== null && isOvertaken(action, present, review.ruling);
  return { kind: "proposed", ruling, hidden, demands, repeats_redacted, overtaken };
}

/** Returns the ruling of others if the reviewer sent its redacted change. The record shows nobody the full change. */
function repeatedRuling({ review, person, input: { modifications = [] } }: WantedVote): Ruling | null {
  const sent = canonicalJson(modifications);
  if (!sent.includes(redacted_text)) return null;
  const shown = review.record.votes.some(
    (vote) =>
      vote.reviewer !== person &&
      vote.lapsed === undefined &&
      vote.modifications !== null &&
      canonicalJson(vote.modifications) === sent,
  );
  return shown ? review.ruling : null;
}

/** True if the change of others now gives a different ruling. */
function isOvertaken(action: StoredAction, present: Present, approved: Ruling | null): boolean {
  if (approved?.wanted_content === undefined) return false;
  const changed = decideChanged(action, present, approved.wanted_content);
  if (changed.kind === "refused") return true;
  const by_policies = redactedValues(changed.modifications, [...hiddenTextsInAction(action), ...changed.hidden]);
  const asked = action.decision.modifications.length;
  // Order: changes by policies, by the reviewer, by policies after the reviewer.
  const approved_by_policies = approved.modifications.slice(asked).filter(({ policy_id }) => policy_id !== null);
  return (
    canonicalJson([changed.modified_content, by_policies]) !==
    canonicalJson([approved.modified_content, approved_by_policies])
  );
}

interface ChangedAction {
  readonly kind: "passes";
  /** Changes by policies after the reviewer. */
  readonly modifications: Ruling["modifications"];
  readonly modified_content: Readonly<Record<string, unknown>>;
  readonly hidden: readonly string[];
  /** The part of `hidden` that policies redact. */
  readonly redacted: readonly string[];
  readonly demands: readonly ReviewDemand[];
}

function decideChanged(
  action: StoredAction,
  present: Present,
  content: Readonly<Record<string, unknown>>,
): ChangedAction | RulingRefusal {
  const input = reviewedInput(action, present);
  const { payload } = input.intent;
  const {
    content: decided,
    hidden_texts: hidden_now,
    withheld,
  } = decide({
    ...input,
    intent: { ...input.intent, payload: { ...payload, content } },
  });
  // Hidden texts may remain in the changed content.
  const hidden = hiddenTextsInAction(action);
  const blocking = decided.reasons.filter((reason) => reason.effect === "block");
  if (blocking.length > 0)
    return blocked(blocking.map(({ policy, message }) => ({ policy, message: withoutTexts(message, hidden) })));
  const modified = applyPatch(content, decided.modifications);
  if (!modified.ok) return refused("policies_do_not_apply");
  const before = action.decision.modified_content ?? payload?.content ?? {};
  const blinded = blindedBlocks(input, before, modified.document);
  if (blinded.length > 0)
    return blocked(
      blinded.map(({ placed: { policy }, unknowns }) => ({
        policy: policy.name,
        message: notEstablished(policy, unknowns, [...hidden, ...hidden_now]),
      })),
    );
  return {
    kind: "passes",
    modifications: decided.modifications,
    modified_content: modified.document,
    hidden: hidden_now,
    redacted: textsAt(content, withheld),
    demands: heldFor(decided.reasons, input.policySet, input.membrane.escalation, action.decision.reasons),
  };
}

function blocked(policies: readonly { readonly policy: string; readonly message: string }[]): RulingRefusal {
  return { kind: "refused", because: "blocked", policies };
}

function refused(
  because: "modifications_unexpected" | "modifications_missing" | "policies_do_not_apply" | "text_unseen",
): RulingRefusal {
  return { kind: "refused", because };
}
