/**
 * A decision commits only if all three epochs are as when it was computed. Each change raises its epoch, and nodes
 * cache by epochs.
 *
 * A restored dump or a failover to an incomplete copy sets epochs back. Counts would then repeat for other keys, rules
 * and facts. So the epochs of keys and context are the database's time of the change in microseconds. A change of
 * policies raises the context epoch, too. The policy epoch stays a count, because decisions show it as
 * `policy_set.version`.
 */
export interface Epochs {
  readonly auth: number;
  /** Policies, packs, membranes, event types that webhooks subscribe to, active overrides, freezes. */
  readonly policy: number;
  readonly context: number;
}
