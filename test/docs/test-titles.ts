/** Reads the titles of tests, for pages and tables that name tests. */

/** Returns the titles of a file's tests and table cases. Skipped tests and todos do not count. */
export function testTitles(source: string): Set<string> {
  const titles = source.matchAll(/(?:(?<![.\w])(?:test|it)\(|\)\(|\btitle: )\s*(["`])((?:\\.|(?!\1).)*)\1\s*,/g);
  return new Set(Array.from(titles, ([, , title]) => title as string));
}
