/** The life of an API key: valid until it is revoked (by DELETE or rotation) or its expiry is reached. Neither is undone. */

/** What the life of a key depends on; times in microseconds since the Unix epoch. */
export interface KeyLife {
  readonly expires_us: number;
  /** null: not revoked. */
  readonly revoked_us: number | null;
}

/** Whether a key is accepted, and if not, why. */
export type KeyState = "valid" | "expired" | "revoked";

/**
 * The state of a key at `now_us`. A key is expired from the very microsecond of its expiry on. Revoked beats expired:
 * a revoked key answers like one that never was, an expired one tells its owner to renew it.
 * Source: contract §3 and §5 rule 6.
 */
export function keyState(key: KeyLife, now_us: number): KeyState {
  if (key.revoked_us !== null) return "revoked";
  return now_us >= key.expires_us ? "expired" : "valid";
}
