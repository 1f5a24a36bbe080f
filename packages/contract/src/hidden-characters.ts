/**
 * Matches a character that can hide, reorder or restyle its neighbours: controls, spaces other than U+0020, private
 * use, unassigned, and characters that Unicode displays as nothing.
 */
export const hiddenCharacter: RegExp =
  /(?! )[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

export function jsonEscapeOf(char: string): string {
  return char
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
