/** Returns one line of at most `units_max` UTF-16 units, cut between characters. Stored records contain it. */
export function excerpt(source: string, units_max: number): string {
  const line = source.replace(/\s+/g, " ");
  if (line.length <= units_max) return line;
  return `${line.slice(0, units_max - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
