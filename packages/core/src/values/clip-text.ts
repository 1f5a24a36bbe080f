const highSurrogateLast = /[\ud800-\udbff]$/;

/**
 * The beginning of a text, at most `units_max` UTF-16 units long and never with half a character at its end. Half a
 * surrogate pair is no text: canonical JSON, and with it every event and audit row, has no bytes for it, and PostgreSQL
 * reads no document that holds one.
 */
export function clipText(text: string, units_max: number): string {
  if (text.length <= units_max) return text;
  const cut = text.slice(0, units_max);
  return highSurrogateLast.test(cut) ? cut.slice(0, -1) : cut;
}
