/**
 * Parses an absolute URL. Returns null if the text is none. `URL.canParse` must not be used instead: in Node 20 it
 * refuses every URL with a character from U+0080 to U+00FF after some thousand calls, when it is compiled.
 */
export function readUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
