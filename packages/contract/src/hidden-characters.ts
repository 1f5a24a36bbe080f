/**
 * A character that can hide, reorder or restyle its neighbours in a text that others wrote: controls, private use,
 * surrogates, what is not assigned, every space but the common one, the blank Braille pattern, and what Unicode says has no
 * look of its own: format characters (bidi, zero width, tags), fillers, selectors of variants.
 */
export const hiddenCharacter: RegExp =
  /(?! )[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** How a character is written in JSON where it may not act: the text reads as the same value. */
export function jsonEscapeOf(char: string): string {
  return char
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
