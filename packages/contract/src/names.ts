/** Names that callers choose, such as verbs and agent ids. */

/**
 * Returns the spelling of a name for comparisons: NFKC, without case. `Send_Money` and fullwidth letters match rules
 * about `send_money`. Records keep the written names.
 */
export function foldName(name: string): string {
  if (/^[ -~]*$/.test(name)) return name.toLowerCase();
  // Upper case first, because it also folds ſ to s and ß to ss.
  const folded = name.normalize("NFKC").toUpperCase().toLowerCase();
  // A final sigma must equal a sigma within a word, because a prefix may end there.
  return folded.replaceAll("ς", "σ").normalize("NFKC");
}

/** Control and format characters, line ends and invisible characters. */
const hidden = "\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}";

/** White space and the blank Braille pattern. */
const blank = "\\s\\u2800";

/** Pattern of names: no hidden character, and no blank at the ends. An empty text matches. */
export const name_pattern: string = `^(?:[^${blank}${hidden}](?:[^${hidden}]*[^${blank}${hidden}])?)?$`;

const hiddenWithin = new RegExp(`[${hidden}]`, "u");
const blankAround = new RegExp(`^[${blank}]|[${blank}]$`, "u");

/** Returns advice that names the wrong character, or null for a valid name. */
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

/** `policy` of a reason that reports a look-alike name. Its `policy_id` is null. */
export const look_alike_reason = "names.look_alike";
