/**
 * Returns null for other texts. Node 20's `URL.canParse`, once compiled, refuses every URL with a character from U+0080
 * to U+00FF.
 */
export function readUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
