/**
 * Matches a character that can hide, reorder or restyle its neighbours: controls, private use,
 * surrogates, unassigned characters, every space except U+0020, the blank Braille pattern, and characters that Unicode
 * displays as nothing: format characters (bidi, zero width, tags), fillers, variation selectors.
 */
export const hiddenCharacter: RegExp =
  /(?! )[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Returns the JSON escape of a character. The JSON text keeps its value. */
export function jsonEscapeOf(char: string): string {
  return char
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
