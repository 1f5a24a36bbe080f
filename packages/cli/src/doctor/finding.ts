/** What one check found. A problem keeps the service from working as it should; a note is worth knowing. */
export interface Finding {
  readonly check: string;
  readonly state: "ok" | "note" | "problem";
  readonly text: string;
  /** What to do about it; null for what is in order. */
  readonly advice: string | null;
}

/** A check that found what it hoped for. */
export const ok = (check: string, text: string): Finding => ({ check, state: "ok", text, advice: null });

/** Something worth knowing. */
export const note = (check: string, text: string, advice: string): Finding => ({ check, state: "note", text, advice });

/** Something that must be mended. */
export const problem = (check: string, text: string, advice: string): Finding => ({
  check,
  state: "problem",
  text,
  advice,
});

/** The message of whatever was thrown, on one line. */
export function reasonOf(error: unknown): string {
  const inner = error instanceof AggregateError ? error.errors[0] : error;
  return onOneLine(inner instanceof Error ? inner.message : String(inner));
}

/** Returns the text with spaces for line breaks. */
export function onOneLine(text: string): string {
  return text.replaceAll("\n", " ");
}
