/** Names that callers choose, verbs and agent ids: one spelling to compare them by, and the characters that they may not hold. */

/**
 * Returns the spelling by which a name is compared: in compatibility form (NFKC) and without case, so that `Send_Money` and
 * fullwidth letters meet the rules about `send_money`. Records keep names as they are written.
 */
export function foldName(name: string): string {
  if (/^[ -~]*$/.test(name)) return name.toLowerCase();
  // The upper case comes first, because it also folds letters without a lower case of their own: ſ is an s, ß is ss.
  const folded = name.normalize("NFKC").toUpperCase().toLowerCase();
  // A sigma has another form at the end of a word, and a prefix ends where the name goes on.
  return folded.replaceAll("ς", "σ").normalize("NFKC");
}

/** Control and format characters, ends of lines, and what Unicode shows as nothing: selectors of variants, fillers, tags. */
const hidden = "\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}";

/** White space, and the blank pattern of Braille. */
const blank = "\\s\\u2800";

/** The form of names as the pattern of a schema: no hidden character, and no blank one around it. An empty text has it too. */
export const name_pattern: string = `^(?:[^${blank}${hidden}](?:[^${hidden}]*[^${blank}${hidden}])?)?$`;

const hiddenWithin = new RegExp(`[${hidden}]`, "u");
const blankAround = new RegExp(`^[${blank}]|[${blank}]$`, "u");

/** Returns what is wrong with a text that does not have the form of names, as advice that tells the character; else null. */
export function nameProblem(name: string): string | null {
  const [character] = hiddenWithin.exec(name) ?? [];
  if (character !== undefined)
    return `Remove the character ${codePoint(character)}: names have no control or format characters.`;
  const [space] = blankAround.exec(name) ?? [];
  return space === undefined ? null : `Remove the white space ${codePoint(space)} around the name.`;
}

function codePoint(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The `policy` of a reason that reports a name which only looks like a known one. Its `policy_id` is null. */
export const look_alike_reason = "names.look_alike";
