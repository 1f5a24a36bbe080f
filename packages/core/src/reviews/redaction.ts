/**
 * Redaction: which texts of an action policies hide from people, and what records, events, audit rows and mails show of
 * what reviewers write. A reviewer has read the action and may quote a hidden text in a comment or a change.
 */
import { type Decision, hiddenTexts, limits, type Modification } from "@countersign/contract";
import type { DecidableIntent } from "../deciding/decision.ts";
import { redactContent } from "../deciding/merge-changes.ts";
import { clipText } from "../values/clip-text.ts";
import { redacted_text, withoutTexts } from "../values/redacted-texts.ts";
import type { Ruling } from "./escalation.ts";

/** The part of a stored action that says which of its texts are hidden. */
export interface RedactableAction {
  readonly intent: {
    readonly submitted: Pick<DecidableIntent, "payload">;
    /** JSON Pointers into payload.content that policies hid when they decided; absent: none. */
    readonly withheld?: readonly string[] | undefined;
  };
  readonly decision: Partial<Pick<Decision, "modifications">>;
  /** The members of the decision that a closed review replaced; null: none. */
  readonly resolution: Partial<Pick<Decision, "modifications">> | null;
}

/**
 * Returns the JSON Pointers of what people may not see of payload.content: what policies hid in the submitted action, what
 * their own modifications hide, and what they hid in the action after reviewers changed it.
 */
export function hiddenPlaces({ intent, decision, resolution }: RedactableAction): string[] {
  const places = new Set(intent.withheld ?? []);
  for (const { modifications = [] } of [decision, resolution ?? {}]) {
    for (const each of modifications) if (each.policy_id !== null && hides(each)) places.add(each.path);
  }
  return [...places];
}

/** Returns the texts of the submitted action that policies hide from people. */
export function hiddenTextsInAction(action: RedactableAction): string[] {
  // Places that exist only in the action as reviewers changed it hide nothing of what was submitted.
  return textsAt(action.intent.submitted.payload?.content ?? {}, hiddenPlaces(action));
}

/** Returns the texts that policies hide of the change that reviewers approved so far; none without such a change. */
export function hiddenTextsInChange(ruling: Ruling | null): string[] {
  if (ruling?.wanted_content === undefined) return [];
  const { modifications, wanted_content } = ruling;
  const own_until = modifications.findLastIndex(({ policy_id }) => policy_id === null) + 1;
  const places = modifications.slice(own_until).flatMap((each) => (hides(each) ? [each.path] : []));
  return textsAt(wanted_content, places);
}

/** Returns the remark with hidden texts redacted. Marks may be longer than the texts, so a text is cut to its limit. */
export function redactedRemark<T>(remark: T, hidden: readonly string[]): T {
  const shown = withoutTexts(remark, hidden);
  return typeof shown === "string" && shown !== remark ? (clipText(shown, limits.comment_chars_max) as T) : shown;
}

/** Returns modifications with hidden texts redacted in their values. Policies may copy them out of a reviewer's change. */
export function redactedValues(modifications: readonly Modification[], hidden: readonly string[]): Modification[] {
  return modifications.map((each) =>
    each.value === undefined ? each : { ...each, value: withoutTexts(each.value, hidden) },
  );
}

function hides({ op, value }: Pick<Modification, "op" | "value">): boolean {
  return op === "remove" || value === redacted_text;
}

function textsAt(content: Readonly<Record<string, unknown>>, places: readonly string[]): string[] {
  const requests = places.map((path) => ({ op: "redact" as const, path, policy_id: "", policy: "" }));
  return hiddenTexts(content, redactContent(content, requests).content);
}
