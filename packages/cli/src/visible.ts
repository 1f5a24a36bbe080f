import { hiddenCharacter, jsonEscapeOf } from "@countersign/contract";

const hidden = new RegExp(hiddenCharacter, "gu");

/** Escapes characters of untrusted text that control, hide or reorder text. */
export function visible(text: string): string {
  return text.replaceAll(hidden, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Returns JSON, on one line unless indented. Escapes characters that control, hide or reorder text. */
export function visibleJson(value: unknown, indent?: number): string {
  // Line breaks inside texts are already escaped; the others indent.
  return JSON.stringify(value, null, indent).replaceAll(hidden, (char) => (char === "\n" ? char : jsonEscapeOf(char)));
}
