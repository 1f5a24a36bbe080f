/**
 * Returns the text as a key string of the engine. A slice of the source is looked up at each property access: a
 * condition takes 80 ns instead of 72 (bench/cel).
 */
export function intern(text: string): string {
  return Object.keys({ [text]: 0 })[0] ?? text;
}
