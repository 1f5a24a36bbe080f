/** The key is the statement's name, or the function of the store that sends it (decision 0031). */

/**
 * Reads of several organizations, so a distributed database asks all places. Results are written for each organization
 * separately. No submission of an intent waits for these.
 */
export const fan_out: Readonly<Record<string, string>> = {
  read_presented_keys: "many requests present keys at once, and the index of keys says whose they are",
  readFinal: "one look for all callers who wait for a decision",
  readDueEscalations: "a worker looks for what is due in all organizations",
  readClosingOrganizations: "a worker looks for reviews of what is frozen in all organizations",
  readReviewersDue: "a worker looks for organizations whose people, keys or rules changed in all organizations",
  takeUntold: "a worker looks for unreported reviews in all organizations",
  takeDueNotices: "a worker looks for reviews whose people are to be reminded in all organizations",
  organizationsWithEvents: "the dispatcher looks for events that nobody reported in all organizations",
  organizationsWithDue: "the deliverer looks for deliveries that are due in all organizations",
  organizationsWithOldDeliveries: "the clean-up looks for what is old in all organizations",
  deleteOldSessions: "the clean-up looks for what is old in all organizations",
  deleteOldInvitations: "the clean-up looks for what is old in all organizations",
  deleteOldTokenUses: "the clean-up looks for what is old in all organizations",
  deleteOldWaits: "the clean-up looks for what is old in all organizations",
  deleteOldReviewerTimes: "the clean-up looks for what is old in all organizations",
  deleteEndedEntries: "the clean-up looks for what is old in all organizations",
  organizationsWithEndedKeys: "the clean-up looks for what is old in all organizations",
  deleteOldIdempotencyKeys: "the clean-up looks for what is old in all organizations",
  readProgressPage: "the reconciler of figures looks which organizations have decisions that are not counted",
  organizationsToTellOfExpiry: "a worker looks for keys that expire in all organizations",
  "count-expiring-keys": "the metrics count keys that expire in all organizations",
  "count-backlog": "the metrics count what waits in all organizations",
  otherOrganizationsIn: "a domain may be claimed only if nobody of another organization is there",
  readSealedTexts: "the operator replaces the master key in all organizations",
  countSealedTexts: "the start and the operator look which master keys are needed in all organizations",
  countLostOrganizations: "the start looks whether the database was restored whole",
  restoreStatement: "a restore inserts rows as the dump has them",
  listOrganizations: "the operator lists all organizations",
  readChainEnds: "the operator exports the whole database from a replica",
  readForeign: "the operator exports the whole database from a replica",
  organizationOfKey: "the operator names a key without its organization",
};
