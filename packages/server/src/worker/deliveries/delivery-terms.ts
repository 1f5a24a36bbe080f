import { limits } from "@countersign/contract";

/** Bounds of one node. Counts are attempts in flight. */
export interface DeliveryTerms {
  /** On the node. */
  readonly slots: number;
  /** Slots for organizations with at most `few` attempts in flight. */
  readonly reserve: number;
  readonly few: number;
  /** At one receiver. */
  readonly per_webhook: { readonly first: number; readonly least: number; readonly most: number };
  readonly per_organization: number;
  /** An attempt takes at most 10 s. The rest is for settling. */
  readonly lease_ms: number;
  /** Tests only. */
  readonly waits_ms?: readonly number[];
}

/** A fast receiver may have 288 attempts in flight, so one statement leases about 144. */
export const standardTerms: DeliveryTerms = {
  slots: 960,
  reserve: 192,
  few: 4,
  per_webhook: { first: 8, least: 2, most: 288 },
  per_organization: 384,
  lease_ms: limits.delivery_attempt_timeout_ms + 10_000,
};
