/** The text that a passkey signs, and whether votes are confirmed enough (docs/decisions/0067-signed-rulings.md). */
import { type Confirm, confirmKinds, type Outcome } from "@countersign/contract";
import { maskedContent, maskingOf } from "../masks/mask.ts";
import { canonicalJson } from "../values/canonical-json.ts";
import { sha256Hex } from "../values/fingerprint.ts";
import { withoutTexts } from "../values/redacted-texts.ts";
import type { StoredAction } from "./decide-again.ts";
import type { Ruling } from "./escalation.ts";
import { hiddenTextsInAction, hiddenTextsInChange } from "./redaction.ts";

/** Null: nothing was asked, or nothing was given. */
export function isConfirmedEnough(given: Confirm | null, asked: Confirm | null): boolean {
  const strength = (kind: Confirm | null): number => (kind === null ? -1 : confirmKinds.indexOf(kind));
  return strength(given) >= strength(asked);
}

export interface RulingFacts {
  readonly org_id: string;
  readonly escalation_id: string;
  readonly intent_id: string;
  readonly person: string;
  readonly outcome: Outcome;
  /** The commitment of the decision's entry to the submitted action, in hex. */
  readonly intent_sha256: string;
  /** The commitment of the decision's entry to the answer, with the changes that policies asked for. */
  readonly data_sha256: string;
  /** The content after the reviewer's change. Null: the reviewer changes nothing. */
  readonly changed: ChangedContent | null;
  /** Database time, RFC 3339. */
  readonly at: string;
}

export interface ChangedContent {
  /** Random, so that nobody can guess hidden values from the hash. */
  readonly salt: string;
  /** Canonical JSON. */
  readonly text: string;
}

/** Returns canonical JSON of a ruling. */
export function rulingText({ changed, ...facts }: RulingFacts): string {
  const changed_sha256 = changed === null ? null : sha256Hex(`${changed.salt}${changed.text}`);
  return canonicalJson({ ...facts, changed_sha256, format: "countersign.ruling.v1" });
}

/** Null: the reviewer changes nothing. */
export function changedContent(ruling: Ruling | null, salt: string): ChangedContent | null {
  if (!isChanged(ruling)) return null;
  return { salt, text: canonicalJson(ruling.modified_content) };
}

type ChangingRuling = Ruling & { readonly modified_content: Readonly<Record<string, unknown>> };

function isChanged(ruling: Ruling | null): ruling is ChangingRuling {
  return ruling?.modified_content != null && ruling.modifications.some(({ policy_id }) => policy_id === null);
}

/** Returns true if people may see all of the content that a reviewer's change lets through. */
export function isChangeShown(action: StoredAction, ruling: Ruling | null, also_hidden: readonly string[]): boolean {
  if (!isChanged(ruling)) return true;
  const content = ruling.modified_content;
  const hidden = [...hiddenTextsInAction(action), ...hiddenTextsInChange(ruling), ...also_hidden];
  const shown = maskedContent(withoutTexts(content, hidden), maskingOf(content, action.intent.masked));
  return canonicalJson(shown) === canonicalJson(content);
}
