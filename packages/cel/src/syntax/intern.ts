/**
 * Returns the text in the form of the engine's key strings. A slice keeps the whole source alive, and each property
 * access looks it up first. After one use as a property name, a condition takes 72 ns instead of 80 (bench/cel).
 */
export function intern(text: string): string {
  return Object.keys({ [text]: 0 })[0] ?? text;
}
