export { authenticatedAs, type Parents, registeredAbove, superiorsOf } from "./access/ancestors.ts";
export { equalInConstantTime, hashApiKey, hashApiKeyText, newApiKey, parseApiKey } from "./access/api-key.ts";
export {
  allowsAgent,
  allowsMembrane,
  allowsSource,
  type Bindings,
  bindingsOf,
  readCidr,
} from "./access/bindings.ts";
export { clientIp, clientNetwork, isLoopback, isTrusted, type NetworkList, networkList } from "./access/client-ip.ts";
export { type RateTake, RateWindow, rateTake } from "./access/rate-window.ts";
export {
  changeHash,
  changeLeaf,
  commitmentTo,
  type DecisionHeader,
  decisionHash,
  decisionLeaf,
  leafHash,
  type OfDocuments,
} from "./audit/ledger-entry.ts";
export { type AuthzenVerdict, authzenDecision, authzenError } from "./authzen/answer.ts";
export {
  authzenIdentity,
  authzenSubmission,
  namedApproval,
  obeysObligations,
  withDefaults,
} from "./authzen/submission.ts";
export { type Candidate, membraneWith, sourcesWith } from "./backtest/candidate.ts";
export { countReplayed, type RecordedIntent, type ReplayedDecision, replayIntent } from "./backtest/replay.ts";
export {
  type SettingsChange,
  SettingsHistory,
  type SettingsThen,
  settingsChangeTypes,
} from "./backtest/settings-history.ts";
export { type CountChange, SimulatedCounts } from "./backtest/simulated-counts.ts";
export { type BacktestFigures, Tally, type TallyCounts } from "./backtest/tally.ts";
export type { ShownReview } from "./channels/review-words.ts";
export { slackCard, slackEscaped } from "./channels/slack-card.ts";
export { readSlackForm, type SlackAccount, type SlackRequest } from "./channels/slack-form.ts";
export { isSignedBySlack } from "./channels/slack-signature.ts";
export { teamsCard, teamsMessage } from "./channels/teams-card.ts";
export { alwaysBlocks } from "./counterfactual/always-blocks.ts";
export { type Asker, wouldApproveIf } from "./counterfactual/would-approve-if.ts";
export { amountOf, amountText, micros_per_unit, microsOf } from "./counters/amount.ts";
export { counterConflict, definesCounters } from "./counters/conflicts.ts";
export {
  type CountRead,
  CountReads,
  countPlace,
  countsOfRecord,
  type MissingCount,
  type RecordedCounts,
  recordedCounts,
} from "./counters/count-reads.ts";
export { type CountedAction, countAction, countedAs } from "./counters/counted.ts";
export { type CounterInForce, countersInForce } from "./counters/counters-in-force.ts";
export { type CountSource, keyText, nothingCounted } from "./counters/counting.ts";
export { type CountedState, type CounterWindow, countedStates, windowOf } from "./counters/definition.ts";
export {
  type CounterEntry,
  CounterHistory,
  type CounterReading,
  countsState,
  type EntryState,
} from "./counters/history.ts";
export type { PlacedTrack, Tracks } from "./counters/tracks.ts";
export { windowEndUs, windowStartUs } from "./counters/windows.ts";
export { classifyAction } from "./deciding/classify.ts";
export { decide } from "./deciding/decide.ts";
export type { DecidableIntent, Decided, DecideInput, MembraneSettings, StandingFreeze } from "./deciding/decision.ts";
export { default_verdict_name, goesThrough } from "./deciding/decision.ts";
export {
  type FreezableActor,
  type Freezes,
  freezesOf,
  freezeText,
  isFreezeReason,
} from "./deciding/freezes.ts";
export { compilePolicySet, type PolicySet, type PreparedMembrane, policySetSteps } from "./deciding/policy-set.ts";
export { redTestDiagnostics } from "./deciding/red-tests.ts";
export { plainMembrane, policyTestSteps, runPolicyTests } from "./deciding/run-tests.ts";
export { type KeptDocuments, keptChange, keptDecision, keptResolution, keptReview } from "./erasure/kept.ts";
export { auditColumns } from "./exports/audit-columns.ts";
export type { Column } from "./exports/columns.ts";
export { csvHead, csvLine } from "./exports/csv.ts";
export { decisionColumns, type ExportedDecision, exportedDecision } from "./exports/exported-decision.ts";
export type { StoredForAncestors } from "./facts/facts-of-now.ts";
export {
  assuranceOf,
  type ContextSource,
  type FactDocument,
  hidesValue,
  type InexactFacts,
  listFacts,
  type MergedFacts,
  mergeFacts,
  withoutValues,
} from "./facts/merge.ts";
export { isFresh, resolveLimits } from "./facts/staleness.ts";
export { factsOf, factsText } from "./facts/stored-facts.ts";
export { contextErrors, normalizeContext, validateContext } from "./facts/validate-context.ts";
export { type ErrorCode, Fault, type FaultDetail, faultAt } from "./fault.ts";
export {
  claudeCodeAnswer,
  claudeCodeKey,
  claudeCodeSubmission,
  denial,
  isClaimed,
} from "./hooks/claude-code.ts";
export {
  type Checkpoint,
  checkpointText,
  cosignedAt,
  parseCheckpoint,
} from "./log/checkpoint.ts";
export { edgeOf, extendTree, type FullTile } from "./log/extend.ts";
export {
  keyIdOf,
  type Note,
  type NoteSigner,
  parseNote,
  parseSignatures,
  parseVerifierKey,
  publicKeyOf,
  signatureBy,
  signatureLine,
  signatureTypes,
  signNote,
  type VerifierKey,
  verifierKeyText,
} from "./log/note.ts";
export {
  hashesOf,
  parseTilePath,
  type ReadTile,
  type Tile,
  type TilePlace,
  tile_width,
  tilePath,
  tilesOf,
  tileWidth,
} from "./log/tiles.ts";
export {
  consistencyRanges,
  emptyRoot,
  hash_bytes,
  inclusionRanges,
  isExtension,
  isIncluded,
  type LeafRange,
  type LeafRun,
  rangeProofRanges,
  rootOfRange,
  type TreeHash,
  type TreeHead,
} from "./log/tree.ts";
export { decisionForPeople, factsForPeople, intentForPeople } from "./masks/for-people.ts";
export { maskedValue } from "./masks/mask.ts";
export { type AgentNames, agentNames } from "./names/known-names.ts";
export {
  confirmSteps,
  intakeSteps,
  packSteps,
  quickstartPacks,
  sureActions,
  sureClasses,
} from "./onboarding/intake.ts";
export { keySteps } from "./onboarding/key-steps.ts";
export { goLiveSteps, missingFactSteps } from "./onboarding/missing-facts.ts";
export { recommendPacks } from "./onboarding/recommend-packs.ts";
export { packFacts } from "./packs/coverage.ts";
export { loadPack } from "./packs/load-pack.ts";
export { knownPacks, type PackRules, packRuleId, packSources } from "./packs/pack-sources.ts";
export type { PackFiles, ParsedPack } from "./packs/parse-pack.ts";
export { folded } from "./policy/action-index.ts";
export { type CheckedPolicy, checkPolicy, checkPolicySteps } from "./policy/check/check.ts";
export { costSteps } from "./policy/check/cost.ts";
export { diagnostics_max } from "./policy/check/findings.ts";
export { namingRules } from "./policy/check/naming-rules.ts";
export { lateTier, orderWarning, reachWarning } from "./policy/check/panel-warnings.ts";
export { type CostlyPolicy, canMeet, sharedBudgetSteps } from "./policy/check/shared-budget.ts";
export { SharedPolicies } from "./policy/check/shared-policies.ts";
export { suggestName } from "./policy/check/suggest-name.ts";
export { typedParameterSteps } from "./policy/check/typed-parameters.ts";
export type { PolicySource } from "./policy/compile.ts";
export type { PolicyDocument } from "./policy/document.ts";
export {
  demandOf,
  type Electorate,
  electorateOf,
  type KnownReviewer,
  membrane_demand_name,
  membraneDemand,
  type ReviewDemand,
  reviewersToKnow,
  unitedReviewers,
} from "./policy/escalation-terms.ts";
export { locateObject } from "./policy/locate-object.ts";
export type { Located, PolicyDiagnostic } from "./policy/located.ts";
export { policySha256 } from "./policy/policy-sha256.ts";
export { policySchema } from "./policy/schema.ts";
export { type RecordedTool, readsParameters, unrecordedParameterSteps } from "./policy/unrecorded-parameters.ts";
export { countInterval, shareBounds, shareInterval } from "./readiness/intervals.ts";
export { judgePolicyReadiness, verdictFigures } from "./readiness/judge-policy-readiness.ts";
export { judgeReadiness, type ReadinessEvidence } from "./readiness/judge-readiness.ts";
export { amountAtStake } from "./reviews/amount-at-stake.ts";
export { causeOf } from "./reviews/cause.ts";
export { type Contradiction, contradictionOf } from "./reviews/contradiction.ts";
export { covers, type Stakes } from "./reviews/covers.ts";
export {
  askedRuling,
  type BlockedBy,
  type DecidedAgain,
  decideAgain,
  type LetThrough,
  newDemands,
  type Present,
  type StoredAction,
} from "./reviews/decide-again.ts";
export {
  type Review,
  type ReviewStep,
  type Ruling,
  type StepRefusal,
  stepReview,
  withDemands,
} from "./reviews/escalation.ts";
export {
  type GrantRule,
  grantCovers,
  grantReason,
  grantTerms,
  grantText,
  isInScope,
  rulesInForce,
  type UsableGrant,
} from "./reviews/grant.ts";
export { overrideTerms } from "./reviews/override.ts";
export { type FastApproval, type MeasuredVote, type PacedVote, paceVote } from "./reviews/pace.ts";
export { type CountedDemand, hasTurn, isMet, missingApprovals, missingText, panelsOf } from "./reviews/panels.ts";
export { isPartyName, type PartyNames, partyNames } from "./reviews/parties.ts";
export {
  hiddenPlaces,
  hiddenTextsInAction,
  hiddenTextsInChange,
  maskingOfAction,
  redactedRemark,
} from "./reviews/redaction.ts";
export {
  type ProposedRuling,
  type RulingRefusal,
  reviewersChanges,
  timeOutRuling,
  type WantedVote,
  workOutRuling,
} from "./reviews/ruling.ts";
export {
  type ChangedContent,
  changedContent,
  isChangeShown,
  isConfirmedEnough,
  type RulingFacts,
  rulingText,
} from "./reviews/signed-ruling.ts";
export { type Credential, isCounted, isEntitled, type Standing, withoutLapsed } from "./reviews/standing.ts";
export { countedDemand, type Notice, nextNoticeAt, noticesOf, openTiers } from "./reviews/tiers.ts";
export { withNames } from "./reviews/with-names.ts";
export { isEnforced } from "./rollouts/enforced.ts";
export { breachesOf, type GuardCounts, isComplete, type StageCounts, shownFigures } from "./rollouts/guard.ts";
export { isReturnable } from "./rollouts/returnable.ts";
export { hourPath } from "./streams/hour-path.ts";
export { ocsfEvent } from "./streams/ocsf.ts";
export {
  aheadAtLeast,
  formatTimestampUs,
  isReached,
  parseTimestampUs,
  timestampUs,
  us_per_day,
  us_per_hour,
  us_per_second,
} from "./time.ts";
export { canonicalJson, eventJson } from "./values/canonical-json.ts";
export { clipText } from "./values/clip-text.ts";
export { actionFingerprint, sha256Hex } from "./values/fingerprint.ts";
export { applyPatch } from "./values/json-patch.ts";
export { linesOf } from "./values/lines-of.ts";
export { parseItems } from "./values/parse-items.ts";
export { type JsonInParts, parseInParts, parseJson, pointerPart } from "./values/parse-json.ts";
export { readUrl } from "./values/read-url.ts";
export { redacted_text, withoutTexts } from "./values/redacted-texts.ts";
export { cloudEventHeaders } from "./webhooks/cloud-event.ts";
export { type AttemptResult, afterAttempt, delivery_waits_ms, judgeAnswer } from "./webhooks/delivery.ts";
export {
  type DeliveryFailure,
  type DeliveryFailureValues,
  deliveryFailureText,
  deliveryFailureTexts,
  paused_delivery_text,
} from "./webhooks/delivery-failure.ts";
export { decisionEventTimestamp, type EventFacts, eventBodyText, eventDraftText } from "./webhooks/event-body.ts";
export { duration_buckets, durationBucket, durationQuantile } from "./webhooks/health.ts";
export { contextRequestHeaders, deliveryHeaders } from "./webhooks/signature.ts";
export { readWebhookHeaders } from "./webhooks/webhook-headers.ts";
export { checkWebhookUrl, publicHttpsOnly, refusedAddresses, type WebhookUrlRules } from "./webhooks/webhook-url.ts";
