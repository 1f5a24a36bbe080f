/** Finds the texts that must not be shown after policies removed or redacted values. */

/** Shorter values occur in ordinary words and dates. */
const chars_min = 4;

/** A member name that a form's author chose. Any other ("123-45-6789", "ann@example.com") is personal data. */
const fieldName = /^(?!.*\d{4})[A-Za-z_]\w*$/;

/**
 * Returns the texts that `content` has and `shown` does not, longest first: the texts that policies removed or redacted. Numbers
 * count as written. Member names that are data count, too, because a reason names the path of a missing value.
 */
export function hiddenTexts(content: unknown, shown: unknown): string[] {
  if (content === shown) return [];
  const seen = textsOf(shown);
  return [...textsOf(content)]
    .filter((text) => !seen.has(text))
    .sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
}

/** Returns the texts in a JSON value that could identify a person, also in the form that paths use. */
export function textsOf(value: unknown): Set<string> {
  const texts = new Set<string>();
  const queue = [value];
  while (queue.length > 0) {
    const at = queue.pop();
    if (Array.isArray(at)) {
      // Pushed one by one, because 100,000 arguments of one call overflow the stack.
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
      // A quotation omits the spaces and line ends around a value.
      if (bare !== text) addText(texts, bare);
    }
  }
  return texts;
}

function addText(texts: Set<string>, text: string): void {
  texts.add(text);
  // The form in paths, because a value may also be a member name.
  if (/["\\\p{Cc}]/u.test(text)) texts.add(JSON.stringify(text).slice(1, -1));
}
