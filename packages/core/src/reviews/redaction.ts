/**
 * Redaction: finds the texts of an action that policies hide from people, and removes those texts from what reviewers write.
 * A reviewer may quote a hidden text in a comment or a change. Records, events, audit rows and mails must not show it.
 */
import { type Decision, type Escalation, hiddenTexts, limits, type Modification } from "@countersign/contract";
import type { DecidableIntent } from "../deciding/decision.ts";
import { redactContent } from "../deciding/merge-changes.ts";
import { type Masking, maskingOf } from "../masks/mask.ts";
import { clipText } from "../values/clip-text.ts";
import { redacted_text, withoutTexts } from "../values/redacted-texts.ts";
import type { Ruling } from "./escalation.ts";

/** The part of a stored action from which its hidden texts are found. */
export interface RedactableAction {
  readonly intent: {
    readonly submitted: Pick<DecidableIntent, "payload">;
    /** JSON Pointers into payload.content that policies hid when they decided; absent: none. */
    readonly withheld?: readonly string[] | undefined;
    /** JSON Pointers into payload.content that policies masked when they decided; absent: none. */
    readonly masked?: readonly string[] | undefined;
  };
  readonly decision: Partial<Pick<Decision, "modifications">>;
  /** The members of the decision that a closed review replaced; null: none. */
  readonly resolution: Partial<Pick<Decision, "modifications">> | null;
}

/**
 * Returns the JSON Pointers of the values in payload.content that people must not see. Policies hid them in the submitted action,
 * by a modification of the decision, or in the action that reviewers changed.
 */
export function hiddenPlaces({ intent, decision, resolution }: RedactableAction): string[] {
  const places = new Set(intent.withheld ?? []);
  for (const { modifications = [] } of [decision, resolution ?? {}]) {
    for (const each of modifications) if (each.policy_id !== null && hides(each)) places.add(each.path);
  }
  return [...places];
}

/** Returns what is masked in the submitted action. */
export function maskingOfAction({ intent }: Pick<RedactableAction, "intent">): Masking {
  return maskingOf(intent.submitted.payload?.content ?? {}, intent.masked);
}

/** Returns the texts of the submitted action that people must not see: policies redact or mask them, or they are credentials. */
export function hiddenTextsInAction(action: RedactableAction): string[] {
  // Some places exist only in the action that reviewers changed. In the submitted content they select nothing.
  const redacted = textsAt(action.intent.submitted.payload?.content ?? {}, hiddenPlaces(action));
  return [...redacted, ...maskingOfAction(action).texts];
}

/** Returns the hidden texts of the change that reviewers approved so far; none without such a change. */
export function hiddenTextsInChange(ruling: Ruling | null): string[] {
  if (ruling?.wanted_content === undefined) return [];
  const { modifications, wanted_content } = ruling;
  // Policies decided on the reviewers' change after it was made, so their redactions come after the last change of a reviewer.
  const after_own = modifications.findLastIndex(({ policy_id }) => policy_id === null) + 1;
  const places = modifications.slice(after_own).flatMap((each) => (hides(each) ? [each.path] : []));
  return textsAt(wanted_content, places);
}

/** Returns the remark with hidden texts redacted. A redacted remark may be longer than the original, so it is cut to its limit. */
export function redactedRemark<T>(remark: T, hidden: readonly string[]): T {
  const shown = withoutTexts(remark, hidden);
  return typeof shown === "string" && shown !== remark ? (clipText(shown, limits.comment_chars_max) as T) : shown;
}

/** Returns modifications with a mark in place of hidden texts in their values. A policy may copy such a text from a reviewer's change. */
export function redactedValues(
  modifications: readonly Modification[],
  hidden: readonly string[],
  mark = redacted_text,
): Modification[] {
  return modifications.map((each) =>
    each.value === undefined ? each : { ...each, value: withoutTexts(each.value, hidden, mark) },
  );
}

/** Whether a modification hides a value from people: it removes or redacts the value. */
function hides({ op, value }: Pick<Modification, "op" | "value">): boolean {
  return op === "remove" || value === redacted_text;
}

/** Returns the texts that a content has at these places only. */
export function textsAt(content: Readonly<Record<string, unknown>>, places: readonly string[]): string[] {
  const requests = places.map((path) => ({ op: "redact" as const, path, policy_id: "", policy: "" }));
  return hiddenTexts(content, redactContent(content, requests).content);
}

/** Returns the record with hidden texts redacted where an agent or a reviewer wrote them. Cuts texts that become too long. */
export function withoutHidden(record: Escalation, hidden: readonly string[]): Escalation {
  if (hidden.length === 0) return record;
  const { reason, action, votes } = record;
  return {
    ...record,
    reason: clipText(withoutTexts(reason, hidden), limits.comment_chars_max),
    action: {
      ...action,
      target: withoutTexts(action.target, hidden),
      summary: withoutTexts(action.summary, hidden),
    },
    votes: votes.map((each) => ({
      ...each,
      comment: each.comment === null ? null : clipText(withoutTexts(each.comment, hidden), limits.comment_chars_max),
      ...(each.message_to_agent === undefined
        ? {}
        : { message_to_agent: clipText(withoutTexts(each.message_to_agent, hidden), limits.comment_chars_max) }),
    })),
  };
}
