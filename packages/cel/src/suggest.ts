/** Returns null if more than a third of the letters differ. Compares at most 2,000 candidates. */
export function closest(name: string, candidates: Iterable<string>): string | null {
  if (name.length > 64) return null;
  const wanted = name.toLowerCase().replaceAll("_", "");
  let best: string | null = null;
  let bestDistance = Math.floor(Math.max(name.length, 3) / 3) + 1;
  let seen = 0;
  for (const candidate of candidates) {
    if (++seen > 2_000) break;
    if (candidate === name || candidate.length > 80) continue;
    // Confusing camelCase with snake_case is the most common mistake.
    if (candidate.toLowerCase().replaceAll("_", "") === wanted) return candidate;
    if (Math.abs(candidate.length - name.length) >= bestDistance) continue;
    const d = distance(name.toLowerCase(), candidate.toLowerCase(), bestDistance);
    if (d < bestDistance) {
      best = candidate;
      bestDistance = d;
    }
  }
  return best;
}

/** Counts insertions, deletions, replacements, and swaps of neighbours, up to `limit`. */
function distance(a: string, b: string, limit: number): number {
  let previous: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    let least = i;
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let d = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) d = Math.min(d, (previous[j - 2] ?? 0) + 1);
      next.push(d);
      if (d < least) least = d;
    }
    if (least >= limit) return limit;
    previous = row;
    row = next;
  }
  return row[b.length] ?? limit;
}
