/** The bounds of the deliveries of one node. */
import { limits } from "@countersign/contract";

/** The bounds. Counts are attempts in flight. */
export interface DeliveryTerms {
  /** On the node. */
  readonly slots: number;
  /** Slots kept for organizations that have at most `few` attempts in flight. */
  readonly reserve: number;
  readonly few: number;
  /** At one receiver: at first, at least and at most. */
  readonly per_webhook: { readonly first: number; readonly least: number; readonly most: number };
  readonly per_organization: number;
  /** An attempt takes 10 s at most. The rest is for settling it. */
  readonly lease_ms: number;
  /** Replaces the 5 s and 25 s of the contract (tests only). */
  readonly waits_ms?: readonly number[];
}

/** The bounds that a service runs with. A fast receiver may have 288 attempts in flight, so one statement leases about 144. */
export const standardTerms: DeliveryTerms = {
  slots: 960,
  reserve: 192,
  few: 4,
  per_webhook: { first: 8, least: 2, most: 288 },
  per_organization: 384,
  lease_ms: limits.delivery_attempt_timeout_ms + 10_000,
};
