/** The result of one check. A problem prevents proper operation; a note does not. */
export interface Finding {
  readonly check: string;
  readonly state: "ok" | "note" | "problem";
  readonly text: string;
  /** Null if all is in order. */
  readonly advice: string | null;
}

export const ok = (check: string, text: string): Finding => ({ check, state: "ok", text, advice: null });

export const note = (check: string, text: string, advice: string): Finding => ({ check, state: "note", text, advice });

export const problem = (check: string, text: string, advice: string): Finding => ({
  check,
  state: "problem",
  text,
  advice,
});

/** Returns the message of any thrown value on one line. */
export function reasonOf(error: unknown): string {
  const inner = error instanceof AggregateError ? error.errors[0] : error;
  return onOneLine(inner instanceof Error ? inner.message : String(inner));
}

export function onOneLine(text: string): string {
  return text.replaceAll("\n", " ");
}
