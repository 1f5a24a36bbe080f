/** Names that callers choose (verbs, agent ids): the spelling for comparisons, and the characters that names must not have. */

/**
 * Returns the spelling of a name for comparisons, in compatibility form (NFKC) and without case. So `Send_Money` and
 * fullwidth letters match rules about `send_money`. Records keep the written names.
 */
export function foldName(name: string): string {
  if (/^[ -~]*$/.test(name)) return name.toLowerCase();
  // Upper case first, because it also folds ſ to s and ß to ss.
  const folded = name.normalize("NFKC").toUpperCase().toLowerCase();
  // A final sigma must equal a sigma within a word, because a prefix may end there.
  return folded.replaceAll("ς", "σ").normalize("NFKC");
}

/** Control and format characters, line ends, and characters without a look: variation selectors, fillers, tags. */
const hidden = "\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}";

/** White space and the blank Braille pattern. */
const blank = "\\s\\u2800";

/** The form of names as a schema pattern: no hidden character, and no blank one around the name. An empty text matches. */
export const name_pattern: string = `^(?:[^${blank}${hidden}](?:[^${hidden}]*[^${blank}${hidden}])?)?$`;

const hiddenWithin = new RegExp(`[${hidden}]`, "u");
const blankAround = new RegExp(`^[${blank}]|[${blank}]$`, "u");

/** Returns advice with the wrong character if a text does not have the form of names, otherwise null. */
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

/** The `policy` of a reason that reports a look-alike name. Its `policy_id` is null. */
export const look_alike_reason = "names.look_alike";
