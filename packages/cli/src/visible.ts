import { hiddenCharacter, jsonEscapeOf } from "@countersign/contract";

const hidden = new RegExp(hiddenCharacter, "gu");

/** Returns an untrusted text for a terminal line. Escapes characters that control, hide or reorder text. */
export function visible(text: string): string {
  return text.replaceAll(hidden, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Returns a value as JSON, on one line unless indented. Escapes characters that control, hide or reorder text. */
export function visibleJson(value: unknown, indent?: number): string {
  // Line breaks inside texts are already escaped, so the remaining ones are those of the indentation.
  return JSON.stringify(value, null, indent).replaceAll(hidden, (char) => (char === "\n" ? char : jsonEscapeOf(char)));
}
