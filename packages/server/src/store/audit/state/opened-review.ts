import { eventJson, sha256Hex } from "@countersign/core";

/**
 * Returns the hash of a new review as 64 lower-case hex digits, for the entry of its decision. `record` and `demands`
 * are JSON texts. The deadline is left out, because the commit may move it.
 */
export function openedReviewHash({ record, demands }: { readonly record: string; readonly demands: string }): string {
  const { expires_at: _, ...rest } = JSON.parse(record) as Readonly<Record<string, unknown>>;
  return sha256Hex(eventJson([rest, JSON.parse(demands)]));
}
