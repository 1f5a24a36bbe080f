const highSurrogateLast = /[\ud800-\udbff]$/;

/**
 * Returns the beginning of a text, at most `units_max` UTF-16 units long, without half a character at its end. A lone
 * surrogate is not text: canonical JSON, and so every event and audit row, has no bytes for it. PostgreSQL cannot read
 * a document that contains one.
 */
export function clipText(text: string, units_max: number): string {
  if (text.length <= units_max) return text;
  const cut = text.slice(0, units_max);
  return highSurrogateLast.test(cut) ? cut.slice(0, -1) : cut;
}
