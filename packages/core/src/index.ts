export { decidedAction } from "./action.ts";
export { type ApiKeyText, equalInConstantTime, hashApiKey, hashApiKeyText, newApiKey, parseApiKey } from "./api-key.ts";
export { type Candidate, membraneWith, sourcesWith } from "./backtest/candidate.ts";
export { type RecordedIntent, replayIntent } from "./backtest/replay.ts";
export {
  type SettingsChange,
  SettingsHistory,
  type SettingsThen,
  settings_change_types,
  type VersionInForce,
} from "./backtest/settings-history.ts";
export { type BacktestFigures, Tally, type TallyCounts } from "./backtest/tally.ts";
export { canonicalJson } from "./canonical-json.ts";
export { clientIp, clientNetwork, isLoopback, isTrusted, type NetworkList, networkList } from "./client-ip.ts";
export { clipText } from "./clip-text.ts";
export { wouldApproveIf } from "./counterfactual/would-approve-if.ts";
export { decide } from "./decide.ts";
export type {
  DecidableIntent,
  Decided,
  DecideInput,
  DecisionContent,
  EscalationTerms,
  MembraneSettings,
} from "./decision.ts";
export { default_verdict_name, goesThrough } from "./decision.ts";
export { type AfterAttempt, type AttemptResult, afterAttempt, delivery_waits_ms, judgeAnswer } from "./delivery.ts";
export {
  type DeliveryFailure,
  type DeliveryFailureValues,
  deliveryFailureText,
  deliveryFailureTexts,
} from "./delivery-failure.ts";
export { type Review, type ReviewStep, type Ruling, stepReview } from "./escalation.ts";
export {
  commonReviewers,
  heldFor,
  type KnownReviewer,
  type ReviewDemand,
  reviewersToKnow,
} from "./escalation-terms.ts";
export { decisionEventTimestamp, type EventFacts, eventBodyText, eventDraftText } from "./event-body.ts";
export {
  type ContextSource,
  type FactDocument,
  type FactSource,
  type ListedFact,
  listFacts,
  type MergedFacts,
  mergeFacts,
} from "./facts/merge.ts";
export { isFresh, resolveLimits } from "./facts/staleness.ts";
export { type ContextFindings, contextErrors, normalizeContext, validateContext } from "./facts/validate-context.ts";
export { type ErrorCode, Fault, type FaultDetail, type FaultOptions, faultAt } from "./fault.ts";
export { type ActionIdentity, actionFingerprint, sha256Hex } from "./fingerprint.ts";
export { redacted_text, withoutTexts } from "./hidden-text.ts";
export { applyPatch, type Patched, type PatchOperation } from "./json-patch.ts";
export { type KeyLife, type KeyState, keyState } from "./key-lifecycle.ts";
export { linesOf } from "./lines-of.ts";
export { hideContent } from "./modify.ts";
export {
  confirmSteps,
  intakeSteps,
  packSteps,
  QUICKSTART_PACKS,
  sureActions,
  sureClasses,
} from "./onboarding/intake.ts";
export { recommendPacks } from "./onboarding/recommend-packs.ts";
export { type OverrideTerms, overrideTerms } from "./override.ts";
export { loadPack } from "./packs/load-pack.ts";
export { knownPacks, type PackRules, packSources } from "./packs/pack-sources.ts";
export type { PackFiles, ParsedPack } from "./packs/parse-pack.ts";
export {
  type JsonInParts,
  parseInParts,
  parseJson,
  pointerPart,
} from "./parse-json.ts";
export { type CheckedPolicy, checkPolicy, checkPolicySteps } from "./policy/check.ts";
export type { PolicySource } from "./policy/compile.ts";
export type { PolicyDocument, PolicyTestCase } from "./policy/document.ts";
export { diagnostics_max } from "./policy/findings.ts";
export { namingRules } from "./policy/naming-rules.ts";
export { policySha256 } from "./policy/policy-sha256.ts";
export { redTestDiagnostics } from "./policy/red-tests.ts";
export {
  type PolicyTestResult,
  plain_membrane,
  policyTestSteps,
  runPolicyTests,
} from "./policy/run-tests.ts";
export { policySchema } from "./policy/schema.ts";
export { SharedPolicies } from "./policy/shared-policies.ts";
export type { PolicyDiagnostic } from "./policy/source.ts";
export { suggestName } from "./policy/suggest-name.ts";
export { compilePolicySet, type PolicySet, type PreparedMembrane, policySetSteps } from "./policy-set.ts";
export { type RateTake, RateWindow, rateTake } from "./rate-window.ts";
export { contextRequestHeaders, deliveryHeaders } from "./signature.ts";
export { formatTimestampUs, parseTimestampUs, us_per_day, us_per_second } from "./time.ts";
export {
  checkWebhookUrl,
  publicHttpsOnly,
  refusedAddresses,
  type WebhookUrlRules,
  type WebhookUrlVerdict,
} from "./webhook-url.ts";
