/** Members that replace those of a tool object. */

/** Returns the descriptor of a member with this value. */
export const member = (value: unknown) => ({ value, writable: true, enumerable: true, configurable: true });

/** A tool's result for the model, in the form of the AI SDK, which Mastra uses too. */
export interface ModelOutput {
  readonly type: string;
  readonly value?: unknown;
}

export function plainOutput(output: unknown): ModelOutput {
  return typeof output === "string" ? { type: "text", value: output } : { type: "json", value: output ?? null };
}

/** Returns the output with the notes at its end. */
export function withNotes(made: ModelOutput, notes: readonly string[]): ModelOutput {
  if (notes.length === 0) return made;
  const texts = notes.map((text) => ({ type: "text", text }));
  if (made.type === "content" && Array.isArray(made.value)) return { ...made, value: [...made.value, ...texts] };
  const text = typeof made.value === "string" ? made.value : JSON.stringify(made.value ?? null);
  return { type: "content", value: [{ type: "text", text }, ...texts] };
}
