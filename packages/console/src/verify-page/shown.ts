/** Shows characters that hide or reorder text as escapes. */
import { hiddenCharacter, jsonEscapeOf } from "@countersign/contract";

const hidden = new RegExp(hiddenCharacter, "gu");

/** One line. */
export function shownText(text: string): string {
  return text.replaceAll(hidden, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Indented JSON. */
export function shownJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll(hidden, (char) => (char === "\n" ? char : jsonEscapeOf(char)));
}
