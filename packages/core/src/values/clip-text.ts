const highSurrogateLast = /[\ud800-\udbff]$/;

/**
 * Returns the first `units_max` UTF-16 units, without half a character at the end. Canonical JSON and PostgreSQL refuse
 * a lone surrogate.
 */
export function clipText(text: string, units_max: number): string {
  if (text.length <= units_max) return text;
  const cut = text.slice(0, units_max);
  return highSurrogateLast.test(cut) ? cut.slice(0, -1) : cut;
}
