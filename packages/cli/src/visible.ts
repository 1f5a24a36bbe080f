import { hiddenCharacter, jsonEscapeOf } from "@countersign/contract";

const hidden = new RegExp(hiddenCharacter, "gu");

/** A text of others for a line at a terminal: what would control it, hide or reorder is written as an escape. */
export function visible(text: string): string {
  return text.replaceAll(hidden, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/**
 * A value as JSON for a terminal or a program, on one line unless indented: what would control, hide or reorder is an escape of
 * JSON.
 */
export function visibleJson(value: unknown, indent?: number): string {
  // Line breaks of texts are escapes already; what is left are those of the indented lines.
  return JSON.stringify(value, null, indent).replaceAll(hidden, (char) => (char === "\n" ? char : jsonEscapeOf(char)));
}
