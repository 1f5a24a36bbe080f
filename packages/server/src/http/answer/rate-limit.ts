import { limits, type RateCategory, rateCategories } from "@countersign/contract";
import { clientNetwork, type RateTake } from "@countersign/core";
import type { RateWindows } from "../../ports.ts";

/** Requests per minute. */
export type RateLimits = Readonly<Record<RateCategory, number>>;

/** Of the instance (COUNTERSIGN_RATE_LIMITS) or of one key. */
export type RateAgreement = Readonly<Partial<Record<RateCategory, number>>>;

/** Later agreements win. */
export function rateLimitsUnder(...agreements: readonly (RateAgreement | null)[]): RateLimits {
  const agreed = Object.fromEntries(
    Object.entries(rateCategories).map(([category, { requests_max }]) => [category, requests_max]),
  );
  return Object.assign(agreed, ...agreements) as RateLimits;
}

export interface RateUse {
  readonly category: RateCategory;
  readonly bucket: string;
  readonly taken: RateTake;
  /** False: not counted yet, because a 304 does not count. */
  readonly settled: boolean;
}

/** Counts, by bucket, admitted requests of this node that have no place in the window and no answer yet. */
export class Unsettled {
  readonly #under_way = new Map<string, number>();

  /** Admits one more request, unless there are `max`. */
  enter(bucket: string, max: number): boolean {
    const under_way = this.#under_way.get(bucket) ?? 0;
    if (under_way >= max) return false;
    this.#under_way.set(bucket, under_way + 1);
    return true;
  }

  leave(bucket: string): void {
    const left = (this.#under_way.get(bucket) ?? 1) - 1;
    if (left === 0) this.#under_way.delete(bucket);
    else this.#under_way.set(bucket, left);
  }
}

/** All rotations of a key share one budget. */
export function keyBucket(category: RateCategory, org_id: string, lineage_id: string): string {
  return `${category} ${org_id} ${lineage_id}`;
}

/** For clients without a valid key. */
export function clientBucket(category: RateCategory, ip: string): string {
  return `${category} ip ${clientNetwork(ip)}`;
}

/** Counts a request (`take`), or only reads the budget (`look`). */
export function useRate(
  windows: RateWindows,
  kind: "take" | "look",
  category: RateCategory,
  bucket: string,
  limit: number,
  now_ms: number,
): RateUse | Promise<RateUse> {
  const settled = kind === "take";
  const taken = windows[kind](bucket, limit, now_ms);
  return taken instanceof Promise
    ? taken.then((each) => ({ category, bucket, taken: each, settled }))
    : { category, bucket, taken, settled };
}

export async function refundRate(windows: RateWindows, use: RateUse, now_ms: number): Promise<RateUse> {
  return use.settled && use.taken.allowed
    ? { ...use, taken: await windows.refund(use.bucket, use.taken, now_ms) }
    : use;
}

/** Appends the contract's three headers and the IETF pair (draft-ietf-httpapi-ratelimit-headers). */
export function pushRateHeaders(headers: string[], { category, taken }: RateUse): void {
  headers.push(
    "RateLimit-Limit",
    String(taken.limit),
    "RateLimit-Remaining",
    String(taken.remaining),
    "RateLimit-Reset",
    String(taken.reset_unix),
    "RateLimit-Policy",
    `"${category}";q=${taken.limit};w=${limits.rate_window_seconds}`,
    "RateLimit",
    `"${category}";r=${taken.remaining};t=${taken.retry_after}`,
  );
}
