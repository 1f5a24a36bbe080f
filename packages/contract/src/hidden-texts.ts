/** Finds the texts that must not be shown, because policies removed or redacted them. */

/** Shorter values occur in ordinary words and dates. */
const chars_min = 4;

/** A member name that a programmer chose. Others ("123-45-6789", "ann@example.com") are personal data. */
const fieldName = /^(?!.*\d{4})[A-Za-z_]\w*$/;

/**
 * Returns the texts that `content` has and `shown` does not, longest first. Includes numbers as written, and member
 * names that are data, because reasons contain paths.
 */
export function hiddenTexts(content: unknown, shown: unknown): string[] {
  if (content === shown) return [];
  const seen = textsOf(shown);
  return [...textsOf(content)]
    .filter((text) => !seen.has(text))
    .sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
}

/** Returns the texts in a JSON value that could identify a person, also as paths spell them. */
export function textsOf(value: unknown): Set<string> {
  const texts = new Set<string>();
  const queue = [value];
  while (queue.length > 0) {
    const at = queue.pop();
    if (Array.isArray(at)) {
      // `push(...at)` would overflow the stack at 100,000 values.
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
      // Quotations omit white space around a value.
      if (bare !== text) addText(texts, bare);
    }
  }
  return texts;
}

function addText(texts: Set<string>, text: string): void {
  texts.add(text);
  // The spelling in paths, because the value may also be a member name.
  if (/["\\\p{Cc}]/u.test(text)) texts.add(JSON.stringify(text).slice(1, -1));
}
