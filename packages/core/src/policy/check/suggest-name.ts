export function suggestName(name: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let least = Math.floor(Math.min(name.length, 24) / 3) + 1;
  for (const candidate of known) {
    const distance = editDistance(name.slice(0, 64).toLowerCase(), candidate.toLowerCase(), least);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best === null ? null : `Did you mean ${best}?`;
}

/**
 * Returns the known word that `word` misspells. Recognizes plurals, other separators and one wrong letter. Null for a
 * plausible other word, such as `data.import` beside `data.export`.
 */
export function misspelt(word: string, known: readonly string[]): string | null {
  if (known.includes(word)) return null;
  const plain = plainWord(word);
  const letters_wrong = (each: string): number => editDistance(plain, plainWord(each), 2);
  const near = known.find((each) => letters_wrong(each) === 0) ?? known.find((each) => letters_wrong(each) === 1);
  if (near === undefined) return null;
  return plain.length >= 6 || plain === plainWord(near) ? near : null;
}

function plainWord(word: string): string {
  return word.toLowerCase().replaceAll(/s?[^a-z0-9]+|s$/g, " ");
}

/** Returns the edit distance, at most `most`. Only cells near the diagonal can be smaller. */
function editDistance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) >= most) return most;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = new Array<number>(b.length + 1).fill(most);
    next[0] = i;
    let least = i;
    for (let j = Math.max(1, i - most); j <= Math.min(b.length, i + most); j += 1) {
      const substituted = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const edits = Math.min(substituted, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1);
      next[j] = edits;
      least = Math.min(least, edits);
    }
    if (least >= most) return most;
    row = next;
  }
  return row[b.length] ?? 0;
}
