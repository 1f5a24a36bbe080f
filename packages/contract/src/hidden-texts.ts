/** Which texts may be shown nowhere once policies removed or redacted something. Source: policies.md §3 rule 5. */

/** Shorter values stand in ordinary words and dates too often for anybody to be hidden behind them. */
const chars_min = 4;

/** A name that a form's author chose. Any other ("123-45-6789", "ann@example.com") is somebody's data, as a value is. */
const fieldName = /^(?!.*\d{4})[A-Za-z_]\w*$/;

/**
 * Texts that `content` holds and `shown` no longer does: what policies removed or redacted, longest first. Numbers count as
 * they are written, and names of members that are data count too: a reason tells the path of what it misses.
 */
export function hiddenTexts(content: unknown, shown: unknown): string[] {
  if (content === shown) return [];
  const seen = textsOf(shown);
  return [...textsOf(content)]
    .filter((text) => !seen.has(text))
    .sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
}

/** The texts in a JSON value that somebody could be known by, as they are and as paths have them. */
export function textsOf(value: unknown): Set<string> {
  const texts = new Set<string>();
  const queue = [value];
  while (queue.length > 0) {
    const at = queue.pop();
    if (Array.isArray(at)) {
      // One by one: as arguments of one call, more than some 100,000 do not fit the stack.
      for (const item of at) queue.push(item);
    } else if (typeof at === "object" && at !== null) {
      for (const [name, item] of Object.entries(at)) {
        queue.push(item);
        if (!fieldName.test(name)) queue.push(name);
      }
    } else if (typeof at === "string" || typeof at === "number") {
      const text = String(at);
      const bare = text.trim();
      if (bare.length < chars_min) continue;
      addText(texts, text);
      // Who quotes a value leaves out the spaces and line ends around it.
      if (bare !== text) addText(texts, bare);
    }
  }
  return texts;
}

function addText(texts: Set<string>, text: string): void {
  texts.add(text);
  // As paths have it: a value may be the name of something elsewhere.
  if (/["\\\p{Cc}]/u.test(text)) texts.add(JSON.stringify(text).slice(1, -1));
}
