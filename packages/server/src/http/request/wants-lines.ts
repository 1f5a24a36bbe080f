/** Returns whether the caller accepts an answer line by line. */
export function wantsLines(accept: string | readonly string[] | undefined): boolean {
  return typeof accept === "string" && /(?:^|,)\s*application\/x-ndjson\s*(?:;|,|$)/i.test(accept);
}
