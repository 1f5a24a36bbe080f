/**
 * Makes untrusted text visible: shows characters that hide, reorder or restyle, and look-alike letters, as escapes.
 * React escapes markup.
 */

import { hiddenCharacter, jsonEscapeOf } from "@countersign/contract";
import { lookAlikesIn } from "./look-alikes.ts";

export interface TextPart {
  readonly text: string;
  /** The name of the marked character; null: plain text. */
  readonly hides: string | null;
}

/** The only visible selector: gives a sign the look of an emoji, and a digit that of a key. */
const emojiStyle = /(?<=(?![\p{Emoji_Presentation}\p{ASCII}])\p{Emoji})\ufe0f|(?<=[0-9#*])\ufe0f(?=\u20e3)/uy;

const names: Readonly<Record<string, string>> = {
  " ": "space, in a text of only spaces",
  "\u001b": "escape: begins a terminal command",
  "\u0000": "null character",
  "\u00ad": "soft hyphen",
  "\u200b": "zero-width space",
  "\u200c": "zero-width non-joiner",
  "\u200d": "zero-width joiner",
  "\u200e": "left-to-right mark",
  "\u200f": "right-to-left mark",
  "\u202a": "left-to-right embedding",
  "\u202b": "right-to-left embedding",
  "\u202c": "end of embedding",
  "\u202d": "left-to-right override",
  "\u202e": "right-to-left override",
  "\u2060": "word joiner",
  "\u2066": "left-to-right isolate",
  "\u2067": "right-to-left isolate",
  "\u2068": "first strong isolate",
  "\u2069": "end of isolate",
  "\u2800": "blank Braille pattern",
  "\ufeff": "zero-width no-break space",
};

function escapeOf(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  if (code === 9) return "\\t";
  if (code === 13) return "\\r";
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** More combining marks on one letter would cover neighbouring lines. */
const marks_max = 3;

/** Returns the text on one line with all escapes, for places that cannot mark parts. */
export function visibleText(text: string): string {
  return textParts(text, false)
    .map((part) => part.text)
    .join("");
}

/** Returns the display and the name of a character that is invisible or reorders. */
export function shownFor(code: number): { readonly text: string; readonly hides: string } {
  const char = String.fromCodePoint(code);
  return { text: escapeOf(char), hides: hiddenName(char) };
}

const hiddenName = (char: string) => names[char] ?? "invisible character";

/** Returns a JSON value for a text field. Characters that hide or reorder become JSON escapes. */
export function editableJson(value: unknown): string {
  return textParts(JSON.stringify(value, null, 2), true, jsonEscapeOf)
    .map((part) => part.text)
    .join("");
}

/** `lines` keeps line breaks and tabs. */
export function textParts(text: string, lines: boolean, written: (char: string) => string = escapeOf): TextPart[] {
  const parts: TextPart[] = [];
  let plain = "";
  let mark: string | null = null;
  const flush = () => {
    if (plain !== "") parts.push({ text: plain, hides: mark });
    plain = "";
  };
  let marks = 0;
  let at = 0;
  const alike = lookAlikesIn(text);
  let next = 0;
  // A blank agent name or policy title would be an invisible link without a name for screen readers.
  const blank = text.trim() === "";
  for (const char of text) {
    while ((alike[next]?.end ?? Infinity) <= at) next += 1;
    const look = (alike[next]?.start ?? Infinity) <= at ? alike[next] : undefined;
    marks = /\p{M}/u.test(char) ? marks + 1 : 0;
    emojiStyle.lastIndex = at;
    at += char.length;
    const shows = char === " " ? !blank : !hiddenCharacter.test(char) || emojiStyle.test(text);
    const kept = (lines && (char === "\n" || char === "\t")) || (shows && marks <= marks_max && !look?.is_letter);
    if (kept) {
      if ((look?.name ?? null) !== mark) flush();
      mark = look?.name ?? null;
      plain += char;
      continue;
    }
    flush();
    parts.push({ text: char === "\n" ? "\\n" : written(char), hides: look?.name ?? hiddenName(char) });
  }
  flush();
  return parts;
}
