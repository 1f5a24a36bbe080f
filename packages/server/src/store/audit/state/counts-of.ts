import type { CountsOf } from "../../counters/counters.ts";

/** Returns the member of an entry's data that names actions whose counts the entry changed. */
export function countsOf(counts_of: CountsOf): { readonly counts_of?: CountsOf } {
  return counts_of.length === 0 ? {} : { counts_of };
}
