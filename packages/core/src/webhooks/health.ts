/** Counts attempts by duration, so that a percentile needs no single attempt. */

/** Each bound is 25 % above the one before. The last one is above the limit of an attempt. */
const growth = 1.25;
export const duration_buckets = 43;

/** Returns the index of the first bound that is not below the duration. */
export function durationBucket(duration_ms: number): number {
  const exact = Math.ceil(Math.log(Math.max(duration_ms, 1)) / Math.log(growth) - 1e-9);
  return Math.min(duration_buckets - 1, exact);
}

/** Returns the bound that this share of the attempts did not exceed, in milliseconds. Null: no attempts. */
export function durationQuantile(counts: readonly number[], share: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  let seen = 0;
  for (const [bucket, count] of counts.entries()) {
    seen += count;
    if (count > 0 && seen >= total * share) return Math.ceil(growth ** bucket);
  }
  return null;
}
