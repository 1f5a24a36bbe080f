/**
 * Returns null if the text is no absolute URL. Not `URL.canParse`: when compiled, Node 20's version refuses every URL
 * with a character from U+0080 to U+00FF.
 */
export function readUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
