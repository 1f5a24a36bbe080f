/**
 * What somebody writes about an action after it was decided: comments, reasons, what became of it. It goes into records,
 * events, audit rows and pages, and whoever read the intent may quote in it what policies hide. Source: policies.md §3 rule 5.
 */
import { hiddenTexts, limits } from "@countersign/contract";
import { clipText, hideContent, type Ruling, redacted_text, withoutTexts } from "@countersign/core";
import type { StoredIntent } from "../../store/intents/intents.ts";
import { withheldOf } from "./read-intents.ts";

/**
 * The remark with a mark in the place of each text that policies hide of the action, or of a change to it (`also_hidden`).
 * Marks may be longer than what they stand for, so a text is cut to what a remark may be.
 */
export function shownRemark<T>(intent: StoredIntent | undefined, remark: T, also_hidden: readonly string[] = []): T {
  const hidden = [...(intent === undefined ? [] : withheldTexts(intent)), ...also_hidden];
  const shown = withoutTexts(remark, hidden);
  return typeof shown === "string" && shown !== remark ? (clipText(shown, limits.comment_chars_max) as T) : shown;
}

/** The texts that policies hide of the change that reviewers of an open review have approved; null: nobody has. */
export function withheldInChange(ruling: Ruling | null): string[] {
  if (ruling?.wanted_content === undefined) return [];
  const { modifications, wanted_content } = ruling;
  const own_until = modifications.findLastIndex(({ policy_id }) => policy_id === null) + 1;
  const hides = modifications
    .slice(own_until)
    .filter(({ op, value }) => op === "remove" || value === redacted_text)
    .map(({ path }) => ({ op: "redact" as const, path, policy_id: "", policy: "" }));
  return hiddenTexts(wanted_content, hideContent(wanted_content, hides).content);
}

/** The texts that policies hide of the action. */
export function withheldTexts(intent: StoredIntent): string[] {
  const { submitted } = intent.intent as { submitted: { payload?: { content?: Readonly<Record<string, unknown>> } } };
  const content = submitted.payload?.content ?? {};
  // A place that is only in the action as people changed it has nothing of what was submitted.
  const hides = withheldOf(intent).map((path) => ({ op: "redact" as const, path, policy_id: "", policy: "" }));
  return hiddenTexts(content, hideContent(content, hides).content);
}
