/** The sentence "Did you mean …?" with the closest of the known names, or null when none is close. */
export function suggestName(name: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let least = Math.floor(Math.min(name.length, 24) / 3) + 1;
  for (const candidate of known) {
    const distance = editDistance(name.slice(0, 64).toLowerCase(), candidate.toLowerCase());
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best === null ? null : `Did you mean ${best}?`;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const substituted = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substituted, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
