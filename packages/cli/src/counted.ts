/** Returns a number with its noun, such as `1 row` or `2 rows`. */
export function counted(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
