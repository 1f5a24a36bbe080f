import { hiddenCharacter, jsonEscapeOf } from "@countersign/contract";

const hidden = new RegExp(hiddenCharacter, "gu");

/** A text of others for a line at a terminal: what would control it, hide or reorder is written as an escape. */
export function visible(text: string): string {
  return text.replaceAll(hidden, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** A value as one line of JSON for a terminal or a program: what would control, hide or reorder is an escape of JSON. */
export function visibleJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(hidden, jsonEscapeOf);
}
