/**
 * Removes texts that policies hide from what reviewers write. Records, events, audit rows and mails must not show them.
 */
import { type Decision, type Escalation, hiddenTexts, limits, type Modification } from "@countersign/contract";
import type { DecidableIntent } from "../deciding/decision.ts";
import { redactContent } from "../deciding/merge-changes.ts";
import { type Masking, maskingOf } from "../masks/mask.ts";
import { clipText } from "../values/clip-text.ts";
import { redacted_text, withoutTexts } from "../values/redacted-texts.ts";
import type { Ruling } from "./escalation.ts";

export interface RedactableAction {
  readonly intent: {
    readonly submitted: Pick<DecidableIntent, "payload">;
    /** JSON Pointers redacted by the decision. */
    readonly withheld?: readonly string[] | undefined;
    /** JSON Pointers masked by the decision. */
    readonly masked?: readonly string[] | undefined;
  };
  readonly decision: Partial<Pick<Decision, "modifications">>;
  /** Decision members replaced at the close. */
  readonly resolution: Partial<Pick<Decision, "modifications">> | null;
}

/** Returns JSON Pointers hidden in the submitted action, by the decision, or in reviewers' versions. */
export function hiddenPlaces({ intent, decision, resolution }: RedactableAction): string[] {
  const places = new Set(intent.withheld ?? []);
  for (const { modifications = [] } of [decision, resolution ?? {}]) {
    for (const each of modifications) if (each.policy_id !== null && hides(each)) places.add(each.path);
  }
  return [...places];
}

export function maskingOfAction({ intent }: Pick<RedactableAction, "intent">): Masking {
  return maskingOf(intent.submitted.payload?.content ?? {}, intent.masked);
}

/** Returns redacted texts, masked texts and credentials. */
export function hiddenTextsInAction(action: RedactableAction): string[] {
  // Places that exist only in a reviewer's version select nothing here.
  const redacted = textsAt(action.intent.submitted.payload?.content ?? {}, hiddenPlaces(action));
  return [...redacted, ...maskingOfAction(action).texts];
}

export function hiddenTextsInChange(ruling: Ruling | null): string[] {
  if (ruling?.wanted_content === undefined) return [];
  const { modifications, wanted_content } = ruling;
  // Policies decide after the reviewers, so their redactions follow the reviewer's last change.
  const after_own = modifications.findLastIndex(({ policy_id }) => policy_id === null) + 1;
  const places = modifications.slice(after_own).flatMap((each) => (hides(each) ? [each.path] : []));
  return textsAt(wanted_content, places);
}

/** The result may be longer, so it is cut. */
export function redactedRemark<T>(remark: T, hidden: readonly string[]): T {
  const shown = withoutTexts(remark, hidden);
  return typeof shown === "string" && shown !== remark ? (clipText(shown, limits.comment_chars_max) as T) : shown;
}

/** A policy may copy a hidden text from a reviewer's change. */
export function redactedValues(
  modifications: readonly Modification[],
  hidden: readonly string[],
  mark = redacted_text,
): Modification[] {
  return modifications.map((each) =>
    each.value === undefined ? each : { ...each, value: withoutTexts(each.value, hidden, mark) },
  );
}

function hides({ op, value }: Pick<Modification, "op" | "value">): boolean {
  return op === "remove" || value === redacted_text;
}

/** Returns texts that occur only at these places. */
export function textsAt(content: Readonly<Record<string, unknown>>, places: readonly string[]): string[] {
  const requests = places.map((path) => ({ op: "redact" as const, path, policy_id: "", policy: "" }));
  return hiddenTexts(content, redactContent(content, requests).content);
}

/** Cuts texts that become too long. */
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
