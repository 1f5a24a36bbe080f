/**
 * A decision commits only if all three epochs are those that it was computed under. Each change raises its epoch, and nodes
 * cache what they read under the epochs.
 *
 * Restoring a dump, or failing over to an incomplete copy, sets the epochs back. Counts would then repeat for other keys, rules
 * and facts: one decision was approved by rules that no longer existed, under a key that the database did not have. So the
 * epochs of keys and of stored context are the database's time of the change in microseconds, which never repeats. A change of
 * policies raises the epoch of stored context too. The epoch of policies stays a count, because decisions show it as
 * `policy_set.version`.
 */
export interface Epochs {
  /** Keys. */
  readonly auth: number;
  /** Policies, packs, membranes, event types that webhooks subscribe to, active overrides, and freezes. */
  readonly policy: number;
  /** Stored context. */
  readonly context: number;
}
